"""Sparse features and labels on disk: the model of those in memory, bit for bit."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest
import scipy.sparse as sp

from lossnet import Callback, MultiLabelClassifier
from lossnet.cli import main
from lossnet.data import archive, disk_rows
from lossnet.data.disk_csr import DiskCSR
from lossnet.errors import DataError
from lossnet.tasks.multilabel import MultiLabelData, arrays, load, open_csr, write_sparse
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.multilabel.task import TASK
from lossnet.tasks.standardiser import Standardiser


def problem(rows: int = 300, columns: int = 40, density: float = 0.1, labels: int = 5):
    rng = np.random.default_rng(0)
    X = sp.random(rows, columns, density=density, format="csr", random_state=rng, dtype=np.float32)
    X.data = rng.normal(size=X.nnz).astype(np.float32)
    Y = sp.csr_matrix(np.asarray(X[:, :labels].todense()) > 0, dtype=np.uint8)
    return X, Y


def on_disk(path, X):
    sp.save_npz(path, X, compressed=False)
    return open_csr(path)


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(disk_rows, "BLOCK", 300)


def equal(ours, theirs) -> bool:
    return (ours != theirs).nnz == 0


def test_rows_and_columns_are_chosen_and_read_in_order(tmp_path, small_blocks) -> None:
    X, _ = problem()
    rows = on_disk(tmp_path / "x.npz", X.astype(np.float64))
    assert equal(rows.tocsr(), X)
    assert equal(rows[[5, 3, 5]][1:].tocsr(), X[[3, 5]])
    assert equal(rows[10:40:3][np.array([2, 0])].tocsr(), X[[16, 10]])
    assert equal(rows[np.arange(300) % 2 == 0].tocsr(), X[::2])
    assert np.array_equal(rows[:, [4, 2]][3:9].toarray(), X[3:9, [4, 2]].toarray())
    assert rows[3:9, :7].shape == (6, 7)
    assert rows[:, :7].nnz == X[:, :7].nnz
    assert rows[5:50].nnz == X[5:50].nnz
    blocks = list(rows[::2].blocks())
    assert len(blocks) > 5
    assert equal(sp.vstack(blocks), X[::2])
    assert rows[:0].tocsr().shape == (0, 40)


@pytest.mark.parametrize("setting", ["auto", "min-max", True, False])
def test_columns_are_learnt_as_in_memory(tmp_path, small_blocks, setting) -> None:
    X, _ = problem()
    X.data[::50] = np.nan
    rows = on_disk(tmp_path / "x.npz", X)
    ours, theirs = Imputer.of(rows), Imputer.of(X)
    assert np.array_equal(ours.means, theirs.means)
    found, expected = Standardiser.of(ours(rows), setting), Standardiser.of(theirs(X), setting)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert np.array_equal(found.mean, expected.mean)
        assert np.array_equal(found.scale, expected.scale)


def test_the_checksum_is_that_of_rows_in_memory(tmp_path, small_blocks, monkeypatch) -> None:
    X, Y = problem()
    some = np.random.default_rng(1).permutation(300)[:100]
    for most in (2**26, 100):
        monkeypatch.setattr(arrays, "MOST_ENTRIES", most)
        data = MultiLabelData(on_disk(tmp_path / "x.npz", X), on_disk(tmp_path / "y.npz", Y))
        other = MultiLabelData(X, Y)
        assert isinstance(data.Y, DiskCSR) == (most == 100)
        assert data.checksum() == other.checksum()
        assert data.subset(some).checksum() == other.subset(some).checksum()
        assert data.n_missing == 0
        assert data.cardinality == other.cardinality
        assert data.diversity == other.diversity


WIDE = {"columns": 6000, "density": 0.002}


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ({}, {"method": "seal-nce"}),
        ({}, {"method": "auto", "members": 2, "trees": 0}),
        (WIDE, {"method": "cross-entropy"}),
        (WIDE, {"method": "seal-nce", "standardise": True, "class_weight": "balanced"}),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_the_model_is_that_of_rows_in_memory(
    tmp_path, small_blocks, monkeypatch, shape, settings, many
) -> None:
    X, Y = problem(**shape)
    X.data[::50] = np.nan
    if many:
        monkeypatch.setattr(arrays, "MOST_ENTRIES", 300)  # sixty rows
    settings = {"hidden": (8,), "max_epochs": 3, "random_state": 0, "batch_size": 32, **settings}
    rows, labels = on_disk(tmp_path / "x.npz", X), on_disk(tmp_path / "y.npz", Y)
    ours = MultiLabelClassifier(**settings).fit(rows, labels)
    theirs = MultiLabelClassifier(**settings).fit(X, Y)
    assert np.array_equal(ours.predict_proba(rows), theirs.predict_proba(X))
    assert equal(ours.predict(rows), theirs.predict(X))
    assert ours.score(rows, labels) == theirs.score(X, Y)
    for one, other in zip(ours.predict_top_k(rows, 2), theirs.predict_top_k(X, 2), strict=True):
        assert np.array_equal(one, other)


def test_validation_data_and_unlabelled_rows_stay_on_disk(tmp_path) -> None:
    X, Y = problem()
    settings = {"hidden": (8,), "max_epochs": 2, "random_state": 0, "method": "seal-nce"}
    rows = on_disk(tmp_path / "x.npz", X)
    found = []
    for given in (rows, X):
        model = MultiLabelClassifier(**settings)
        model.fit(given[:200], Y[:200], validation_data=(given[200:], Y[200:]), unlabelled=given)
        found.append(model.predict_proba(given))
    assert np.array_equal(*found)


def chunks(X, Y, size: int = 70):
    for first in range(0, X.shape[0], size):
        yield X[first : first + size], Y[first : first + size]


def test_a_file_is_written_in_chunks_and_read_back(tmp_path, monkeypatch) -> None:
    X, Y = problem()
    names = {"feature_names": [f"f{k}" for k in range(40)], "label_names": list("abcde")}
    path = write_sparse(tmp_path / "d.npz", chunks(X, Y), **names)
    assert [file.name for file in tmp_path.iterdir()] == ["d.npz"]
    small = load(path)
    assert sp.issparse(small.X)
    monkeypatch.setattr(archive, "ON_DISK", 1000)
    data = load(path)
    assert isinstance(data.X, DiskCSR)
    assert (data.feature_names, data.label_names) == tuple(names.values())
    assert equal(data.X.tocsr(), X)
    assert np.array_equal(data.Y, Y.toarray())
    assert data.checksum() == small.checksum() == MultiLabelData(X, Y, **names).checksum()
    assert equal(open_csr(path, "X").tocsr(), X)
    assert equal(open_csr(path, "Y").tocsr(), Y)
    bare = write_sparse(tmp_path / "x.npz", (part for part, _ in chunks(X, Y)))
    assert equal(open_csr(bare, "X").tocsr(), X)


@pytest.mark.parametrize("many", [False, True])
def test_commands_train_evaluate_and_predict(tmp_path, monkeypatch, capsys, many) -> None:
    X, Y = problem()
    path = write_sparse(tmp_path / "d.npz", chunks(X, Y), label_names=list("abcde"))
    bare = write_sparse(tmp_path / "x.npz", (part for part, _ in chunks(X, Y)))
    if many:
        monkeypatch.setattr(arrays, "MOST_ENTRIES", 200)
    said = []
    for limit in (1 << 28, 1000):
        monkeypatch.setattr(archive, "ON_DISK", limit)
        out, found = tmp_path / f"model-{limit}", tmp_path / f"{limit}.jsonl"
        train = ["train", str(path), "--out", str(out), "--method", "cross-entropy", "--quiet"]
        assert main([*train, "--set", "max_epochs=2", "hidden=[4]"]) == 0
        capsys.readouterr()
        assert main(["evaluate", str(out), str(path)]) == 0
        assert main(["predict", str(out), str(bare), "--out", str(found)]) == 0
        assert main(["describe", str(path)]) == 0
        texts = capsys.readouterr().out.replace(str(limit), "")
        said.append((texts, found.read_text()))
    assert said[0] == said[1]


@pytest.mark.parametrize("threshold", [None, 0.3, 0.5])
def test_many_labels_are_measured_some_rows_at_a_time(tmp_path, monkeypatch, threshold) -> None:
    X, Y = problem()
    path = write_sparse(tmp_path / "d.npz", chunks(X, Y))
    settings = {"hidden": (4,), "max_epochs": 2, "random_state": 0}
    model = MultiLabelClassifier("cross-entropy", **settings).fit(load(path))
    args = Namespace(threshold=threshold)
    expected = TASK.measure(model, load(path), args)
    rows = list(TASK.json_rows(model, load(path), proba=True))
    monkeypatch.setattr(arrays, "MOST_ENTRIES", 200)
    monkeypatch.setattr(disk_rows, "BLOCK", 300)
    for limit in (1 << 28, 1000):
        monkeypatch.setattr(archive, "ON_DISK", limit)
        data = load(path)
        assert isinstance(data.Y, DiskCSR) == (limit == 1000)
        found = TASK.measure(model, data, args)
        assert found.keys() == expected.keys()
        for how, metrics in found.items():
            assert metrics == pytest.approx({name: expected[how][name] for name in metrics})
            assert expected[how].keys() - metrics.keys() == {"map"}
        assert list(TASK.json_rows(model, data, proba=True)) == rows


# Bad input -------------------------------------------------------------------------------------


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
