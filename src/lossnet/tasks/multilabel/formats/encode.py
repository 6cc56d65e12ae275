"""From tables of strings to matrices of numbers, the same way for all files of a data set."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from lossnet.data.limits import check_cells
from lossnet.data.table import MISSING, Table
from lossnet.errors import DataError, SettingError
from lossnet.plain_text import some
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.coding import Coding, choose

#: What the argument ``labels`` may be.
WHICH = "n for the first n, -n for the last n, or a list of names"
_BITS = frozenset((0.0, 1.0))


@dataclass(frozen=True)
class LabelColumns:
    """Which attributes are labels and which labels are parents of which."""

    index: list[int]
    names: list[str]
    parents: dict[int, list[int]] | None = None


def chosen(names: Sequence[str], labels: int | Sequence[str], where: str) -> list[int]:
    """The columns that ``labels`` (a number or names) picks, in the order of the file."""
    if isinstance(labels, bool | str):
        raise SettingError(f"labels={labels!r}: give a number or names ({WHICH})")
    if isinstance(labels, int):
        if labels == 0 or abs(labels) >= len(names):
            asked = f"{labels} label columns asked for among {len(names)} columns"
            raise DataError(f"{where}: {asked}; at least one must be a label and one a feature")
        return list(range(len(names)))[slice(labels) if labels > 0 else slice(labels, None)]
    wanted, known = set(labels), set(names)
    if missing := [name for name in labels if name not in known]:
        # Comparing two names takes time that is quadratic in their lengths.
        near = difflib.get_close_matches(missing[0][:80], [n for n in names if len(n) <= 80], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        found = f"{len(missing)} of {len(wanted)} label names not found"
        raise DataError(f"{where}: no column is called {missing[0]!r} ({found}){hint}")
    index = [j for j, name in enumerate(names) if name in wanted]
    if not index:
        raise DataError(f"{where}: no label columns; name at least one")
    if len(index) == len(names):
        raise DataError(f"{where}: every column is a label; at least one must be a feature")
    return index


def encode(
    tables: Sequence[Table],
    labels: LabelColumns,
    name: str,
    *,
    Y: Sequence[Any] | None = None,
    skip: Sequence[int] = (),
) -> list[MultiLabelData]:
    """One data set per table, with the same columns in all.

    A missing number, word of a yes/no kind or label is NaN; any other missing word has zeros in all
    its columns.

    Args:
        tables: the files of one data set, the training file first.
        labels: the label columns.
        name: what to call the data set.
        Y: the labels, where a reader has found them itself; None for a table without.
        skip: attributes that are neither features nor labels.
    """
    _check_same_attributes(tables)
    taken = {*labels.index, *skip}
    features = [j for j in range(len(tables[0].attributes)) if j not in taken]
    codings = {j: choose(tables, j, label=False) for j in features}
    blocks = [_block(table, codings) for table in tables]
    if any(hasattr(b, "tocsr") for b in blocks):
        blocks = [csr_matrix(b) for b in blocks]
    if Y is None:
        bits = {j: _label_coding(tables, j) for j in labels.index}
        Y = [_label_block(table, bits) for table in tables]
    names = [column for coding in codings.values() for column in coding.columns]
    columns = (names, labels.names, name, labels.parents)
    notes = [[*table.notes, *_notes(table, codings)] for table in tables]
    parts = zip(blocks, Y, notes, strict=True)
    return [MultiLabelData(block, y, *columns, noted) for block, y, noted in parts]


def _check_same_attributes(tables: Sequence[Table]) -> None:
    names = [a.name for a in tables[0].attributes]
    for other in tables[1:]:
        theirs = [a.name for a in other.attributes]
        if theirs != names:
            pairs = enumerate(zip_longest(names, theirs))
            at = next(i for i, (a, b) in pairs if a != b)
            where = f"{len(theirs)} and {len(names)}, different from number {at} on"
            raise DataError(f"{other.path} does not have the columns of {tables[0].path}: {where}")


def _notes(table: Table, codings: dict[int, Coding]) -> list[str]:
    """Which attributes were dropped, and which words are absent from training."""
    notes = [coding.note for coding in codings.values() if coding.note]
    for j, coding in codings.items():
        if coding.open:
            name = table.attributes[j].name
            if unseen := sorted({*table.column(j)} - {MISSING, *(coding.words or ())}):
                notes.append(f"{name!r} has words absent from training, left out: {some(unseen)}")
    return notes


def _label_coding(tables: Sequence[Table], j: int) -> Coding:
    coding, attribute = choose(tables, j, label=True), tables[0].attributes[j]
    if coding.one_hot or not (coding.allowed or _BITS) <= _BITS:
        label = f"{attribute.name!r} has the values {{{', '.join(attribute.values[:6])}}}"
        raise DataError(f"{tables[0].path}: label {label}; a label must be 0/1 or yes/no")
    return coding if coding.words else replace(coding, allowed=_BITS)


def _label_block(table: Table, codings: dict[int, Coding]) -> np.ndarray[Any, Any]:
    """Labels (n, L): NaN where missing."""
    check_cells(table.path, table.n_rows, len(codings), "labels")
    block = _block(table, codings)
    block = block.toarray() if hasattr(block, "toarray") else block
    return block


def _block(table: Table, codings: dict[int, Coding]) -> Any:
    """The numbers of some attributes, (n, columns), dense or CSR: NaN where missing."""
    used = {j: c for j, c in codings.items() if not c.note}
    places = np.cumsum([0, *(len(c.columns) for c in used.values())])
    shape = (table.n_rows, int(places[-1]))
    placed = zip(places[:-1], used.items(), strict=True)
    entries = ((place, *coding.entries(table, j)) for place, (j, coding) in placed)
    if table.rows is None:
        check_cells(table.path, *shape, "columns")
        out = np.zeros(shape)
        for place, rows, offset, values in entries:
            out[rows, place + offset] = values
        return out
    words = sum(not c.lists_all(table.default(j)) for j, c in used.items())
    check_cells(table.path, table.n_rows, words, "columns of words")
    parts = [(np.zeros(0, dtype=np.int64),) * 3]
    parts += [(rows, np.full(len(rows), at + k), values) for at, rows, k, values in entries]
    rows, columns, values = map(np.concatenate, zip(*parts, strict=True))
    block = csr_matrix((values, (rows, columns)), shape=shape)
    block.eliminate_zeros()
    return block
