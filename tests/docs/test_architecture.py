"""The picture of the architecture shows what there is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_box_is_there(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
    script["draw"](str(tmp_path / "picture.png"))
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    source = ROOT / "src" / "lossnet"
    modules = {path.stem for path in source.rglob("*") if path.suffix in ("", ".py")}
    boxes = [box for *_, rows, _ in script["FLOORS"] for row in rows for box in row]
    named = {word for box in boxes for word in re.findall(r"\b[a-z]+\b", box)}
    assert len(named) > 12
    assert named - modules - {"commands", "formats", "yours"} == set()
