"""Predicted labels as JSON lines and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def json_lines(names: list[str], on: np.ndarray[Any, Any], proba: Any) -> Iterator[str]:
    """An object a row: the labels that are on, and all probabilities where given."""
    for i, row in enumerate(on):
        line: dict[str, Any] = {
            "row": i,
            "labels": [name for name, hit in zip(names, row, strict=True) if hit],
        }
        if proba is not None:
            line["probabilities"] = {
                name: round(float(p), 6) for name, p in zip(names, proba[i], strict=True)
            }
        yield json.dumps(line, ensure_ascii=False) + "\n"


def csv_lines(names: list[str], on: np.ndarray[Any, Any], proba: Any) -> Iterator[str]:
    """A column of 0 and 1 for each label, or of probabilities, named as the reader wants them."""
    from lossnet.tasks.multilabel.formats.csv import PREFIX

    head = ["row", *(f"{PREFIX}{name}" for name in names)]
    if proba is not None:
        head += [f"probability:{name}" for name in names]
    yield _csv_line(head)
    for i, row in enumerate(on):
        cells = [str(i), *("1" if hit else "0" for hit in row)]
        if proba is not None:
            cells += [f"{p:.6g}" for p in proba[i]]
        yield _csv_line(cells)


def _csv_line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
