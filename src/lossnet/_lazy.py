"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports names on first use.

    The names are those that the package's stub, ``__init__.pyi``, imports: type checkers read it
    too, so that each name stands in one place.

    Args:
        package: the package's ``__name__``.
        file: its ``__file__``.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module or package
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if homes.get(name, package) == package:
            return submodule(package, name)
        return getattr(importlib.import_module(homes[name]), name)

    return get, lambda: sorted(homes), sorted(homes)


def submodule(package: str, name: str) -> Any:
    """A module of a package, as the ``__getattr__`` of the package gives it."""
    module = f"{package}.{name}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
