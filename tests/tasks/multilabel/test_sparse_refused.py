"""Sparse files that are refused: damaged, changed under way, or chunks that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sparse_files import chunks, on_disk, problem

from lossnet import Callback, MultiLabelClassifier
from lossnet.data import disk_rows
from lossnet.errors import DataError
from lossnet.tasks.multilabel import arrays, open_csr, write_sparse


def damaged(path, X, **changes):
    pieces = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(path, **(pieces | changes))
    return path


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda X: {"data": X.data[:-1]}, "numbers and .* columns for them; their counts must"),
        (lambda X: {"indptr": X.indptr[:-1]}, "ends of 299 rows, and its shape says 300; row coun"),
        (lambda X: {"indptr": X.indptr + 1}, "its rows go from entry 1 to"),
        (lambda X: {"indptr": X.indptr[[0, 50, *range(2, 301)]]}, "row 1 ends before it begins"),
        (lambda X: {"shape": (300,)}, "expected rows and columns"),
        (lambda X: {"data": X.data.astype(complex)}, "dtype complex128; expected a row of numbers"),
        (lambda X: {"format": np.array(b"csc")}, "holds a csc matrix; save its tocsr"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(tmp_path, change, text) -> None:
    X, _ = problem(density=0.5)
    with pytest.raises(DataError, match=text):
        open_csr(damaged(tmp_path / "x.npz", X, **change(X)))


def test_columns_out_of_range_are_refused(tmp_path) -> None:
    X, Y = problem(density=0.5)
    indices = X.indices.copy()
    indices[X.indptr[7]] = 40
    rows = open_csr(damaged(tmp_path / "x.npz", X, indices=indices))
    text = "row 7 has an entry in column 40, and there are 40 columns.*write it again"
    with pytest.raises(DataError, match=text):
        MultiLabelClassifier().fit(rows, Y)


def test_values_that_are_no_features_or_labels_are_refused(tmp_path, monkeypatch) -> None:
    X, Y = problem()
    X.data[3] = np.inf
    with pytest.raises(DataError, match="X holds infinity"):
        MultiLabelClassifier().fit(on_disk(tmp_path / "x.npz", X), Y)
    X.data[3] = 1.0
    monkeypatch.setattr(arrays, "MOST_ENTRIES", 100)
    monkeypatch.setattr(disk_rows, "BLOCK", 300)
    half = Y.astype(np.float32)
    half.data[-1] = 0.5
    row = int(half.nonzero()[0][-1])
    with pytest.raises(DataError, match=rf"Y is not binary: row {row}, label .* is 0.5"):
        MultiLabelClassifier().fit(X, on_disk(tmp_path / "y.npz", half))
    with pytest.raises(DataError, match="X has 300 rows and Y has 200; row counts must match"):
        MultiLabelClassifier().fit(X, on_disk(tmp_path / "y.npz", Y[:200]))


def test_files_that_cannot_be_mapped_are_refused(tmp_path) -> None:
    X, _ = problem()
    path = tmp_path / "x.npz"
    sp.save_npz(path, X)
    with pytest.raises(DataError, match=r"is compressed .* compressed=False"):
        open_csr(path)
    sp.save_npz(path, X, compressed=False)
    with pytest.raises(DataError, match="has no array 'X_data'; its arrays are"):
        open_csr(path, "X")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"is not a complete .npz file.*is it cut short"):
        open_csr(path)
    with pytest.raises(DataError, match="does not exist"):
        open_csr(tmp_path / "none.npz")


def test_a_file_that_changes_is_noticed(tmp_path) -> None:
    X, Y = problem(density=0.5)
    path = tmp_path / "x.npz"
    rows = on_disk(path, X)

    class Shorten(Callback):
        def on_epoch(self, trainer) -> None:
            with path.open("r+b") as file:
                file.truncate(5000)

    model = MultiLabelClassifier("cross-entropy", hidden=(4,), max_epochs=3)
    with pytest.raises(DataError, match=r"changed while it was in use: it had .* bytes and has"):
        model.fit(rows, Y, callbacks=[Shorten()])
    path.unlink()
    with pytest.raises(DataError, match=r"cannot be read .*; keep it in place"):
        rows[:3].tocsr()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([(np.eye(3), np.eye(2))], "chunk 0 .* X has 3 rows and Y has 2; row counts must match"),
        ([(np.eye(3), np.eye(3)), (np.eye(4), np.eye(4))], "chunk 1 .* X has 4 columns, and the"),
        ([(np.eye(3), np.eye(3)), np.eye(3)], "chunk 1 .* some chunks have a Y and others none"),
        ([(np.full((3, 3), np.inf), np.eye(3))], "infinity"),
        ([(np.eye(3), 2 * np.eye(3))], "chunk 0 .* Y is not binary: row 0"),
        ([(np.eye(3), np.full((3, 2), np.nan))], "labels that are not known"),
        ([(np.eye(3) * 1j, np.eye(3))], "dtype complex128; expected numbers"),
        ([], "no rows to write"),
    ],
)
def test_chunks_that_cannot_be_written_leave_nothing(tmp_path, given, text) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(DataError, match=text):
        write_sparse(tmp_path / "d.npz", given)
    assert not list(tmp_path.iterdir())


def test_names_must_fit_the_columns(tmp_path) -> None:
    X, Y = problem()
    with pytest.raises(DataError, match="2 label names for 5 labels"):
        write_sparse(tmp_path / "d.npz", chunks(X, Y), label_names=["a", "b"])
    with pytest.raises(DataError, match=r"must be an .npz file"):
        write_sparse(tmp_path / "d.csr", chunks(X, Y))
