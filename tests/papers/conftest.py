"""A table of a paper that never was, on a data set of forty rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet import papers
from lossnet.papers import data_sets
from lossnet.papers.data_sets import DataSet
from lossnet.papers.table import Change, Column, Row, Table
from lossnet.tasks.multilabel import load_splits

SMALL: dict[str, Any] = {"hidden": [8], "global_hidden": 4, "max_epochs": 2, "decode": "threshold"}
METRIC = "example-f1@0.5"
TINY = Table(
    "tiny-table1",
    "paper 9, Table 1",
    "F1 on next to nothing",
    "cut at 0.5",
    (
        Column("tiny", "tiny", METRIC, "paper:cal500"),
        Column("absent", "absent", METRIC, "paper:cal500"),
    ),
    (
        Row("CE", "cross-entropy", "50.0±1.0 40.0"),
        Row("theirs", None, "60.0 -"),
        Row("NCE", "seal-nce", "55.0 -", {"samples": 3}),
    ),
    seeds=10,
    why={("cross-entropy", "tiny"): "there is little to learn"},
    changes=[Change("cross-entropy", "tiny", "a wider net", settings={"hidden": [9]})],
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The data folder of the table, which ``lossnet reproduce`` knows."""
    place = tmp_path / "data" / "tiny"
    place.mkdir(parents=True)
    values = np.random.default_rng(0).normal(size=(40, 3))
    lines = ["a,b,c,label:sun,label:rain"]
    lines += [",".join(f"{v:.3f}" for v in [*row, *(row[:2] > 0)]) for row in values]
    (place / "tiny.csv").write_text("\n".join(lines) + "\n")
    for name in ("tiny", "absent"):
        own = DataSet("multilabel", name, [f"{name}.csv"], partial(load_splits), SMALL)
        monkeypatch.setitem(data_sets.DATA_SETS, name, own)
    monkeypatch.setitem(papers.TABLES, TINY.name, TINY)
    return tmp_path / "data"
