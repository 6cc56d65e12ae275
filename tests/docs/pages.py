"""The code blocks of the README and the docs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: A block's first line where it is the file of a package.
FILE = re.compile(r"# (\w+)/(\w+\.py)\n")


class Block(NamedTuple):
    """A block, and the page and line where it stands."""

    code: str
    place: str


def blocks(*languages: str) -> Iterator[Block]:
    """The blocks of these languages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] in languages:
                line = text.count("\n", 0, match.start()) + 1
                yield Block(match[2], f"{page.name}:{line}")


def install_packages(folder: Path) -> None:
    """Write the packages that the docs show to a folder, as pip would install them there."""
    for code, _ in blocks("python"):
        if match := FILE.match(code):
            (folder / match[1]).mkdir(exist_ok=True)
            (folder / match[1] / "__init__.py").touch()
            (folder / match[1] / match[2]).write_text(code, encoding="utf-8")
    for code, _ in blocks("toml"):
        for group, points in tomllib.loads(code)["project"]["entry-points"].items():
            package = next(iter(points.values())).partition(".")[0]
            info = folder / f"{package}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
            )
            lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
            (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
