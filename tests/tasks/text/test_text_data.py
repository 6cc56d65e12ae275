"""Texts and labels as users hold them: taken in every form, refused with the row that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from lossnet import TextClassifier
from lossnet.errors import DataError
from lossnet.tasks.text import TextData

TEXTS = ["oil and gas", "gold", "gas"]
LISTS = [["oil", "gas"], [], ["gas"]]
Y = np.array([[1, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    "labels",
    [
        LISTS,
        [set(row) for row in LISTS],
        tuple(tuple(row) for row in LISTS),
        pd.Series(LISTS),
        np.array([np.array(row, dtype=object) for row in LISTS], dtype=object),
    ],
)
def test_label_lists(labels: Any) -> None:
    data = TextData(TEXTS, labels)
    assert data.label_names == ["gas", "oil"]
    assert data.Y.dtype == np.uint8
    assert data.Y.tolist() == Y.tolist()


@pytest.mark.parametrize("labels", [Y, Y.astype(float), Y.tolist(), csr_matrix(Y), Y.astype(bool)])
def test_a_matrix(labels: Any) -> None:
    assert TextData(TEXTS, labels).Y.tolist() == Y.tolist()
    assert TextData(TEXTS, labels).label_names == ["label_0", "label_1"]
    assert TextData(TEXTS, labels, ["b", "a"]).label_names == ["b", "a"]


def test_a_frame() -> None:
    assert TextData(TEXTS, pd.DataFrame(Y, columns=["b", "a"])).label_names == ["b", "a"]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", " \n"], [["x"], ["x"]], r"row 1 \(counted from 0\) is an empty text"),
        (["a", None], [["x"], ["x"]], "row 1 .* is missing"),
        (["a", float("nan")], [["x"], ["x"]], "row 1 .* is missing"),
        (pd.Series(["a", pd.NA]), [["x"], ["x"]], "row 1 .* is missing"),
        (["a", 3], [["x"], ["x"]], "row 1 .* is 3; expected a string"),
        (["a", "\ud800"], [["x"], ["x"]], "row 1 .* lone surrogate"),
        ("a text", [["x"]], "expected a list of strings, got 'a text'"),
        (pd.DataFrame({"text": ["a"]}), [["x"]], "got a DataFrame; pass its column of texts"),
        ([], [], "holds no texts"),
        (["a", "b"], [["x"], None], "row 1 .* are missing; give an empty list"),
        (["a", "b"], ["x", "y"], r"are 'x', a string; expected a list of strings: \['x'\]"),
        (["a", "b"], [["x"]], "2 texts and 1 rows of labels"),
        (["a", "b"], [["x"], [3]], r"row 1 .* are \[3\], those of others are strings"),
        (["a", "b"], [["x"], ["x", float("nan")]], r"row 1 .* are \['x', nan\]"),
        (["a", "b"], [["x"], [b"y"]], "is no label"),
        (["a", "b"], [["x"], [""]], "an empty string is no label"),
        (["a", "b"], [{"x": 1}, {"y": 1}], "row 0 .* expected a list of strings"),
        (["a", "b"], [[1, 2], [1]], "labels are numbers"),
        (["a", "b"], [[1, 2], [0, 1]], "is not binary"),
        (["a", "b"], 3, "must be a list for each text, got 3"),
        (["a", "b"], "xy", "must be a list for each text"),
    ],
)
def test_bad_input(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TextData(texts, labels)
    with pytest.raises(DataError, match=message):
        TextClassifier(max_epochs=1).fit(texts, labels)


def test_rows_and_parts() -> None:
    data = TextData(TEXTS, LISTS, name="news", notes=["a note"])
    assert data.subset([2, 0]).texts == ["gas", "oil and gas"]
    assert data.subset([2, 0]).Y.tolist() == [[1, 0], [1, 1]]
    assert data.checksum() == data.subset([0, 1, 2]).checksum()
    assert data.checksum() != data.subset([1, 0, 2]).checksum()
    assert data.checksum() != data.without_labels().checksum()
    assert not data.without_labels().labelled
    assert TextData(["", "a"]).texts == ["", "a"]
    other = TextData(["tin"], [["tin"]], name="news")
    both = TextData.join({"train": data, "test": other})
    assert both.label_names == ["gas", "oil", "tin"]
    assert both.Y.tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert both.notes == ["a note"]


def test_labels_are_matched_by_name() -> None:
    data = TextData(TEXTS, LISTS).in_columns(["oil", "zinc"])
    assert data.label_names == ["oil", "zinc", "gas"]
    assert data.Y.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]
