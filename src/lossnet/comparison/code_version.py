"""The version of the code that a run depends on."""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

#: What reports, draws or runs models, and does not change them.
_FRONTS = {"cli", "reports", "papers", "comparison", "testing", "drawing", "searching", "serve"}
_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn")


def code_version(estimator: type) -> str:
    """A short checksum of the code that an estimator's results depend on.

    The library without its commands and reports, the packages of the estimator and of its bases,
    and the versions of the packages that compute. Comments and docstrings do not count.
    """
    modules = {kind.__module__ for kind in estimator.__mro__}
    own = {module.rpartition(".")[0] for module in modules}
    return _version(frozenset(package for package in own if _is_task(package)))


def _is_task(package: str) -> bool:
    """Whether a package is one task's: a folder of ``lossnet.tasks``, or outside the library."""
    known = ("sklearn", "builtins", "typing", "abc", "")
    return package.startswith("lossnet.tasks.") or package.partition(".")[0] not in (
        "lossnet",
        *known,
    )


@cache
def _version(packages: frozenset[str]) -> str:
    total = hashlib.sha256()
    for path in _files(packages):
        total.update(f"{path.name} {_plain(path)}".encode())
    versions = {package: metadata.version(package) for package in _PACKAGES}
    total.update(json.dumps(versions, sort_keys=True).encode())
    return total.hexdigest()[:16]


def _files(packages: frozenset[str]) -> Iterator[Path]:
    """The files that matter, in order."""
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        task = parts[0] == "tasks" and len(parts) > 2
        if parts[0] not in _FRONTS and not task:
            yield path
    for package in sorted(packages):
        file = importlib.import_module(package).__file__
        if file is not None:
            yield from sorted(Path(file).parent.rglob("*.py"))


def _plain(path: Path) -> str:
    """The code of a file without comments and docstrings."""
    tree: Any = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0].value = ast.Constant("")
    return ast.dump(tree)
