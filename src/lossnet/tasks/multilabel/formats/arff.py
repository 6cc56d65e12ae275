"""Multi-label ARFF files: Mulan's, MEKA's and Clus's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from lossnet.data.arff import read_table
from lossnet.data.limits import parse_int
from lossnet.data.table import Table
from lossnet.data.text import read_bytes, stem
from lossnet.data.xml import parse_xml
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.clus import forest, indicators
from lossnet.tasks.multilabel.formats.encode import WHICH, LabelColumns, chosen, encode
from lossnet.tasks.multilabel.formats.readers import Labels


def read(paths: Sequence[str | Path], labels: Labels, name: str) -> list[MultiLabelData]:
    """Read the ARFF files of one data set, the training file first.

    All get the same columns: the values declared for a nominal attribute are pooled. The labels
    are those that the argument picks; else those of a column of type ``hierarchical`` (Clus); else
    those that Mulan's XML file next to the first file names; else the first n columns, or the last
    n where n is negative, if MEKA's ``-C n`` is in the relation's name.

    Args:
        paths: one file or more.
        labels: n for the first n attributes, -n for the last n, or a list of names.
        name: what to call the data set.
    """
    tables = [read_table(path) for path in paths]
    first = tables[0]
    classes = [j for j, a in enumerate(first.attributes) if a.kind == "hierarchical"]
    if not classes or labels is not None:
        return encode(tables, _label_columns(first, labels), name)
    if len(classes) > 1:
        raise DataError(f"{first.path} has {len(classes)} hierarchical attributes; expected one")
    column = classes[0]
    wide = [table for table in tables if column < len(table.attributes)]
    declared = dict.fromkeys(value for t in wide for value in t.attributes[column].values)
    tree = forest(declared, str(first.path), column)
    return encode(tables, tree, name, Y=[indicators(table, tree) for table in wide])


def _label_columns(table: Table, labels: Labels) -> LabelColumns:
    names = [a.name for a in table.attributes]
    where = str(table.path)
    parents: dict[str, str] = {}
    if labels is None and (xml := find_xml(table.path)):
        parents = read_labels(xml)
        labels, where = list(parents), f"{where} (labels named in {xml.name})"
    elif labels is None and (meka := re.search(r"-C\s+(-?\d+)", table.relation)):
        where = f"{where} (-C in the relation's name)"
        try:
            labels = parse_int(meka[1])
        except ValueError as error:
            raise DataError(f"{where}: {error}") from None
    if labels is None:
        files = "put Mulan's XML file next to it, write MEKA's '-C n' into the relation's name"
        remedy = f"{files}, or pass labels= ({WHICH})"
        raise DataError(f"{where} does not say which attributes are labels: {remedy}")
    index = chosen(names, labels, where)
    place = {names[j]: k for k, j in enumerate(index)}
    links = {place[c]: [place[p]] for c, p in parents.items() if p}
    return LabelColumns(index, list(place), links or None)


def find_xml(path: str | Path) -> Path | None:
    """The XML file of an ARFF file: ``a.xml`` for ``a.arff``, ``a-train.arff``, ``a.test.arff``.

    Where none has such a name, the only XML file of the folder.
    """
    path, name = Path(path), stem(path)
    ends = [m.start() for mark in "-._" for m in [*re.finditer(re.escape(mark), name)][::-1]]
    candidates = [path.with_name(f"{name[:end]}.xml") for end in (None, *ends)]
    named = [xml for xml in candidates if xml.is_file()]
    found = named or list(path.parent.glob("*.xml"))
    return found[0] if named or len(found) == 1 else None


def read_labels(path: str | Path) -> dict[str, str]:
    """The labels of Mulan's XML file in order, each with its parent's name, or an empty string."""
    parents: dict[str, str] = {}
    for name, parent in _labels(parse_xml(read_bytes(path), path), ""):
        if not name:
            raise DataError(f"{path}: a <label> without a name")
        if name in parents:
            raise DataError(f"{path}: label {name!r} is named twice")
        parents[name] = parent
    if not parents:
        raise DataError(f'{path} names no label; expected <labels><label name="..."/></labels>')
    return parents


def _labels(node: Element, parent: str) -> Iterator[tuple[str, str]]:
    for child in node:
        if child.tag.rpartition("}")[2] == "label":
            name = child.get("name", "")
            yield name, parent
            yield from _labels(child, name)
