"""Sparse problems and their files, for tests."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lossnet.tasks.multilabel import open_csr


def problem(rows: int = 300, columns: int = 40, density: float = 0.1, labels: int = 5):
    rng = np.random.default_rng(0)
    X = sp.random(rows, columns, density=density, format="csr", random_state=rng, dtype=np.float32)
    X.data = rng.normal(size=X.nnz).astype(np.float32)
    Y = sp.csr_matrix(np.asarray(X[:, :labels].todense()) > 0, dtype=np.uint8)
    return X, Y


def on_disk(path, X):
    sp.save_npz(path, X, compressed=False)
    return open_csr(path)


def chunks(X, Y, size: int = 70):
    for first in range(0, X.shape[0], size):
        yield X[first : first + size], Y[first : first + size]
