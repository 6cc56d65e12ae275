"""Sparse features and labels on disk: the model of those in memory, bit for bit."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest
import scipy.sparse as sp
from sparse_files import chunks, on_disk, problem

from lossnet import MultiLabelClassifier
from lossnet.cli import main
from lossnet.data import archive, disk_rows
from lossnet.data.disk_csr import DiskCSR
from lossnet.tasks.multilabel import MultiLabelData, arrays, load, open_csr, write_sparse
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.multilabel.task import TASK
from lossnet.tasks.standardiser import Standardiser


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
