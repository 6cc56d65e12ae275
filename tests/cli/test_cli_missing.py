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


def test_labels_that_are_not_known(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    header, *lines = csv_file.read_text().splitlines()
    names = header.split(",")
    first = next(k for k, name in enumerate(names) if name.startswith("label:"))
    holes = [line.split(",") for line in lines]
    for cells in holes[::3]:
        cells[first] = ""
    file, unknown = tmp_path / "holes.csv", len(holes[::3])
    file.write_text("\n".join([header, *map(",".join, holes)]) + "\n")
    count = len(holes) * sum(name.startswith("label:") for name in names)
    note = f"{unknown} of {count:,} label entries are not known: losses and metrics leave them out"
    trained = lossnet("train", file, "--out", tmp_path / "model", *SMALL[:-1])
    assert note in trained.out
    described = lossnet("describe", file)
    assert f"{unknown} labels" in described.out
    shown = lossnet("evaluate", tmp_path / "model", file, "--split", "all")
    assert note in shown.err
    assert f"{count - unknown:,}" in next(
        line for line in shown.out.splitlines() if line.startswith("entries")
    )
    found = lossnet("evaluate", tmp_path / "model", file, "--split", "all", "--json")
    assert json.loads(found.out)["metrics"]["at 0.5"]["entries"] == count - unknown
    complete = lossnet("evaluate", tmp_path / "model", csv_file, "--split", "all", "--json")
    assert "entries" not in json.loads(complete.out)["metrics"]["at 0.5"]
