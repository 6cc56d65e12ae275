"""Predictions and validation of so many rows and labels that no matrix of all of them is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy.sparse import vstack
from torch import Tensor

from lossnet.checks import check_int
from lossnet.context import Context
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.arrays import rows_at_a_time
from lossnet.tasks.multilabel.label_rows import LabelRows
from lossnet.tasks.networks import memory_of_machine
from lossnet.tasks.parts import cut_rows
from lossnet.training.predict import best_output, over_batches

#: Outputs that are ranked at a time.
_RANKED = 2**24


class ManyLabels(LabelRows):
    """What :class:`MultiLabelClassifier` does some rows at a time.

    Training labels of more than 2^26 entries that are given sparse stay sparse. Of validation data
    so many rows are then used, at random, as make 2^26 entries: 2,236 rows of 30,000 labels.
    """

    def _cut(self, data: Any, fraction: float, seed: int) -> Any:
        if data.has_dense_labels:
            return super()._cut(data, fraction, seed)
        most = rows_at_a_time(data.n_labels) / len(data)
        return cut_rows(len(data), [min(fraction, most)], seed)

    def _validation(self, given: Any) -> Any:
        return self._few(super()._validation(given))

    def _scored(self, inputs: tuple[Any, ...]) -> Any:
        return self._few(super()._scored(inputs))

    def _few(self, data: Any) -> Any:
        """The data, or some of its rows where there are too many labels for a dense matrix."""
        if data.has_dense_labels:
            return data
        rng, most = np.random.default_rng(0), rows_at_a_time(data.n_labels)
        return data.subset(np.sort(rng.choice(len(data), most, replace=False)))

    def _parts(self, data: Any) -> Iterator[Any]:
        """The rows in order, as many at a time as have outputs of a size that fits in memory."""
        size = rows_at_a_time(self.n_labels_)
        if len(data) <= size:
            yield data
            return
        for first in range(0, len(data), size):
            yield data.subset(np.arange(first, min(first + size, len(data))))

    def _predicted(self, data: Any) -> Any:
        found = [super(ManyLabels, self)._predicted(part) for part in self._parts(data)]
        if len(found) == 1:
            return found[0]
        return vstack(found, format="csr") if self.labels_.sparse else np.concatenate(found)

    def predict_proba(self, X: Any) -> Any:
        """Probability of every label, ``(n, L)``, dense; see :meth:`predict_top_k` for many."""
        rows, memory = X.shape[0] if hasattr(X, "shape") else len(X), memory_of_machine()
        needed = 4 * rows * getattr(self, "n_labels_", 0)
        if memory is not None and needed > memory:
            what = f"probabilities of {rows:,} rows and {self.n_labels_:,} labels take"
            sizes = f"{needed / 2**30:.0f} GB of memory, and this machine has {memory / 2**30:.0f}"
            raise DataError(f"{what} {sizes}; use predict_top_k or predict, or fewer rows")
        return super().predict_proba(X)

    def predict_top_k(self, X: Any, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` most probable labels of every row, and their probabilities.

        No matrix of all rows and labels is made.

        Args:
            X: inputs.
            k: how many labels, from 1 to all.

        Returns:
            Numbers of labels, the most probable first, ``(n, k)``; and what
            :meth:`predict_proba` says of them, ``(n, k)``.
        """
        data = self._unseen(X)
        check_int("k", k)
        if k > self.n_labels_:
            raise SettingError(f"k must be at most the number of labels, {self.n_labels_}, got {k}")
        by = self._proposal()
        nets, source = self._precise(by, data)
        output = best_output(by, nets)

        def top(context: Context) -> Tensor:
            values, labels = output(context).double().topk(k)
            return torch.stack([labels.double(), values], 1)

        rows = max(1, min(2048, _RANKED // self.n_labels_))
        how: dict[str, Any] = {"batch_size": rows, "precision": self.precision}
        found = over_batches(top, nets, self._output()[1], source, **how).cpu().numpy()
        labels, proba = found[:, 0].astype(np.int64), found[:, 1].astype(np.float32)
        return labels, self._calibrated(proba)
