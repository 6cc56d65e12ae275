"""Run the examples and write a page of each, with its output and pictures.

    python website/gallery.py build/gallery

A page holds the example's docstring, what it printed, the pictures that it drew and its code. An
example that fails ends the build.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
#: Drawn from what a demo has written.
LEFT_OUT = ("demo_picture.py",)


def main(out: Path, examples: list[Path]) -> None:
    """Write the pages to an empty folder."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    lines = ["# Gallery", "", "Worked examples: what they print and draw, and their code.", ""]
    for path in examples:
        print(path.name, flush=True)
        title, about = _words(path)
        (out / f"{path.stem}.md").write_text(page(path, out, title, about), encoding="utf-8")
        lines.append(f"- [{title}]({path.stem}.md)")
    (out / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def page(path: Path, out: Path, title: str, about: str) -> str:
    """The page of one example, which is run; its pictures go to the folder."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, path.resolve()], cwd=folder, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{path.name} failed:\n{done.stderr}")
        pictures = []
        for picture in sorted(Path(folder).glob("*.png")):
            pictures.append(f"{path.stem}-{picture.name}")
            shutil.copy(picture, out / pictures[-1])
    shown = [f"![{name}]({name})" for name in pictures]
    printed = f"```text\n{done.stdout.strip()}\n```"
    code = f"```python\n{path.read_text(encoding='utf-8').strip()}\n```"
    parts = [f"# {title}", about, "## What it prints", printed, *shown, "## Code", code]
    return "\n\n".join(filter(None, parts)) + "\n"


def _words(path: Path) -> tuple[str, str]:
    """The first line of an example's docstring, and the rest."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    title, _, about = text.partition("\n")
    return title.rstrip("."), about.strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sorted(p for p in EXAMPLES.glob("*.py") if p.name not in LEFT_OUT))
