"""Lines of code of ``src/`` at some commits: ``python benchmarks/code_lines.py 16f5f8a HEAD``.

Blank lines, comments and docstrings do not count. Without a commit, the working tree is counted.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """The number of lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def sources(commit: str | None) -> dict[str, str]:
    """The text of every module by its path below ``src/lossnet``."""
    if commit is None:
        paths = sorted((ROOT / "src").rglob("*.py"))
        return {str(p.relative_to(ROOT / "src/lossnet")): p.read_text() for p in paths}
    listed = _git("ls-tree", "-r", "--name-only", commit, "src/lossnet").split("\n")
    names = [name for name in listed if name.endswith(".py")]
    return {n.removeprefix("src/lossnet/"): _git("show", f"{commit}:{n}") for n in names}


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, text=True, stdout=subprocess.PIPE
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="(default: the working tree)")
    first = None
    for commit in parser.parse_args().commits or [None]:
        texts = sources(commit)
        folders: Counter[str] = Counter()
        for name, text in texts.items():
            folders[name.rpartition("/")[0].split("/")[0] or "."] += code_lines(text)
        total, longest = folders.total(), max(len(text.splitlines()) for text in texts.values())
        first = first or total
        print(
            f"{commit or 'working tree'}: {total:,} code lines ({100 * total / first:.1f} %) in "
            f"{len(texts)} files, the longest of {longest} lines"
        )
        print("  " + ", ".join(f"{folder} {count:,}" for folder, count in sorted(folders.items())))


if __name__ == "__main__":
    main()
