"""The benchmark sets, against the counts their README states."""

import time

import numpy as np
import pytest

from lossnet.tasks.multilabel import load, load_files, load_splits

# features after dropping row ids and writing one column a word, labels, train/validation/test
COUNTS = {
    "bibtex": (1836, 159, (4456, 1440, 1499), 2.40),
    "cal500": (68, 174, (296, 105, 101), 26.04),
    "delicious": (500, 983, (9655, 3234, 3216), 19.02),
    "emotions": (72, 6, (353, 122, 118), 1.87),
    "enron": (1001, 53, (1019, 338, 345), 3.38),
    "expr_fun": (555, 499, (1639, 849, 1291), None),  # 551 attributes, one of them of five words
    "genbase": (1185, 27, (399, 131, 132), 1.25),
    "medical": (1449, 45, (594, 190, 194), 1.25),
    "scene": (294, 6, (1211, None, 1196), 1.07),
    "spo_fun": (80, 499, (1600, 837, 1266), None),
    "yeast": (103, 14, (1451, 484, 482), 4.24),
}
OFFICIAL = {
    "bibtex": (4880, 2515),
    "delicious": (12920, 3185),
    "emotions": (391, 202),
    "enron": (1123, 579),
    "genbase": (463, 199),
    "medical": (333, 645),
    "yeast": (1500, 917),
}


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_counts(mlc, name) -> None:
    features, labels, sizes, cardinality = COUNTS[name]
    splits = load_splits(mlc / name)
    parts = (splits.train, splits.validation, splits.test)
    assert tuple(p.n_rows if p else None for p in parts) == sizes
    for _, part in splits.items():
        assert (part.n_features, part.n_labels) == (features, labels)
        assert part.label_names == splits.train.label_names
        assert part.feature_names == splits.train.feature_names
    whole = load(mlc / name)
    assert whole.n_rows == sum(s for s in sizes if s)
    if cardinality:  # as published for the data set
        assert whole.cardinality == pytest.approx(cardinality, abs=0.006)


@pytest.mark.parametrize("name", sorted(OFFICIAL))
def test_official_files(mlc, name) -> None:
    folder = mlc / name
    parts = load_files([folder / f"{name}-train.arff", folder / f"{name}-test.arff"])
    assert tuple(p.n_rows for p in parts) == OFFICIAL[name]
    assert parts[0].label_names == load(folder).label_names
    assert parts[0].n_features == COUNTS[name][0]


@pytest.mark.parametrize("name", ["spo_fun", "expr_fun"])
def test_hierarchies_are_consistent(mlc, name) -> None:
    splits = load_splits(mlc / name)
    parents = splits.train.parents
    assert parents is not None
    assert len(parents) == 481  # 499 nodes, 18 of them at the top
    for _, part in splits.items():
        for child, above in parents.items():
            assert (part.Y[:, above] >= part.Y[:, [child]]).all()
        assert (part.Y.sum(axis=1) > 0).all()
    assert any("reconstructed" in note for note in splits.train.notes) == (name == "expr_fun")


def test_missing_values_stay_missing(mlc) -> None:
    splits = load_splits(mlc / "spo_fun")
    assert splits.test is not None
    column = splits.test.feature_names.index("failed_pcr")
    for part in (splits.train, splits.test):
        values = part.X[:, column]
        assert np.isnan(values[~np.isin(values, [1, 2, 3, 4, 5])]).all()
        assert part.n_missing >= np.isnan(values).sum() > 0


def test_genbase_words(mlc) -> None:
    data = load(mlc / "genbase")
    assert any("'protein'" in note for note in data.notes)
    assert set(np.unique(data.X)) == {0.0, 1.0}
    assert data.X.mean() < 0.1  # NO is the common word, and it is 0


def test_bag_of_words_is_sparse_and_read_quickly(mlc) -> None:
    for name in ("bibtex", "delicious"):
        start = time.perf_counter()
        data = load(mlc / name)
        assert time.perf_counter() - start < 10  # one second on a quiet machine
        assert data.is_sparse
        assert set(np.unique(data.X.data)) == {1.0}
