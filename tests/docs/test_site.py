"""The documentation site: it builds without a warning, and its pages hold what they promise."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("mkdocs", reason="the docs extra is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built; a link that leads nowhere is a warning, and a warning fails the build."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def test_every_page_is_there(site: Path) -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "CHANGELOG.md"]
    missing = [page.stem for page in pages if not (site / f"{page.stem}.html").exists()]
    assert missing == []
    assert "Structured prediction with a learned loss" in (site / "index.html").read_text("utf-8")
    assert "own_loop.html" in (site / "gallery" / "index.html").read_text("utf-8")


def test_the_reference_shows_docstrings(site: Path) -> None:
    page = (site / "api" / "lossnet.html").read_text("utf-8")
    for name in ("MultiLabelClassifier", "SequenceTagger", "ImageSegmenter", "LearnedLoss"):
        assert f">{name}<" in page or f"{name}(" in re.sub(r"<[^>]+>", "", page)
    text = re.sub(r"<[^>]+>", "", page)
    assert "number of task-nets, whose mean predicts" in text
    assert not re.findall(r":(?:class|func|meth|mod|data|attr):", text)


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|link)[^>]+(?:src|href)=\"?(https?://[^\" >]+)")
    found = {
        url for page in site.rglob("*.html") for url in loaded.findall(page.read_text("utf-8"))
    }
    assert found == set()


def test_an_example_becomes_a_page(tmp_path: Path) -> None:
    script, out = tmp_path / "small.py", tmp_path / "gallery"
    script.write_text(
        '"""A title.\n\nWhat it shows.\n"""\nopen("a.png", "wb")\nprint("found <b>")\n'
    )
    gallery = runpy.run_path(str(ROOT / "website" / "gallery.py"))
    gallery["main"](out, [script])
    page = (out / "small.md").read_text("utf-8")
    assert page.startswith("# A title\n\nWhat it shows.")
    assert "```text\nfound <b>\n```" in page
    assert "![small-a.png](small-a.png)" in page
    assert (out / "small-a.png").exists()
    assert "- [A title](small.md)" in (out / "index.md").read_text("utf-8")
    script.write_text("raise SystemExit('broken')")
    with pytest.raises(SystemExit, match=r"small.py failed:\nbroken"):
        gallery["main"](out, [script])
