"""Mulan's XML label files: which attributes of an ARFF file are labels."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from lossnet.data.text import read_bytes, stem
from lossnet.data.xml import parse_xml
from lossnet.errors import DataError


def find_xml(path: str | Path) -> Path | None:
    """The XML file of an ARFF file: ``a.xml`` for ``a.arff``, ``a-train.arff``, ``a.test.arff``.

    Where none has such a name, the only XML file of the folder.
    """
    path = Path(path)
    name = stem(path)
    candidates = [name]
    for mark in ("-", ".", "_"):
        pieces = name.split(mark)
        candidates += [mark.join(pieces[:k]) for k in range(len(pieces) - 1, 0, -1)]
    for candidate in candidates:
        xml = path.with_name(f"{candidate}.xml")
        if xml.is_file():
            return xml
    every = sorted(path.parent.glob("*.xml"))
    return every[0] if len(every) == 1 else None


def read_labels(path: str | Path) -> tuple[list[str], dict[str, str]]:
    """The label names in the file's order, and the parent of each label inside another."""
    root = parse_xml(read_bytes(path), path)
    names: dict[str, None] = {}
    parents: dict[str, str] = {}
    _walk(root, None, names, parents, path)
    if not names:
        raise DataError(f'{path} names no label; expected <labels><label name="..."/></labels>')
    return list(names), parents


def _walk(
    node: ElementTree.Element,
    parent: str | None,
    names: dict[str, None],
    parents: dict[str, str],
    path: str | Path,
) -> None:
    for child in node:
        if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] != "label":
            continue
        name = child.get("name")
        if not name:
            raise DataError(f"{path}: a <label> without a name")
        if name in names:
            raise DataError(f"{path}: label {name!r} is named twice")
        names[name] = None
        if parent is not None:
            parents[name] = parent
        _walk(child, name, names, parents, path)
