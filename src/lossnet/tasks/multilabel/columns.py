"""Data in the columns of other data, which are matched by name.

``known`` says what the columns are: ``labels``, their names; ``features``, their names, or their
number where no names are known; ``labels_given``, whether the labels' names had to be given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.disk_csr import DiskCSR
from lossnet.data.table import MISSING, Attribute, Table
from lossnet.data.text import extension, stem
from lossnet.errors import DataError
from lossnet.plain_text import some
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.coding import both
from lossnet.tasks.multilabel.formats.encode import LabelColumns, encode
from lossnet.tasks.multilabel.formats.readers import EXTENSIONS, SVMLIGHT, load_files, reader
from lossnet.tasks.task import Known


def read_matching(path: Path, known: Known, *, labelled: bool) -> MultiLabelData:
    """Read one file so that :func:`matched` can find the known columns.

    Few rows are coded as many were; without ``labelled``, the file may lack labels.
    """
    kind = extension(path)
    if kind in (".csv", ".tsv"):
        from lossnet.tasks.multilabel.formats.csv import PREFIX, read_columns

        table = _as_trained(read_columns(path), _names(known))
        return _from_table(table, known, labelled=labelled, prefix=PREFIX)
    if labelled or kind not in EXTENSIONS:
        # Label numbers of svmlight files need not be given; their count follows from the rows.
        numbers = all(name.isdecimal() for name in known["labels"])
        given = known.get("labels_given") and not numbers
        return load_files([path], labels=known["labels"] if given else None)[0]
    if kind == ".arff":
        from lossnet.data.arff import read_table

        return _from_table(read_table(path), known, labelled=False)
    found: MultiLabelData = reader(path).read_unlabelled(path)
    return found


def _names(known: Known) -> Sequence[str]:
    features = known["features"]
    return () if isinstance(features, int) else features


def _as_trained(table: Table, features: Sequence[str]) -> Table:
    """The table with the words of each column that training saw, and those it holds itself."""
    words: dict[str, list[str]] = {}
    for name, equals, word in (feature.partition("=") for feature in features):
        if equals:
            words.setdefault(name, []).append(word)
    known = set(features)
    attributes = []
    for j, attribute in enumerate(table.attributes):
        held = tuple(sorted({v for v in table.column(j) if v != MISSING}))
        if attribute.name in words:
            values = tuple(dict.fromkeys([*words[attribute.name], *held]))
            attribute = Attribute(attribute.name, "nominal", values)
        elif attribute.name in known and attribute.kind == "nominal":
            attribute = replace(attribute, values=both(held))
        attributes.append(attribute)
    return replace(table, attributes=attributes)


def _from_table(table: Table, known: Known, *, labelled: bool, prefix: str = "") -> MultiLabelData:
    """The columns of a table but names of the rows; where not ``labelled``, without labels."""
    features = {name.partition("=")[0] for name in _names(known)} | set(_names(known))
    labels, rows = [], []
    for j, attribute in enumerate(table.attributes):
        named = attribute.name in known["labels"] or (prefix and attribute.name.startswith(prefix))
        if named or attribute.kind == "hierarchical":
            labels.append(j)
        elif j == 0 and features and attribute.name not in features and attribute.kind != "numeric":
            rows.append(j)
    if len(labels) + len(rows) == len(table.attributes):
        raise DataError(f"{table.path}: every column is a label; there is nothing to predict from")
    with_labels = labelled and labels
    names = [table.attributes[j].name.removeprefix(prefix) for j in labels if with_labels]
    Y = None if with_labels else [None]
    return encode([table], LabelColumns(labels, names), stem(table.path), Y=Y, skip=rows)[0]


def matched(data: MultiLabelData, known: Known, source: str, *, labelled: bool) -> MultiLabelData:
    """The data in the known columns; where not ``labelled``, without labels."""
    X, notes = features_like(data, known["features"])
    names = list(_names(known)) or data.feature_names
    Y: Any = _labels_like(data, known["labels"], source) if labelled else None
    labels = known["labels"] if labelled else []
    return MultiLabelData(X, Y, names, labels, data.name, None, [*data.notes, *notes])


def features_like(data: MultiLabelData, names: Sequence[str] | int) -> tuple[Any, list[str]]:
    """``data.X`` with the columns wanted, and notes on what was changed.

    What a sparse file does not list, and a word of a column that no row holds, is zero; a word
    that is absent from training is left out, and a note says so. A column is missing where there is
    none for any of its words. Columns without names of their own
    (``x0``, ``x1``, ...) are taken in their order.
    """
    have = data.feature_names
    if isinstance(names, int) and names != len(have):
        raise _unlike(data, names)
    if isinstance(names, int) or have in (names, [f"x{k}" for k in range(len(names))]):
        return data.X, []
    place = {name: k for k, name in enumerate(have)}
    words = {name.partition("=")[0] for name in names if "=" in name}
    wanted = set(names)
    may_be_zero = re.compile(r".*=.*|x\d+" if data.is_sparse else ".*=.*", re.DOTALL).fullmatch
    missing = [n for n in names if n not in place and not may_be_zero(n)]
    if missing := missing or sorted(words - {name.partition("=")[0] for name in have}):
        raise _unlike(data, len(names), f": {missing[0]!r} is missing")
    extra = [n for n in have if n not in wanted and not (n in words and _all_missing(data, n))]
    unseen = [n for n in extra if "=" in n and n.partition("=")[0] in words]
    if other := [n for n in extra if n not in set(unseen)]:
        raise _unlike(data, len(names), f": {other[0]!r} is not among them")
    notes = [f"{n!r} is absent from training and is left out" for n in unseen]
    return _columns(data.X, [place.get(n) for n in names]), notes


def _all_missing(data: MultiLabelData, name: str) -> bool:
    """Whether a feature has no value: a column of words without a word looks like numbers."""
    column = data.X[:, [data.feature_names.index(name)]]
    blocks = column.blocks() if isinstance(column, DiskCSR) else [column]
    return all(np.isnan(b.toarray() if data.is_sparse else b).all() for b in blocks)


def _unlike(data: MultiLabelData, count: int, which: str = "") -> DataError:
    counts = f"{data.n_features} features and the model was trained on {count}{which}"
    return DataError(f"{data.name} has {counts}; give the columns of the training data")


def _columns(X: Any, index: list[int | None]) -> Any:
    """Columns of X by number, zeros for None."""
    target = [k for k, j in enumerate(index) if j is not None]
    origin = [j for j in index if j is not None]
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix

        ones = np.ones(len(target), dtype=np.float32)
        choice = csr_matrix((ones, (origin, target)), shape=(X.shape[1], len(index)))
        if isinstance(X, DiskCSR):
            return X.mapped(lambda rows: (rows @ choice).tocsr(), len(index))
        return (X @ choice).tocsr()
    out = np.zeros((X.shape[0], len(index)), dtype=np.float32)
    out[:, target] = X[:, origin]
    return out


def _labels_like(data: MultiLabelData, names: Sequence[str], source: str) -> Any:
    """``data.Y`` with the labels wanted, in their order."""
    wanted = set(names)
    if strange := [name for name in data.label_names if name not in wanted]:
        rule = "evaluate on the labels of the training data, or train again with these"
        raise DataError(f"{source} has labels absent from training: {some(strange)}; {rule}")
    place = {name: k for k, name in enumerate(data.label_names)}
    missing = [name for name in names if name not in place]
    # An svmlight file lists the labels that are on: one that never appears is off in all rows.
    if missing and extension(source) not in SVMLIGHT:
        rule = "give a column for each label of the training data"
        raise DataError(f"{source} lacks labels that the model predicts: {some(missing)}; {rule}")
    return _columns(data.Y, [place.get(name) for name in names])
