"""Features to predict from: files with or without their labels, and columns put in order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.table import MISSING, Attribute, Table
from lossnet.data.text import extension, stem
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.coding import YES_NO
from lossnet.tasks.multilabel.formats.encode import LabelColumns, encode
from lossnet.tasks.multilabel.formats.readers import Labels
from lossnet.tasks.multilabel.loading import load

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")


def load_inputs(
    source: str | Path,
    *,
    known_features: Sequence[str] = (),
    known_labels: Collection[str] = (),
    labels: Labels = None,
) -> MultiLabelData:
    """Read all rows of a source for prediction; what it says of labels may be missing.

    Args:
        source: as in :func:`lossnet.tasks.multilabel.load`.
        known_features: the features a model was trained on, so that few rows are coded as many.
        known_labels: names of labels; columns of a table called so are no features.
        labels: as in :func:`lossnet.tasks.multilabel.load`, where the file holds its labels.

    Returns:
        The data, for a single file without labels: its Y has no column.
    """
    path = Path(source).expanduser()
    if labels is not None or not path.is_file():
        return load(source, labels=labels)
    kind = extension(path)
    if kind == ".npz":
        from lossnet.tasks.multilabel.formats.npz import read_unlabelled

        return read_unlabelled(path)
    if kind in SVMLIGHT:
        from lossnet.tasks.multilabel.formats.svmlight import read_unlabelled

        return read_unlabelled(path)
    if kind == ".arff":
        from lossnet.data.arff import read_table

        return _features_of(read_table(path), known_features, known_labels)
    if kind in (".csv", ".tsv"):
        from lossnet.tasks.multilabel.formats.csv import PREFIX, read_columns

        table = _as_trained(read_columns(path), known_features)
        return _features_of(table, known_features, known_labels, PREFIX)
    return load(source)


def _as_trained(table: Table, features: Sequence[str]) -> Table:
    """The table with the words of each column that training saw, beside those it holds itself."""
    words: dict[str, list[str]] = {}
    for feature in features:
        name, equals, word = feature.partition("=")
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
            attribute = replace(attribute, values=_both(held))
        attributes.append(attribute)
    return replace(table, attributes=attributes)


def _both(values: tuple[str, ...]) -> tuple[str, ...]:
    """``("yes",)`` as ``("yes", "no")``: a column of one such word is still of the yes/no kind."""
    for pair in YES_NO:
        if len(values) == 1 and values[0].lower() in pair:
            return (*values, *(word for word in pair if word != values[0].lower()))
    return values


def _features_of(
    table: Table,
    known_features: Sequence[str],
    known_labels: Collection[str],
    prefix: str | None = None,
) -> MultiLabelData:
    """The columns of a table that are no labels, and no names of the rows."""
    known = {feature.partition("=")[0] for feature in known_features} | set(known_features)
    labels = [
        j
        for j, attribute in enumerate(table.attributes)
        if attribute.name in known_labels
        or attribute.kind == "hierarchical"
        or (prefix is not None and attribute.name.startswith(prefix))
        or (j == 0 and known and attribute.name not in known and attribute.kind != "numeric")
    ]
    if len(labels) == len(table.attributes):
        raise DataError(f"{table.path}: every column is a label; there is nothing to predict from")
    nothing = [np.zeros((table.n_rows, 0), dtype=np.uint8)]
    name = stem(table.path)
    return encode([table], LabelColumns([], []), name=name, Y=nothing, skip=labels)[0]


def features_like(data: MultiLabelData, names: Sequence[str]) -> tuple[Any, list[str]]:
    """``data.X`` with the columns that a model was trained on, and notes on what was changed.

    Columns are found by name. What a sparse file does not list, and a word of a column that no
    row holds, is zero; a word that training never saw is left out, and a note says so. Columns
    without names of their own (``x0``, ``x1``, ...) are taken in their order.

    Args:
        data: the rows.
        names: the feature names that are wanted, in order.
    """
    have = data.feature_names
    if have == list(names) or (len(have) == len(names) and _made_up(have)):
        return data.X, []
    place = {name: k for k, name in enumerate(have)}
    words = {name.partition("=")[0] for name in names if "=" in name}
    missing = [n for n in names if n not in place and not _may_be_zero(n, data)]
    wanted = set(names)
    extra = [n for n in have if n not in wanted]
    unseen = [n for n in extra if "=" in n and n.partition("=")[0] in words]
    if missing or len(extra) > len(unseen):
        strange = (missing or [n for n in extra if n not in set(unseen)])[0]
        which = f"{strange!r} is missing" if missing else f"{strange!r} is not among them"
        raise DataError(
            f"{data.name} has {len(have)} features and the model was trained on {len(names)}: "
            f"{which}; give the columns of the training data"
        )
    notes = [f"training never saw {n!r}: it is left out" for n in unseen]
    return _columns(data.X, [place.get(n) for n in names]), notes


def _made_up(names: Sequence[str]) -> bool:
    return all(name == f"x{k}" for k, name in enumerate(names))


def _may_be_zero(name: str, data: MultiLabelData) -> bool:
    if "=" in name:
        return True
    return data.is_sparse and re.fullmatch(r"x\d+", name) is not None


def _columns(X: Any, index: list[int | None]) -> Any:
    """Columns of X by number, zeros for None."""
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix

        known = [(k, j) for k, j in enumerate(index) if j is not None]
        target, origin = ([pair[side] for pair in known] for side in (0, 1))
        ones = np.ones(len(known), dtype=np.float32)
        choice = csr_matrix((ones, (origin, target)), shape=(X.shape[1], len(index)))
        return (X @ choice).tocsr()
    out = np.zeros((X.shape[0], len(index)), dtype=np.float32)
    for k, j in enumerate(index):
        if j is not None:
            out[:, k] = X[:, j]
    return out
