"""Imports go downwards only, and nothing outside a task's folder names a task (docs/design.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "lossnet"
#: From the ground up; modules that are not listed have no floor and may be used on all of them.
FLOORS = [
    "spaces costs terms contrasts proposals objectives energies nets gradients context",
    "method recipes training learned_loss",
    "data",
    "tasks",
    "cli reports",
]
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names.split()}
TASKS = ["multilabel", "sequence", "image"]
FOLDERS = tuple(f"lossnet.tasks.{name}." for name in TASKS)
NAMES = re.compile("(MultiLabel|Sequence|Image)(Classifier|Tagger|Segmenter|Data)")
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports when it runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lossnet."):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("lossnet."))


def module_of(path: Path) -> str:
    return ".".join(["lossnet", *path.relative_to(SOURCE).with_suffix("").parts])


def test_imports_go_downwards() -> None:
    wrong = []
    for path in FILES:
        own = module_of(path).split(".")
        for name in imported(path):
            other = name.split(".")
            upwards = own[1] in FLOOR_OF and FLOOR_OF.get(other[1], 0) > FLOOR_OF[own[1]]
            sideways = own[1] == other[1] == "tasks" and other[2] in TASKS and own[2] != other[2]
            if upwards or sideways:
                wrong.append(f"{module_of(path)} imports {name}")
    assert wrong == []


def test_only_its_folder_names_a_task() -> None:
    wrong = []
    for path in FILES:
        own = module_of(path)
        if own != "lossnet.tasks.registry" and not own.startswith(FOLDERS):
            found = NAMES.search(path.read_text(encoding="utf-8"))
            wrong += [f"{own} names {found[0]}"] if found else []
    assert wrong == []
