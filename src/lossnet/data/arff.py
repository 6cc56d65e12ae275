"""ARFF files, dense and sparse: the text of the header and of the rows.

https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/ describes the format;
the kind ``hierarchical`` is Clus's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.table import Attribute, Table
from lossnet.data.text import read_lines
from lossnet.errors import DataError

# Possessive (*+, ++), so that no line takes more than linear time.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_NAME = re.compile(rf"({_QUOTED}|[^\s{{'\"][^\s{{]*+)\s*+")
_VALUE = re.compile(rf"\s*+((?:{_QUOTED})(?=\s*+(?:,|\Z))|[^,]*+)\s*+(,|\Z)")
_PAIR = re.compile(rf"\s*+(\d++)\s++({_QUOTED}|[^\s,]++)\s*+(,|\Z)")
_UNCOMMENTED = re.compile(rf"(?:{_QUOTED}|[^'\"\s]++|\s++(?!%))*+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = ("numeric", "real", "integer")
_OTHER = ("string", "date", "relational", "hierarchical")

_Rows = list[tuple[int, str]]
_Array = np.ndarray[Any, Any]


def read_table(path: str | Path) -> Table:
    """Read an ARFF file; a damaged one is a :class:`DataError` with file and line."""
    path = Path(path)
    lines, notes = read_lines(path)
    relation, attributes, start = _header(path, lines)
    attributes = _unique_names(attributes, notes)
    numbered = enumerate(map(str.strip, lines[start:]), start + 1)
    rows = [(number, text) for number, text in numbered if text and text[0] != "%"]
    if not rows:
        raise DataError(f"{path}: no rows after @data; is the file cut short?")
    read = _sparse if rows[0][1].startswith("{") else _dense
    columns, places = read(path, rows, len(attributes))
    return Table(path, attributes, [n for n, _ in rows], columns, places, relation, notes)


def _header(path: Path, lines: Sequence[str]) -> tuple[str, list[Attribute], int]:
    """Relation name, attributes, and the index of the line after ``@data``."""
    relation, attributes = "", []
    for index, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        where = f"{path}, line {index + 1}"
        keyword, _, rest = text.replace("\t", " ", 1).partition(" ")
        keyword = keyword.lower()
        if keyword == "@relation":
            relation = _unquote(_strip_comment(rest), where)
        elif keyword == "@attribute":
            attributes.append(_attribute(rest.strip(), where))
        elif keyword == "@data":
            if not attributes:
                raise DataError(f"{where}: @data before any @attribute")
            return relation, attributes, index + 1
        else:
            expected = "expected @relation, @attribute, @data or a comment (%)"
            raise DataError(f"{where}: {expected}, got {text[:40]!r}; is this an ARFF file?")
    raise DataError(f"{path}, line {len(lines)}: the file ends without @data; is it cut short?")


def _unique_names(attributes: list[Attribute], notes: list[str]) -> list[Attribute]:
    """Number the attributes that share a name: ``a``, ``a#2``, ``a#3``."""
    taken: Counter[str] = Counter()
    unique = list(attributes)
    for k, attribute in enumerate(attributes):
        taken[attribute.name] += 1
        if taken[attribute.name] > 1:
            name = f"{attribute.name}#{taken[attribute.name]}"
            notes.append(f"attribute {attribute.name!r} is declared again: called {name!r}")
            unique[k] = replace(attribute, name=name)
    return unique


def _attribute(text: str, where: str) -> Attribute:
    match = _NAME.match(text)
    if match is None:
        problem = "a quoted name does not end" if text[:1] in ("'", '"') else "no attribute name"
        raise DataError(f"{where}: {problem} in {text[:40]!r}")
    name, rest = _unquote(match.group(1), where), text[match.end() :]
    if rest.startswith("{"):
        rest = _strip_comment(rest)
        if not rest.endswith("}"):
            raise DataError(f"{where}: the values of {name!r} have no closing brace")
        values = _values(rest[1:-1], where) if rest[1:-1].strip() else []
        return Attribute(name, "nominal", tuple(v for v in values if v))
    kind, _, more = rest.replace("\t", " ", 1).partition(" ")
    kind = kind.lower()
    if kind in _NUMERIC:
        return Attribute(name, "numeric")
    if kind in _OTHER:
        values = [v.strip() for v in more.split(",")]
        return Attribute(name, kind, tuple(v for v in values if v and kind == "hierarchical"))
    expected = "numeric, real, integer, string, date, hierarchical or {value, ...}"
    unknown = f"attribute {name!r} has the unknown type {kind[:40]!r}"
    raise DataError(f"{where}: {unknown}; expected {expected}")


def _dense(path: Path, rows: _Rows, width: int) -> tuple[list[tuple[str, ...]], None]:
    table = []
    for number, text in rows:
        values = _values(_strip_comment(text), f"{path}, line {number}")
        if len(values) == 1 < width:
            values = text.split()
        if len(values) != width:
            raise DataError(_miscount(f"{path}, line {number}", text, len(values), width))
        table.append(values)
    return list(zip(*table, strict=True)), None


def _miscount(where: str, text: str, got: int, width: int) -> str:
    if text.startswith("{"):
        return f"{where}: a sparse row among dense ones"
    if text.endswith("}"):
        return f"{where}: instance weights ({{...}} after the values) are not supported"
    few = "; is the file cut short?" if got < width else "; quote values that hold commas"
    return f"{where}: {got} values for {width} attributes{few}"


def _sparse(path: Path, rows: _Rows, width: int) -> tuple[list[list[str]], list[_Array]]:
    """The strings listed for each attribute, and the rows in which they are."""
    pairs = [_pairs(text, f"{path}, line {number}") for number, text in rows]
    columns = list(chain.from_iterable(left for left, _ in pairs))
    values = list(chain.from_iterable(right for _, right in pairs))
    counts = [len(left) for left, _ in pairs]
    owner = np.repeat(np.arange(len(rows)), counts)

    def error(k: Any, problem: str) -> DataError:
        return DataError(f"{path}, line {rows[owner[k]][0]}: {problem}")

    try:
        index = np.fromiter(map(int, columns), np.int64, len(columns))
    except (ValueError, OverflowError):
        bad = next(k for k, c in enumerate(columns) if not c.isdecimal() or len(c) > 18)
        raise error(bad, f"{columns[bad]!r} is not an attribute's number") from None
    for k in np.flatnonzero((index < 0) | (index >= width)):
        rule = f"but there are {width} attributes, counted from 0"
        raise error(k, f"attribute number {index[k]}, {rule}")
    order = np.argsort(index, kind="stable")
    owner, index = owner[order], index[order]
    for k in np.flatnonzero((np.diff(index) == 0) & (np.diff(owner) == 0)):
        raise error(k, f"attribute number {index[k]} is given twice")
    listed = np.array(values, dtype=object)[order].tolist()
    ends = np.searchsorted(index, np.arange(width + 1)).tolist()
    spans = [slice(*span) for span in pairwise(ends)]
    return [listed[span] for span in spans], [owner[span] for span in spans]


def _pairs(text: str, where: str) -> tuple[list[str], list[str]]:
    """The attribute numbers of a sparse row, and their values."""
    if "%" in text:
        text = _strip_comment(text)
    if text[0] != "{":
        raise DataError(f"{where}: a dense row among sparse ones")
    if text[-1] != "}":
        raise DataError(f"{where}: no closing brace; is the file cut short?")
    body = text[1:-1].strip()
    words = body.replace(",", " ").split()
    special = "'" in body or '"' in body or "_" in body  # int() takes underscores
    # Each pair is two words and all but the last end in a comma.
    if not special and len(words) == 2 * body.count(",") + 2 * bool(body):
        return words[0::2], words[1::2]
    found = list(_scan(_PAIR, body.removesuffix(","), where, "'number value'")) if body else []
    return [m[1] for m in found], [_unquote(m[2], where) for m in found]


def _values(text: str, where: str) -> list[str]:
    """The values between commas, unquoted."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    found = _scan(_VALUE, text, where, "a quoted value and a comma")
    return [_unquote(m[1].rstrip(), where) for m in found]


def _scan(pattern: re.Pattern[str], text: str, where: str, what: str) -> Iterator[re.Match[str]]:
    """Matches one after another, each with the comma that follows it, up to the text's end."""
    position, more = 0, True
    while more:
        match = pattern.match(text, position)
        if match is None:
            raise DataError(f"{where}: expected {what} in {text[position : position + 40]!r}")
        yield match
        position, more = match.end(), bool(match[match.re.groups])


def _unquote(text: str, where: str) -> str:
    if not text or text[0] not in "'\"":
        return text
    if len(text) < 2 or text[-1] != text[0]:
        raise DataError(f"{where}: a quote does not end in {text[:40]!r}")
    if "\\" not in text:
        return text[1:-1]
    plain = _ESCAPED.sub(_unescape, text[1:-1])
    if _SURROGATE.search(plain):
        raise DataError(f"{where}: {text!r} escapes half a character; write the character itself")
    return plain


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else _LETTERS.get(code, code)


def _strip_comment(text: str) -> str:
    match = _UNCOMMENTED.match(text) if "%" in text else None
    # A match may also end at a quote that is left open.
    if match and text[match.end() : match.end() + 1].isspace():
        text = text[: match.end()]
    return text.strip()
