"""Multi-label svmlight (libsvm) files: ``1,3 5:0.2 7:1`` on each line.

The labels come first, between commas, then ``feature:value`` pairs; a row may have no label, and
then begins with a space or with its first pair. ``#`` begins a comment. The first line may be
``rows features labels``, as in the extreme classification repository: features and labels are
then counted from 0.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.limits import check_cells, parse_int
from lossnet.data.table import is_number
from lossnet.data.text import read_lines, stem
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import Labels


@dataclass
class _Rows:
    """One file's rows: their lines, label ids and numbers of pairs, and the pairs of all rows."""

    path: Path
    notes: list[str]
    header: list[int]
    lines: list[int] = field(default_factory=list)
    labels: list[list[int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def read(paths: Sequence[str | Path], labels: Labels, name: str) -> list[MultiLabelData]:
    """Read the svmlight files of one data set, so that their columns agree.

    Without a header line, features are counted from 1 unless a 0 appears in some file, and the
    labels are the ids that appear, in ascending order, each called by its id.

    Args:
        paths: one file or more.
        labels: how many labels there are (ids from 0, or from 1 where id 0 never appears but
            the last one does), or their names in the order of the ids.
        name: what to call the data set.
    """
    files = [_read(Path(path)) for path in paths]
    sizes = {tuple(f.header[1:]) for f in files}
    if len(sizes) > 1:
        raise DataError(f"{paths[0]} and files read with it differ in their header lines: {sizes}")
    ids, label_names = _ids(files, labels)
    matrices, names = _features(files)
    columns, pairs = (names, label_names, name, None), zip(files, matrices, strict=True)
    return [MultiLabelData(X, _indicators(f, ids), *columns, f.notes) for f, X in pairs]


def read_unlabelled(path: str | Path) -> MultiLabelData:
    """Read one svmlight file for prediction: its labels, if any, are left out."""
    rows = _read(Path(path))
    (X,), names = _features([rows])
    return MultiLabelData(X, feature_names=names, name=stem(path), notes=rows.notes)


def _read(path: Path) -> _Rows:
    lines, notes = read_lines(path)
    rows = _Rows(path, notes, _header(path, lines[0]))
    for number, line in enumerate(lines[bool(rows.header) :], 1 + bool(rows.header)):
        text = line.partition("#")[0]
        # With a header, an empty line is a row without labels and features.
        if text.strip() or (rows.header and "#" not in line):
            _add(rows, number, text)
    if rows.header and rows.header[0] != len(rows.lines):
        counts = f"announces {rows.header[0]} rows, the file holds {len(rows.lines)}"
        raise DataError(f"{path}: the header {counts}; is it cut short?")
    if not rows.lines:
        raise DataError(f"{path} holds no rows")
    return rows


def _header(path: Path, line: str) -> list[int]:
    pieces = line.split()
    if len(pieces) != 3 or not all(map(str.isdecimal, pieces)):
        return []
    try:
        return list(map(parse_int, pieces))
    except ValueError as error:
        raise DataError(f"{path}, line 1: {error}") from None


def _add(rows: _Rows, number: int, text: str) -> None:
    where = f"{rows.path}, line {number}"
    tokens = text.split()
    ids: list[int] = []
    if tokens and not text[0].isspace() and ":" not in tokens[0]:
        listed = tokens.pop(0)
        try:
            ids = list(map(parse_int, listed.split(",")))
        except ValueError:
            raise DataError(f"{where}: {listed!r} is not a list of label numbers (1,3)") from None
    if tokens and tokens[0].startswith("qid:"):
        tokens.pop(0)
    try:
        pairs = [t.split(":") for t in tokens]
        features = [int(k) for k, _ in pairs]
        values = [float(v) for _, v in pairs]
        # int() and float() take 1_0, and float() takes nan.
        if any("_" in t for t in tokens) or not all(v - v == 0 for v in values):
            raise ValueError
    except ValueError:
        bad = next(t for t in tokens if not _is_pair(t))
        rule = "feature:value, an integer and a finite number"
        raise DataError(f"{where}: {bad!r} is not {rule}") from None
    if features and min(features) < 0:
        raise DataError(f"{where}: feature number {min(features)} is negative")
    if len(set(features)) < len(features):
        raise DataError(f"{where}: a feature is given twice")
    rows.lines.append(number)
    rows.labels.append(ids)
    rows.counts.append(len(features))
    rows.features += features
    rows.values += values


def _is_pair(token: str) -> bool:
    left, _, right = token.partition(":")
    # int() takes at most 4300 digits.
    return re.fullmatch(r"[+-]?\d{1,4300}", left) is not None and is_number(right)


def _ids(files: list[_Rows], labels: Labels) -> tuple[Sequence[int], list[str]]:
    """The label ids in the order of Y's columns, and their names."""
    if isinstance(labels, bool | str):
        raise SettingError(f"labels={labels!r}: give the number of labels or a list of names")
    path, header = files[0].path, files[0].header
    seen = sorted({i for f in files for row in f.labels for i in row})
    ids: Sequence[int] = range(header[2]) if header else seen
    if labels is not None:
        count = labels if isinstance(labels, int) else len(labels)
        if header and count != header[2]:
            both = f"{header[2]} labels, labels= gives {count}"
            raise DataError(f"{path}: the header announces {both}")
        first = int(not header and (*seen[:1], *seen[-1:]) == (1, count))
        ids = range(first, first + count)
    check_cells(path, max(len(f.lines) for f in files), len(ids), "labels")
    if not ids:
        raise DataError(f"{path}: no row has a label; pass labels= (how many or names)")
    return ids, [str(n) for n in (labels if isinstance(labels, Sequence) else ids)]


def _indicators(rows: _Rows, ids: Sequence[int]) -> np.ndarray[Any, Any]:
    place = {i: k for k, i in enumerate(ids)}
    Y = np.zeros((len(rows.labels), len(ids)), dtype=np.uint8)
    for line, on, row in zip(rows.lines, rows.labels, Y, strict=True):
        try:
            row[[place[i] for i in on]] = 1
        except KeyError as error:
            rule = f"label {error}, but the labels are {ids[0]} to {ids[-1]}"
            raise DataError(f"{rows.path}, line {line}: {rule}") from None
    return Y


def _features(files: list[_Rows]) -> tuple[list[Any], list[str]]:
    """X of each file, a CSR matrix, and the features' names."""
    from scipy.sparse import csr_matrix

    header = files[0].header
    first = int(not header and all(0 not in f.features for f in files))
    largest = max(max(f.features, default=0) for f in files)
    width = header[1] if header else largest + 1 - first
    check_cells(files[0].path, 1, width, "features")
    matrices = []
    for rows in files:
        ends = [0, *accumulate(rows.counts)]
        largest = max(rows.features, default=-1)
        if largest - first >= width:
            line = rows.lines[bisect(ends, rows.features.index(largest)) - 1]
            rule = f"but the header announces {width} features, counted from 0"
            raise DataError(f"{rows.path}, line {line}: feature {largest}, {rule}")
        with np.errstate(over="ignore"):
            values = np.array(rows.values, dtype=np.float32)
        columns = np.array(rows.features, dtype=np.int64) - first
        X = csr_matrix((values, columns, ends), shape=(len(rows.lines), width))
        X.sort_indices()
        matrices.append(X)
    return matrices, [f"x{k + first}" for k in range(width)]
