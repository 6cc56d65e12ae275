"""Missing values on the command line: the training rows' means, and a note."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cli_helpers import SMALL, Result

Run = Callable[..., Result]


def test_missing_values_are_those_of_training(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    header, first, *lines = csv_file.read_text().splitlines()
    names = header.split(",")
    _, *rest = first.split(",")
    hole = ",".join(["", *rest])
    csv_file.write_text("\n".join([header, hole, *lines]) + "\n")
    trained = lossnet("train", csv_file, "--out", tmp_path / "model", *SMALL[:-1])
    assert "1 missing value is replaced by the mean of the training rows" in trained.out
    labels = sum(name.startswith("label:") for name in names)
    far = ",".join(["1000"] * (len(names) - labels) + ["0"] * labels)
    found = []
    for others in ([], [far] * 5):
        file = tmp_path / f"rows{len(others)}.csv"
        file.write_text("\n".join([header, hole, *others]) + "\n")
        result = lossnet("predict", tmp_path / "model", file, "--proba")
        assert "1 missing value is replaced" in result.err
        found.append(json.loads(result.out.splitlines()[0]))
    assert found[0] == found[1]
