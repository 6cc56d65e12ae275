"""The numbers of a sparse table, without making it dense."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from lossnet.data.limits import check_cells
from lossnet.data.table import Table
from lossnet.tasks.multilabel.formats.coding import Coding, Number, OneHot, Words
from lossnet.tasks.multilabel.formats.values import (
    columns_of,
    not_allowed,
    numbers,
    parse_numbers,
    word_codes,
)


def sparse_block(table: Table, codings: dict[int, Coding]) -> Any:
    """The numbers of some attributes of a sparse table, a CSR matrix with NaN where missing."""
    from scipy.sparse import coo_matrix

    place = np.full(len(table.attributes), -1)
    width = 0
    for j, coding in codings.items():
        place[j] = width
        width += columns_of(coding)
    plain = [j for j, c in codings.items() if isinstance(c, Number) and not _offset(table, j)]
    rows, columns, values = _plain(table, codings, plain)
    parts = [(rows, place[columns], values)]
    done = set(plain)
    check_cells(table.path, table.n_rows, len(codings) - len(plain), "columns of words")
    for j, coding in codings.items():
        if j not in done:
            parts += _whole_column(table, j, coding, int(place[j]))
    joined = [np.concatenate([p[k] for p in parts]) for k in range(3)]
    block = coo_matrix((joined[2], (joined[0], joined[1])), shape=(table.n_rows, width)).tocsr()
    block.eliminate_zeros()
    return block


def _offset(table: Table, j: int) -> bool:
    """Whether an unlisted value is something other than zero."""
    return float(table.default(j)) != 0


def _plain(
    table: Table, codings: dict[int, Coding], wanted: list[int]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The listed entries of the attributes whose unlisted values are zero."""
    assert table.entries is not None
    chosen = np.zeros(len(table.attributes), dtype=bool)
    chosen[wanted] = True
    keep = np.flatnonzero(chosen[table.entries.columns])
    rows, columns = table.entries.rows[keep], table.entries.columns[keep]
    strings = table.entries.values
    texts = strings if len(keep) == len(strings) else [strings[k] for k in keep]
    known = list(dict.fromkeys(texts))
    parsed = [parse_numbers([t]) for t in known]
    number = {t: p[0] if p is not None else None for t, p in zip(known, parsed, strict=True)}
    if any(p is None for p in parsed):
        at = next(k for k, t in enumerate(texts) if number[t] is None)
        name = table.attributes[columns[at]].name
        raise table.error(int(rows[at]), f"{name!r} is {texts[at]!r}, not a number")
    values = np.array([number[t] for t in texts], dtype=np.float64)
    groups: dict[frozenset[float] | None, list[int]] = defaultdict(list)
    for j in wanted:
        coding = codings[j]
        assert isinstance(coding, Number)
        groups[coding.allowed].append(j)
    for allowed, members in groups.items():
        if allowed is None:
            continue
        inside = np.zeros(len(table.attributes), dtype=bool)
        inside[members] = True
        bad = inside[columns] & ~np.isin(values, list(allowed)) & ~np.isnan(values)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            j = int(columns[at])
            raise table.error(int(rows[at]), not_allowed(table, j, texts[at], Number(allowed)))
    return rows, columns, values


def _whole_column(table: Table, j: int, coding: Coding, place: int) -> list[Any]:
    """An attribute whose unlisted values may be non-zero, taken row by row."""
    rows = np.arange(table.n_rows)
    if isinstance(coding, OneHot):
        code = word_codes(table, j, coding.values)
        known = np.flatnonzero(code >= 0)
        return [(known, place + code[known], np.ones(len(known)))]
    if isinstance(coding, Words):
        code = word_codes(table, j, tuple(coding.values))
        values = np.array([*coding.values.values(), np.nan])[code]
        return [(rows, np.full(table.n_rows, place), values)]
    if isinstance(coding, Number):
        values = numbers(table, j, coding)
        return [(rows, np.full(table.n_rows, place), values)]
    return []
