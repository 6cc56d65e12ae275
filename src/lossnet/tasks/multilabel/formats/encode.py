"""From tables of strings to matrices of numbers, the same way for all files of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lossnet.data.limits import check_cells
from lossnet.data.table import Table
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.coding import Coding, Dropped, Number, OneHot, Words, choose
from lossnet.tasks.multilabel.formats.encode_sparse import sparse_block
from lossnet.tasks.multilabel.formats.values import columns_of, numbers, word_codes

Matrix = Any  # a numpy array or a scipy CSR matrix


@dataclass(frozen=True)
class LabelColumns:
    """Which attributes are labels and which labels are parents of which."""

    index: list[int]
    names: list[str]
    parents: dict[int, list[int]] | None = None


def encode(
    tables: Sequence[Table],
    labels: LabelColumns,
    *,
    name: str,
    Y: Sequence[np.ndarray[Any, Any]] | None = None,
    skip: Sequence[int] = (),
) -> list[MultiLabelData]:
    """One data set for each table, with the same columns in all.

    A missing number, or word of a yes/no kind, is NaN; any other missing word has zeros in all its
    columns.

    Args:
        tables: the files of one data set, the training file first.
        labels: the label columns.
        name: what to call the data set.
        Y: the labels, where a reader has found them itself.
        skip: attributes that are neither features nor labels.
    """
    _same_attributes(tables)
    taken = set(labels.index) | set(skip)
    features = [j for j in range(len(tables[0].attributes)) if j not in taken]
    codings = {j: choose(tables, j, label=False) for j in features}
    blocks = [_block(table, codings) for table in tables]
    if any(hasattr(b, "tocsr") for b in blocks):
        from scipy.sparse import csr_matrix

        blocks = [csr_matrix(b) for b in blocks]
    notes = [c.why for c in codings.values() if isinstance(c, Dropped)]
    if Y is None:
        codes = {j: _label_coding(tables, j) for j in labels.index}
        Y = [_label_block(table, codes) for table in tables]
    names = _feature_names(tables[0], codings)
    return [
        MultiLabelData(block, y, names, labels.names, name, labels.parents, [*table.notes, *notes])
        for table, block, y in zip(tables, blocks, Y, strict=True)
    ]


def _same_attributes(tables: Sequence[Table]) -> None:
    names = [a.name for a in tables[0].attributes]
    for other in tables[1:]:
        theirs = [a.name for a in other.attributes]
        if theirs != names:
            pairs = zip(names, theirs, strict=False)
            at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(names), len(theirs)))
            raise DataError(
                f"{other.path} does not have the columns of {tables[0].path}: {len(theirs)} and "
                f"{len(names)}, different from number {at} on"
            )


def _feature_names(table: Table, codings: dict[int, Coding]) -> list[str]:
    names: list[str] = []
    for j, coding in codings.items():
        name = table.attributes[j].name
        if isinstance(coding, OneHot):
            names += [f"{name}={value}" for value in coding.values]
        elif not isinstance(coding, Dropped):
            names.append(name)
    return names


def _label_coding(tables: Sequence[Table], j: int) -> Coding:
    coding = choose(tables, j, label=True)
    if isinstance(coding, Words):
        return coding
    if isinstance(coding, Number) and (coding.allowed is None or coding.allowed <= {0.0, 1.0}):
        return Number(frozenset((0.0, 1.0)))
    attribute = tables[0].attributes[j]
    raise DataError(
        f"{tables[0].path}: label {attribute.name!r} has the values "
        f"{{{', '.join(attribute.values[:6])}}}; a label must be 0/1 or yes/no"
    )


def _label_block(table: Table, codes: dict[int, Coding]) -> np.ndarray[Any, Any]:
    check_cells(table.path, table.n_rows, len(codes), "labels")
    block = _block(table, codes)
    block = block.toarray() if hasattr(block, "toarray") else block
    missing = np.argwhere(np.isnan(block))
    if missing.size:
        row, k = missing[0]
        name = table.attributes[list(codes)[k]].name
        raise table.error(int(row), f"label {name!r} is missing (?); a label must be 0 or 1")
    return block.astype(np.uint8)


def _block(table: Table, codings: dict[int, Coding]) -> Matrix:
    """The numbers of some attributes, (n, columns): NaN where missing."""
    if table.columns is None:
        return sparse_block(table, codings)
    width = sum(columns_of(c) for c in codings.values())
    check_cells(table.path, table.n_rows, width, "columns")
    out = np.zeros((table.n_rows, width))
    at = 0
    for j, coding in codings.items():
        if isinstance(coding, OneHot):
            code = word_codes(table, j, coding.values)
            known = np.flatnonzero(code >= 0)
            out[known, at + code[known]] = 1
        elif isinstance(coding, Words):
            code = word_codes(table, j, tuple(coding.values))
            out[:, at] = np.array([*coding.values.values(), np.nan])[code]
        elif isinstance(coding, Number):
            out[:, at] = numbers(table, j, coding)
        at += columns_of(coding)
    return out
