"""Multi-label svmlight (libsvm) files: ``1,3 5:0.2 7:1`` a row.

The labels come first, between commas, then ``feature:value`` pairs; a row may have no label, and
then begins with a space or with its first pair. ``#`` begins a comment. The first line may be
``rows features labels``, as in the extreme classification repository: features and labels are
then counted from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.limits import check_cells, parse_int
from lossnet.data.text import read_lines, stem
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import Labels


@dataclass
class _Rows:
    """One file's rows: label ids a row, and the pairs of all rows."""

    path: Path
    header: tuple[int, int, int] | None = None
    numbers: list[int] = field(default_factory=list)
    labels: list[list[int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_svmlight(
    paths: Sequence[str | Path], *, labels: Labels = None, name: str | None = None
) -> list[MultiLabelData]:
    """Read the svmlight files of one data set, so that their columns agree.

    Without a header line, features are counted from 1 unless a 0 appears in some file, and the
    labels are the ids that appear, in ascending order, each called by its id.

    Args:
        paths: one file or more.
        labels: how many labels there are (ids from 0, or from 1 where id 0 never appears but
            the last one does), or their names in the order of the ids.
        name: what to call the data set; the first file's name where None.
    """
    files = [_read(Path(path)) for path in paths]
    headers = {f.header[1:] if f.header else None for f in files}
    if len(headers) > 1:
        raise DataError(
            f"{files[0].path} and the files beside it differ in their header lines: {headers}"
        )
    header = headers.pop()
    every = [max(f.features, default=0) for f in files]
    first = 0 if header or any(0 in f.features for f in files) else 1
    width = header[0] if header else max(every) + 1 - first
    ids, names = _ids(files, labels, header[1] if header else None)
    feature_names = _feature_names(files[0].path, width, first)
    title = name or stem(files[0].path)
    return [
        MultiLabelData(
            _features(f, width, first),
            _indicators(f, ids),
            feature_names,
            names,
            title,
            None,
            f.notes,
        )
        for f in files
    ]


def read_unlabelled(path: str | Path) -> MultiLabelData:
    """Read one svmlight file for prediction: its labels, if any, are left out."""
    rows = _read(Path(path))
    first = 0 if rows.header or 0 in rows.features else 1
    width = rows.header[1] if rows.header else max(rows.features, default=0) + 1 - first
    names = _feature_names(rows.path, width, first)
    nothing = np.zeros((len(rows.numbers), 0), dtype=np.uint8)
    X = _features(rows, width, first)
    return MultiLabelData(X, nothing, names, [], stem(path), None, rows.notes)


def _feature_names(path: Path, width: int, first: int) -> list[str]:
    check_cells(path, 1, width, "features")
    return [f"x{k + first}" for k in range(width)]


def _read(path: Path) -> _Rows:
    lines, notes = read_lines(path)
    rows = _Rows(path, _header(path, lines[0]), notes=notes)
    for number, line in enumerate(lines, 1):
        if number == 1 and rows.header:
            continue
        text = line.split("#", 1)[0] if "#" in line else line
        # With a header, an empty line is a row without labels and features.
        if text.strip() or (rows.header and "#" not in line):
            _row(rows, number, text)
    if rows.header and rows.header[0] != len(rows.numbers):
        raise DataError(
            f"{path}: the header announces {rows.header[0]} rows, the file holds "
            f"{len(rows.numbers)}; is it cut short?"
        )
    if not rows.numbers:
        raise DataError(f"{path} holds no rows")
    return rows


def _header(path: Path, line: str) -> tuple[int, int, int] | None:
    pieces = line.split()
    if len(pieces) == 3 and all(p.isdecimal() for p in pieces):
        try:
            return parse_int(pieces[0]), parse_int(pieces[1]), parse_int(pieces[2])
        except ValueError as error:
            raise DataError(f"{path}, line 1: {error}") from None
    return None


def _row(rows: _Rows, number: int, text: str) -> None:
    where = f"{rows.path}, line {number}"
    tokens = text.split()
    ids: list[int] = []
    if tokens and not text[0].isspace() and ":" not in tokens[0]:
        try:
            ids = [int(t) for t in tokens.pop(0).split(",")]
        except ValueError:
            raise DataError(
                f"{where}: {text.split()[0]!r} is not a list of label numbers (1,3)"
            ) from None
    if tokens and tokens[0].startswith("qid:"):
        tokens.pop(0)
    try:
        pairs = [t.split(":") for t in tokens]
        features = [int(k) for k, _ in pairs]
        values = [float(v) for _, v in pairs]
    except ValueError:
        bad = next(t for t in tokens if not _is_pair(t))
        raise DataError(f"{where}: {bad!r} is not feature:value, an integer and a number") from None
    if features and min(features) < 0:
        raise DataError(f"{where}: feature number {min(features)} is negative")
    if len(set(features)) < len(features):
        raise DataError(f"{where}: a feature is given twice")
    if not all(v - v == 0 for v in values):
        raise DataError(f"{where}: a value is not finite")
    rows.numbers.append(number)
    rows.labels.append(ids)
    rows.counts.append(len(features))
    rows.features += features
    rows.values += values


def _is_pair(token: str) -> bool:
    left, colon, right = token.partition(":")
    try:
        int(left), float(right)
    except ValueError:
        return False
    return bool(colon)


def _ids(files: list[_Rows], labels: Labels, count: int | None) -> tuple[list[int], list[str]]:
    """The label ids in the order of Y's columns, and their names."""
    if isinstance(labels, bool | str):
        raise SettingError(f"labels={labels!r}: give the number of labels or a list of names")
    rows = max(len(f.labels) for f in files)
    seen = sorted({i for f in files for row in f.labels for i in row})
    names = None if labels is None or isinstance(labels, int) else [str(n) for n in labels]
    if labels is not None:
        asked = labels if isinstance(labels, int) else len(labels)
        if count is not None and asked != count:
            raise DataError(
                f"{files[0].path}: the header announces {count} labels, labels= gives {asked}"
            )
        check_cells(files[0].path, rows, asked, "labels")
        first = 1 if count is None and seen and seen[0] == 1 and seen[-1] == asked else 0
        ids = list(range(first, first + asked))
    else:
        check_cells(files[0].path, rows, len(seen) if count is None else count, "labels")
        ids = list(range(count)) if count is not None else seen
    if not ids:
        raise DataError(f"{files[0].path}: no row has a label; pass labels= (how many or names)")
    return ids, names or [str(i) for i in ids]


def _indicators(rows: _Rows, ids: list[int]) -> np.ndarray[Any, Any]:
    place = {i: k for k, i in enumerate(ids)}
    Y = np.zeros((len(rows.labels), len(ids)), dtype=np.uint8)
    for r, row in enumerate(rows.labels):
        for i in row:
            if i not in place:
                raise DataError(
                    f"{rows.path}, line {rows.numbers[r]}: label {i}, but the labels are "
                    f"{ids[0]} to {ids[-1]}"
                )
            Y[r, place[i]] = 1
    return Y


def _features(rows: _Rows, width: int, first: int) -> Any:
    from scipy.sparse import csr_matrix

    largest = max(rows.features, default=0)
    if rows.features and largest - first >= width:
        at = rows.features.index(largest)
        row = int(np.searchsorted(np.cumsum(rows.counts), at, side="right"))
        raise DataError(
            f"{rows.path}, line {rows.numbers[row]}: feature {largest}, but the header "
            f"announces {width} features, counted from 0"
        )
    columns = np.array(rows.features, dtype=np.int64) - first
    ends = np.concatenate([[0], np.cumsum(rows.counts)])
    with np.errstate(over="ignore"):
        values = np.array(rows.values, dtype=np.float32)
    X = csr_matrix((values, columns, ends), shape=(len(rows.counts), width))
    X.sort_indices()
    return X
