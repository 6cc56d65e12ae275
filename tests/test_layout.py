"""The layout of the package: floors, sizes of files and recipes, and who may name a task."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import lossnet
from lossnet.recipes import METHODS
from lossnet.tasks.registry import BUILT_IN

PACKAGE = Path(lossnet.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
#: Files that are copied to exported folders.
RUNTIME = PACKAGE / "exporting" / "runtime"
#: What stands on each floor, the lowest first. Modules import from their own floor and below.
FLOORS = (
    "errors files checks plain_text parameters ranges needs devices precision drawing streams "
    "_lazy launch",
    "spaces costs terms contrasts constraints proposals objectives energies nets encoders "
    "gradients decisions batch context structure noise",
    "method recipes training learned_loss",
    "data exporting",
    "tasks",
    " ".join(f"tasks.{name}" for name in BUILT_IN),
    "cli reports searching papers comparison testing __main__",
)
#: A task that builds on another imports from its folder; no other task folder does.
BUILDS_ON = {"text": "multilabel", "roles": "sequence"}
FLOOR = {f"lossnet.{name}": n for n, names in enumerate(FLOORS) for name in names.split()}
#: The only files that may name a task: the public names, the list of built-in tasks, and what runs
#: the papers' experiments, each of which is on data of one task.
NAME_TASKS = {"__init__.py", "tasks/registry.py", "papers/data_sets.py"}
NAME_TASKS |= {"papers/nets_and_energies.py"}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def place_of(module: str) -> str:
    """The longest prefix of a module that has a floor of its own."""
    while module not in FLOOR:
        module = module.rpartition(".")[0]
        assert module != "lossnet", "a new module or folder needs a floor in FLOORS"
    return module


def imports(path: Path) -> Iterator[str]:
    """Every module of the package that a file imports, in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # Files of an exported folder import each other wherever they lie.
            if node.level and path.parent == RUNTIME:
                continue
            assert node.level == 0, f"{path}: imports are absolute"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in found if name.startswith("lossnet."))


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", [p for p in FILES if relative(p) != "__init__.py"], ids=relative)
def test_imports_go_down(path) -> None:
    own = place_of(module_of(path))
    for name in imports(path):
        if name == "lossnet.__version__":
            continue
        other = place_of(name)
        base = f"lossnet.tasks.{BUILDS_ON.get(own.rpartition('.')[2])}"
        assert FLOOR[other] < FLOOR[own] or (
            FLOOR[other] == FLOOR[own]
            and (other in (own, base) or not own.startswith("lossnet.tasks."))
        ), f"{module_of(path)} imports {name}"


@pytest.mark.parametrize("path", sorted(RUNTIME.glob("*.py")), ids=relative)
def test_exported_files_need_no_lossnet(path) -> None:
    assert list(imports(path)) == []


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_files_are_short(path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("name", METHODS)
def test_recipes_are_short(name) -> None:
    assert len(inspect.getsource(METHODS[name]).splitlines()) <= 40


def test_no_module_name_is_used_in_five_folders() -> None:
    counts = Counter(path.name for path in FILES if not path.name.startswith("__"))
    for name in ("task.py", "paper_settings.py"):  # one in each task's folder
        counts.pop(name)
    assert [name for name, count in counts.items() if count >= 5] == []


def task_names() -> set[str]:
    """The public classes of the task folders."""
    sources = [(PACKAGE / "tasks" / name / "__init__.py").read_text() for name in BUILT_IN]
    return {name for text in sources for name in re.findall(r'"([A-Z]\w+[a-z]\w*)"', text)}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_its_folder_names_a_task(path) -> None:
    if relative(path) in NAME_TASKS:
        return
    others = [n for n in BUILT_IN if f"tasks/{n}/" not in relative(path)]
    text = path.read_text(encoding="utf-8")
    base = [BUILDS_ON.get(name) for name in BUILT_IN if name not in others]
    for name in set(others).difference(base):
        assert f"tasks.{name}" not in text, f"{relative(path)} names the task {name}"
    if len(others) == len(BUILT_IN):
        words = set(re.findall(r"\w+", text))
        assert not words & task_names()
        strings = {
            node.value
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not strings & {*BUILT_IN} - {"text"}  # an ordinary word
