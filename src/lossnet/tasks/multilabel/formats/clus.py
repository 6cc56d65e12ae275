"""Clus's hierarchical classes: a forest (or a graph) of labels, each implying its ancestors.

A tree is declared by paths, ``@attribute class hierarchical a,a/b,c/d``, and a row names its
classes by paths, ``a/b@c/d``. The labels are the nodes: every declared path and every beginning
of one (``c`` here), without the root, which is on in every row. A directed graph is declared by
edges from a node called ``root``, ``root/a,a/b,c/b``, and a row names nodes, ``b@c``.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any

import numpy as np

from lossnet.data.limits import check_cells
from lossnet.data.table import MISSING, Table
from lossnet.errors import DataError
from lossnet.tasks.multilabel.formats.encode import LabelColumns

_ROOT = "root"
_MAX_LINKS = 10_000_000
_MAX_LEVELS = 1000


def _ancestors(labels: LabelColumns) -> list[list[int]]:
    """For each label, itself and everything above it."""
    above: list[list[int]] = []
    total = 0
    for start in range(len(labels.names)):
        found, stack = {start}, [start]
        while stack:
            new = [p for p in (labels.parents or {}).get(stack.pop(), ()) if p not in found]
            found.update(new)
            stack += new
        above.append(sorted(found))
        total += len(found)
        if total > _MAX_LINKS:
            deep = f"more than {_MAX_LINKS} ancestors in all"
            raise DataError(f"the hierarchy of {len(labels.names)} classes is too deep: {deep}")
    return above


def forest(declared: Collection[str], where: str, column: int) -> LabelColumns:
    """The labels of the declared classes; what is implied stands before what implies it."""
    if not declared:
        raise DataError(f"{where}: the hierarchical attribute declares no class")
    graph = any(path.split("/")[0] == _ROOT for path in declared)
    index: dict[str, int] = {}
    edges: list[tuple[str, str]] = []
    for path in declared:
        pieces = path.split("/")
        if not all(pieces):
            raise DataError(f"{where}: class {path!r} has an empty part")
        if len(pieces) > _MAX_LEVELS:
            raise DataError(f"{where}: class {path!r} has more than {_MAX_LEVELS} levels")
        if graph:
            edges += list(pairwise(pieces))
            nodes = [p for p in pieces if p != _ROOT]
        else:
            nodes = ["/".join(pieces[: k + 1]) for k in range(len(pieces))]
            edges += list(pairwise(nodes))
        for node in nodes:
            index.setdefault(node, len(index))
    parents: dict[int, list[int]] = {}
    for parent, child in dict.fromkeys(edges):
        if parent != _ROOT or not graph:
            parents.setdefault(index[child], []).append(index[parent])
    return LabelColumns([column], list(index), parents)


def indicators(table: Table, labels: LabelColumns) -> np.ndarray[Any, Any]:
    """Y (n, L) of the classes in the labels' column, with all ancestors on."""
    position = {name: k for k, name in enumerate(labels.names)}
    above = _ancestors(labels)
    check_cells(table.path, table.n_rows, len(labels.names), "labels")
    Y = np.zeros((table.n_rows, len(labels.names)), dtype=np.uint8)
    for row, text in enumerate(table.column(labels.index[0])):
        if text in ("", MISSING):
            raise table.error(row, "the classes are missing")
        for name in text.split("@"):
            node = position.get(name.strip())
            if node is None:
                raise table.error(row, f"class {name.strip()!r} was not declared in the header")
            Y[row, above[node]] = 1
    return Y
