"""Every example runs as it is."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
#: The picture is drawn from what a demo has written: see test_cli_demo.py.
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.name != "demo_picture.py")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)  # an example may draw pictures in the current folder
    runpy.run_path(str(path), run_name="__main__")
    assert "test" in capsys.readouterr().out
