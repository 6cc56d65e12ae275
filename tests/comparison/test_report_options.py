"""``describe --report`` and ``evaluate --report``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from lossnet.cli import main
from lossnet.comparison.data_page import data_page, histogram
from lossnet.comparison.rendering import render
from lossnet.tasks.description import Description, Listing

SMALL = ["--set", "max_epochs=1", "hidden=[8]", "--quiet"]
EVIL = "<b>bold</b>"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows with three labels, one of which has tags in its name."""
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 3))
    Y = X + draw.normal(size=X.shape) > 0
    heads = [*"abc", *(f"label:{name}" for name in (EVIL, "sun", "rain"))]
    lines = [",".join(heads)]
    lines += [
        ",".join([*(f"{v:.3f}" for v in x), *map(str, y.astype(int))])
        for x, y in zip(X, Y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def models(table: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("models")
    for name, method in (("one", "seal-nce"), ("two", "cross-entropy")):
        given = ["--method", method, "--out", str(folder / name), *SMALL]
        assert main(["train", str(table), *given]) == 0
    return [str(folder / "one"), str(folder / "two")]


def headings(page: Path) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page.read_text(encoding="utf-8"))


def test_describe(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "data.html"
    assert main(["describe", str(table), "--report", str(page)]) == 0
    assert f"report: {page}" in capsys.readouterr().out
    assert headings(page)[:3] == ["Overview", "Frequencies", "Lengths"]
    text = page.read_text(encoding="utf-8")
    assert EVIL not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text


def test_evaluate(models: list[str], table: Path, tmp_path: Path) -> None:
    one, both = tmp_path / "one.html", tmp_path / "both.html"
    assert main(["evaluate", models[0], str(table), "--report", str(one)]) == 0
    assert "What the loss-net knows" in headings(one)
    assert "Differences" not in headings(one)
    given = ["--compare-with", models[1], "--report", str(both), "--json"]
    assert main(["evaluate", models[0], str(table), *given]) == 0
    assert "Differences" in headings(both)
    assert EVIL not in both.read_text(encoding="utf-8")


def test_wrong_options_end_before_anything_is_read(
    models: list[str], table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ["--report", str(tmp_path / "page.html")]
    assert main(["evaluate", models[0], str(table), *page, "--threshold", "0"]) == 2
    assert "--report and --threshold exclude each other" in capsys.readouterr().err
    assert main(["describe", str(table), "--report", "page.pdf"]) == 2
    assert "does not end in .html" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["describe", str(table), "--report", str(tmp_path / "file" / "page.html")]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_description_with_headings_and_without_anything_else() -> None:
    plain = Description("data", [["", "all", "train"], ["rows", "3", "2"]])
    assert str(plain) == "data\n      all  train\nrows    3      2"
    assert [section.key for section in data_page(plain).sections] == ["overview"]
    odd = Description("d", [["rows", "0"]], [], [Listing("pairs", words="none")], {"labels": {}})
    assert str(odd) == "d\nrows  0\n\npairs\nnone"
    assert "pairs: none." in render(data_page(odd))


def test_lengths_are_counted_in_ranges_of_equal_width() -> None:
    bars = histogram([0, 15, 16, 31, 31, 31])
    assert [name for name, *_ in bars[:2]] == ["0 to 1", "2 to 3"]
    assert bars[-1] == ("30 to 31", 100.0, "3")
    assert sum(int(text) for *_, text in bars) == 6
    assert histogram([7]) == [("7", 100.0, "1")]
