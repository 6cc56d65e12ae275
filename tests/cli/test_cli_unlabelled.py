"""lossnet train --unlabelled: rows without labels on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cli_helpers import Result, one_line, write_csv

from lossnet import MultiLabelClassifier

Run = Callable[..., Result]
TUNED = ["--method", "infnet", "--set", "max_epochs=2", "hidden=[8]", "method.tune_on=unlabelled"]


def test_tunes_on_the_rows_given(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    other = write_csv(tmp_path / "new.csv", rows=17, seed=3)
    out = tmp_path / "a"
    result = lossnet("train", csv_file, "--out", out, *TUNED, "--unlabelled", other)
    assert result.code == 0, result.err
    assert "17 unlabelled rows" in result.out
    phases = [row["phase"] for row in MultiLabelClassifier.load(out).history_]
    assert phases == ["infnet"] * 2 + ["tune"] * 2
    assert lossnet("predict", out, other).code == 0


def test_missing_or_useless_rows_are_refused(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    missing = lossnet("train", csv_file, "--out", out, *TUNED)
    assert "--unlabelled DATA" in one_line(missing)
    useless = lossnet("train", csv_file, "--out", out, "--method", "dvn", "--unlabelled", csv_file)
    assert "'dvn' as configured has no use for unlabelled rows" in one_line(useless)
    assert not out.exists()
