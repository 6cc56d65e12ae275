"""Features on disk: the model of rows in memory, in little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from lossnet import MultiLabelClassifier
from lossnet.cli import main
from lossnet.data import archive, disk_rows
from lossnet.data.disk_rows import DiskRows
from lossnet.errors import DataError
from lossnet.tasks.multilabel import MultiLabelData, load
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.standardiser import Standardiser


def problem(rows: int = 300, columns: int = 12, missing: float = 0.05):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(rows, columns)).astype(np.float32)
    X[:, 0] = rng.random(rows) < 0.3
    X[:, 1] = 0.0
    X[rng.random(X.shape) < missing] = np.nan
    Y = (np.nan_to_num(X[:, 2:6]) > 3.0).astype(np.uint8)
    return X, Y


def mapped(path, X):
    np.save(path, X)
    return np.load(path, mmap_mode="r")


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(disk_rows, "BLOCK", 4 * 12 * 7)  # seven rows


def test_rows_are_chosen_and_read_in_order(tmp_path, small_blocks) -> None:
    X, _ = problem(missing=0.0)
    rows = DiskRows(mapped(tmp_path / "x.npy", X.astype(np.float64)))
    assert np.array_equal(rows[[5, 3, 5]][1:].toarray(), X[[3, 5]])
    assert np.array_equal(rows[10:40:3][np.array([2, 0])].then(np.negative), -X[[16, 10]])
    assert np.array_equal(np.concatenate(list(rows[::2].blocks())), X[::2])
    assert rows[3:9].shape == (6, 12)


@pytest.mark.parametrize("setting", ["auto", "min-max", True, False])
def test_columns_are_learnt_as_in_memory(tmp_path, small_blocks, setting) -> None:
    X, _ = problem()
    rows = DiskRows(mapped(tmp_path / "x.npy", X))
    ours, theirs = Imputer.of(rows), Imputer.of(X)
    assert ours.means == pytest.approx(theirs.means, rel=1e-6)
    found, expected = Standardiser.of(ours(rows), setting), Standardiser.of(theirs(X), setting)
    if expected is None:
        assert found is None
        return
    assert found.mean == pytest.approx(expected.mean, rel=1e-5)
    assert found.scale == pytest.approx(expected.scale, rel=1e-5)


def test_the_checksum_is_that_of_rows_in_memory(tmp_path, small_blocks) -> None:
    X, Y = problem()
    data = MultiLabelData(mapped(tmp_path / "x.npy", X), Y)
    some = np.random.default_rng(1).permutation(len(X))[:100]
    assert data.checksum() == MultiLabelData(X, Y).checksum()
    assert data.subset(some).checksum() == MultiLabelData(X[some], Y[some]).checksum()
    assert data.n_missing == np.isnan(X).sum()


@pytest.mark.parametrize("method", ["auto", "seal-nce"])
def test_the_model_is_that_of_rows_in_memory(tmp_path, small_blocks, method) -> None:
    X, Y = problem()
    settings = {"hidden": (8,), "max_epochs": 3, "random_state": 0}
    if method == "auto":
        settings |= {"members": 2, "trees": 0}
    on_disk = mapped(tmp_path / "x.npy", X)
    ours = MultiLabelClassifier(method, **settings).fit(on_disk, Y)
    theirs = MultiLabelClassifier(method, **settings).fit(X, Y)
    assert ours.predict_proba(on_disk) == pytest.approx(theirs.predict_proba(X), abs=1e-5)
    assert ours.score(on_disk, Y) == pytest.approx(theirs.score(X, Y))


def test_memory_is_bounded(tmp_path, monkeypatch) -> None:
    rows, columns = 40_000, 200
    path = tmp_path / "x.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (rows, columns))
    rng = np.random.default_rng(0)
    for first in range(0, rows, 4000):
        X[first : first + 4000] = rng.normal(size=(4000, columns))
    Y = (X[:, :3] > 0).astype(np.uint8)
    del X
    monkeypatch.setattr(disk_rows, "BLOCK", 1 << 20)
    # A tuned threshold takes memory by validation rows, wherever the features are.
    model = MultiLabelClassifier(
        "cross-entropy",
        hidden=(4,),
        max_epochs=1,
        batch_size=256,
        threshold=0.5,
        decode="threshold",
    )
    model.fit(np.load(path, mmap_mode="r")[:200], Y[:200])  # what is imported counts as memory
    tracemalloc.start()
    model.fit(np.load(path, mmap_mode="r"), Y).predict(np.load(path, mmap_mode="r"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = 4 * rows * columns
    assert peak < size / 3


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (np.full((4, 3), np.inf), "infinity"),
        (np.zeros(4), r"shape \(4,\) .* expected \(rows, features\)"),
        (np.zeros((4, 3), dtype=complex), "dtype complex128"),
    ],
)
def test_bad_features_are_refused(tmp_path, X, text) -> None:
    with pytest.raises(DataError, match=text):
        MultiLabelClassifier().fit(mapped(tmp_path / "x.npy", X), np.eye(4, 3))


def test_a_large_npz_file_stays_on_disk(tmp_path, monkeypatch) -> None:
    X, Y = problem(rows=90)
    np.savez(tmp_path / "plain.npz", X=X, Y=Y, label_names=np.array(list("abcd")))
    np.savez_compressed(tmp_path / "packed.npz", X=X, Y=Y)
    assert isinstance(load(tmp_path / "plain.npz").X, np.ndarray)
    monkeypatch.setattr(archive, "ON_DISK", 1000)
    data = load(tmp_path / "plain.npz")
    assert isinstance(data.X, DiskRows)
    assert np.array_equal(data.X.toarray(), X, equal_nan=True)
    assert data.label_names == list("abcd")
    assert isinstance(load(tmp_path / "packed.npz").X, np.ndarray)
    out = tmp_path / "model"
    train = ["train", str(tmp_path / "plain.npz"), "--out", str(out), "--method", "cross-entropy"]
    assert main([*train, "--quiet", "--set", "max_epochs=1", "hidden=[4]"]) == 0
    assert main(["evaluate", str(out), str(tmp_path / "plain.npz")]) == 0


def test_columns_of_rows_on_disk_are_not_chosen(tmp_path) -> None:
    X, Y = problem(rows=20)
    names = [f"f{k}" for k in range(12)]
    model = MultiLabelClassifier("cross-entropy", hidden=(4,), max_epochs=1)
    model.fit(MultiLabelData(X, Y, feature_names=names))
    other = MultiLabelData(mapped(tmp_path / "x.npy", X), feature_names=names[::-1])
    with pytest.raises(DataError, match="columns of rows on disk cannot be chosen"):
        model.predict(other)
