"""Texts and their labels from JSONL, JSON, CSV and TSV files."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from lossnet.data.csv import read_cells
from lossnet.data.text import extension, utf8_text
from lossnet.errors import DataError, SettingError
from lossnet.plain_text import some

#: What columns are called, as in the data sets and the example scripts of transformers.
TEXTS: tuple[str, ...] = ("text", "sentence", "sentence1", "document")
LABELS: tuple[str, ...] = ("labels", "label")
KINDS = (".jsonl", ".json", ".csv", ".tsv")

Column = str | int | None
#: Whether labels must be there, may be absent, or are left out.
Wanted = Literal["needed", "optional", "none"]


@dataclass(frozen=True)
class TextFormat:
    """Where texts and labels are.

    Args:
        text_column: a name; the number, from 0, in a CSV or TSV file without a header; None for
            the first of ``text``, ``sentence``, ``sentence1`` and ``document``.
        label_column: the same; None for ``labels`` or ``label``.
        delimiter: what stands between the labels of one cell; None for the comma in CSV and TSV
            files, and for one label in a string of JSON.
    """

    text_column: Column = None
    label_column: Column = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter == "":
            raise SettingError("the delimiter of labels must not be empty")
        kinds = {type(c) for c in (self.text_column, self.label_column) if c is not None}
        if len(kinds) > 1:
            both = f"{self.text_column!r} and {self.label_column!r}"
            raise SettingError(f"columns must both be names or both be numbers, got {both}")

    @property
    def by_number(self) -> bool:
        """Whether columns are given by their numbers."""
        return any(isinstance(c, int) for c in (self.text_column, self.label_column))


@dataclass(frozen=True)
class Records:
    """The rows of one file.

    Args:
        path: the file.
        texts: one for each row.
        labels: what stands for the labels of each, None where there is no such column.
        lines: where each row is, for errors.
        delimiter: of labels in one string; None where a string is one label.
    """

    path: Path
    texts: list[str]
    labels: list[Any] | None
    lines: list[str]
    delimiter: str | None

    @cached_property
    def label_lists(self) -> list[list[str]]:
        """The labels of each row."""
        return [self._list(*row) for row in zip(self.labels or [], self.lines, strict=True)]

    def _list(self, value: Any, line: str) -> list[str]:
        if isinstance(value, str):
            value = _split(value, self.delimiter)
        elif type(value) is int:
            value = [value]
        if not isinstance(value, list):
            what = "missing" if value is None else reprlib.repr(value)
            raise DataError(f"{self.path}, {line}: the labels are {what}; expected strings")
        for label in value:
            if type(label) not in (str, int) or label == "":
                wrong = f"{reprlib.repr(label)} is no label"
                raise DataError(f"{self.path}, {line}: {wrong}; expected a string")
        return [str(label) for label in value]


def _split(cell: str, delimiter: str | None) -> list[str]:
    """The labels of one cell: between delimiters, or a list as JSON or Python writes it."""
    if delimiter is None:
        return [cell] if cell.strip() else []
    cell = cell.strip()
    if cell.startswith("[") and cell.endswith("]"):
        quoted = [a or b for a, b in re.findall(r"'([^']*)'|\"([^\"]*)\"", cell)]
        return quoted or [p.strip() for p in cell[1:-1].split(",") if p.strip()]
    return [piece.strip() for piece in cell.split(delimiter) if piece.strip()]


def read_records(path: Path, form: TextFormat, wanted: Wanted, names: Sequence[str]) -> Records:
    """The rows of a file; labels as they are ``wanted``.

    ``names`` are those that a file of labels next to it lists: a TSV file whose second column
    holds their numbers needs no header.
    """
    kind = extension(path)
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise DataError(f"{path}: unknown kind of file; known: {known}, each also with .gz")
    text = utf8_text(path)
    lines = text.removesuffix("\n").split("\n")
    if kind == ".jsonl":
        found = records_of_lines(path, lines, form, wanted)
    elif kind == ".json":
        found = _of_objects(path, *_json_list(path, text), form, wanted)
    else:
        rows, numbers = _tabs(path, lines) if kind == ".tsv" else read_cells(path, lines)
        found = _of_cells(path, rows, numbers, form, wanted, names)
    for value, line in zip(found.texts, found.lines, strict=True):
        if found.labels is not None and not value.strip():
            raise DataError(f"{path}, {line}: the text is empty; leave the row out")
    return found


# JSON ----------------------------------------------------------------------------------------


def json_of(text: str, where: str) -> Any:
    """JSON, or an error that says where it is not valid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not valid JSON ({error})") from error


def is_record(line: str, form: TextFormat) -> bool:
    """Whether a line is a JSON object with a text."""
    try:
        found = json_of(line, "the line")
    except DataError:
        return False
    names = TEXTS if form.text_column is None else [form.text_column]
    return isinstance(found, dict) and any(name in found for name in names)


def records_of_lines(path: Path, lines: Sequence[str], form: TextFormat, wanted: Wanted) -> Records:
    """The rows of JSON lines; empty lines are left out."""
    kept = [(f"line {k}", line) for k, line in enumerate(lines, 1) if line.strip()]
    objects = [json_of(line, f"{path}, {place}") for place, line in kept]
    return _of_objects(path, objects, [place for place, _ in kept], form, wanted)


def _json_list(path: Path, text: str) -> tuple[list[Any], list[str]]:
    found = json_of(text, str(path))
    if not isinstance(found, list) or not found:
        raise DataError(f"{path} must hold a list of objects, each with a text and its labels")
    return found, [f"row {k} (counted from 0)" for k in range(len(found))]


def _of_objects(
    path: Path, objects: list[Any], places: list[str], form: TextFormat, wanted: Wanted
) -> Records:
    if form.by_number:
        raise SettingError(f"{path} has names for its columns; give names, not numbers")
    for found, place in zip(objects, places, strict=True):
        if not isinstance(found, dict):
            what = reprlib.repr(found)
            raise DataError(f"{path}, {place}: expected an object with a text, got {what}")
    text, label = _columns(path, list(objects[0]), form, wanted)
    texts = []
    for found, place in zip(objects, places, strict=True):
        if not isinstance(value := found.get(text), str):
            what = "missing" if value is None else reprlib.repr(value)
            raise DataError(f"{path}, {place}: the text ({text!r}) is {what}; expected a string")
        texts.append(value)
    labels = None if label is None else [found.get(label) for found in objects]
    return Records(path, texts, labels, places, form.delimiter)


def _columns(
    path: Path, have: list[str], form: TextFormat, wanted: Wanted
) -> tuple[str, str | None]:
    """The names of the columns of texts and of labels, the latter None where there is none."""

    def find(given: Column, usual: Sequence[str]) -> str | None:
        names = usual if given is None else [str(given)]
        return next((name for name in names if name in have), None)

    text, label = find(form.text_column, TEXTS), find(form.label_column, LABELS)
    need = [("text", form.text_column, TEXTS, text)]
    need += [("label", form.label_column, LABELS, label)] if wanted == "needed" else []
    for what, given, usual, found in need:
        if found is None:
            which = f"named {given!r}" if given else f"of {what}s ({', '.join(usual)})"
            remedy = f"its columns are {some(have, most=8)}; name one with --{what}-column"
            raise DataError(f"{path} has no column {which}: {remedy}")
    assert text is not None
    return text, None if wanted == "none" else label


# CSV and TSV ---------------------------------------------------------------------------------


def _tabs(path: Path, lines: Sequence[str]) -> tuple[list[list[str]], list[int]]:
    """The cells of each line that is not empty, and its number.

    Quotes are part of a text, but for a cell in quotes that has only doubled ones inside.
    """
    rows = [(k, line.split("\t")) for k, line in enumerate(lines, 1) if line.strip()]
    for k, row in rows:
        if len(row) != len(rows[0][1]):
            counts = f"{len(row)} cells for {len(rows[0][1])} columns"
            raise DataError(f"{path}, line {k}: {counts}; a text must hold no tab and no new line")
    return [[_unquoted(cell) for cell in row] for _, row in rows], [k for k, _ in rows]


def _unquoted(cell: str) -> str:
    inside = cell[1:-1]
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"' or '"' in inside.replace('""', ""):
        return cell
    return inside.replace('""', '"')


def _of_cells(
    path: Path,
    rows: list[list[str]],
    numbers: list[int],
    form: TextFormat,
    wanted: Wanted,
    names: Sequence[str],
) -> Records:
    text, label, first = _places(path, rows, form, wanted, names)
    rows, lines = rows[first:], [f"line {number}" for number in numbers[first:]]
    if not rows:
        raise DataError(f"{path} holds a header and no rows")
    labels = None if label is None else [row[label] for row in rows]
    return Records(path, [row[text] for row in rows], labels, lines, form.delimiter or ",")


def _places(
    path: Path, rows: list[list[str]], form: TextFormat, wanted: Wanted, names: Sequence[str]
) -> tuple[int, int | None, int]:
    """The columns of texts and of labels, and the number of lines of the header."""
    width = len(rows[0])
    header = [cell.strip() for cell in rows[0]]
    if not form.by_number and form == TextFormat(delimiter=form.delimiter) and names:
        usual = any(name in header for name in TEXTS)
        if not usual and width > 1 and all(_numbered(row[1], len(names)) for row in rows):
            form = TextFormat(0, 1, form.delimiter)
    if not form.by_number:
        text, label = _columns(path, header, form, wanted)
        return header.index(text), None if label is None else header.index(label), 1
    places = [c for c in (form.text_column or 0, form.label_column) if isinstance(c, int)]
    if wrong := [place for place in places if not 0 <= place < width]:
        raise SettingError(f"{path} has no column {wrong[0]}: it has {width}, counted from 0")
    if wanted == "needed" and len(places) < 2:
        raise SettingError(f"which column of {path} holds the labels? give --label-column too")
    return places[0], places[1] if len(places) > 1 and wanted != "none" else None, 0


def _numbered(cell: str, count: int) -> bool:
    """Whether a cell holds numbers of labels, of which there are so many."""
    pieces = filter(None, cell.split(","))
    return all(p.isascii() and p.isdigit() and int(p[:9]) < count for p in pieces)
