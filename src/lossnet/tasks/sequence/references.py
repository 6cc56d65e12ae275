"""References with their fields marked, as Cora's and AnyStyle's XML has them.

``<data><ref><author> A. Cau. </author> <title> On hash. </title></ref> ...``: the root holds
references, a reference holds fields, a field holds text. Cora's tokenised files (``ref.train``)
are CoNLL files: :func:`lossnet.tasks.sequence.read_conll` reads them.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from lossnet.data.text import stem, utf8_text
from lossnet.data.xml import parse_xml
from lossnet.errors import DataError
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import Span, from_spans

_CLITIC = r"'(?:s|re|ve|ll|d|m)\b"
_TOKEN = re.compile(
    rf"""
    (?P<url>(?:https?://|www\.)\S*[^\s.,;:)\]])
  | \(\d+\)                                # a year or an issue: (1989)
  | (?<!\w)[A-ZÀ-ÖØ-Þ]\.                   # an initial
  | \b(?:No|Dept|Ltd|Inc|Co|Corp|Ph|Jr|St|Dr|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.
  | ``|''|\.{{2,}}|-{{2,}}
  | {_CLITIC}|'\d+\b
  | \w(?:[-–./+&]?\w|(?!{_CLITIC})'\w|,\d)*  # words, also W.-P, 127-136, rr-02-92, 1,000
  | \S
    """,
    re.VERBOSE,
)
_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LRB-", "]": "-RRB-", "{": "-LCB-", "}": "-RCB-"}


def tokenise_reference(text: str) -> list[str]:
    r"""The tokens of a reference, as Cora's tokenised files have them.

    Points are split off all but initials and a few abbreviations; brackets, double quotes and
    slashes are written as in the Penn Treebank. Of the 9,696 tokens of ``ref.train`` 99.6 % come
    out the same from the tagged text, but for ``&``, which is "and" there.

    >>> print(*tokenise_reference('M. Hsu, "Modula/R," Proc. ACM, 4(2), (1991a).'))
    M. Hsu , `` Modula\/R , '' Proc . ACM , 4 (2) , -LRB- 1991a -RRB- .
    """
    return [_escaped(match, text) for match in _TOKEN.finditer(text)]


def read_references(
    path: str | Path, *, scheme: str | None = None, text: str | None = None
) -> SequenceData:
    """Read references with marked fields; every token's tag is its field.

    Text behind a field, outside of all fields (a full stop, mostly), goes to that field.

    Args:
        path: the XML file, also packed (``.gz``).
        scheme: IOB1, IOB2 or BIOES, which keep apart two fields of one name that touch; plain
            names where None.
        text: the text of the file, where it has been read already.
    """
    root = parse_xml(utf8_text(path) if text is None else text, path)
    if not len(root):
        raise DataError(f"{path} holds no references; expected <data><ref><author>... inside")
    tokens, tags, outside = [], [], 0
    for number, reference in enumerate(root):
        fields = _fields(reference, f"{path}: reference {number} (counted from 0)")
        outside += sum(bool((field.tail or "").strip()) for field in reference)
        tokens.append([word for _, words in fields for word in words])
        tags.append(_tags(fields, scheme))
    notes = [f"{outside} pieces of text behind a field went to that field"] if outside else []
    return SequenceData(tokens, tags, name=stem(path), notes=notes)


def _escaped(match: re.Match[str], text: str) -> str:
    token = match[0]
    if match["url"]:
        return token
    if token == '"':
        before = text[max(match.start() - 1, 0) : match.start()]
        return "``" if not before or before in " \t\n([" else "''"
    return _ESCAPES.get(token, token.replace("/", "\\/"))


def _fields(reference: ElementTree.Element, place: str) -> list[tuple[str, list[str]]]:
    """The fields of a reference, in order, each with its tokens."""
    if (reference.text or "").strip():
        raise DataError(f"{place} has text before its first field: {reference.text!r}; mark it")
    fields = []
    for field in reference:
        if len(field):
            nested = f"<{field[0].tag[:40]}> stands inside <{field.tag[:40]}>"
            raise DataError(f"{place}: {nested}; fields hold text alone")
        if words := tokenise_reference(f"{field.text or ''} {field.tail or ''}"):
            fields.append((field.tag, words))
    if not fields:
        raise DataError(f"{place} has no text in fields; remove it or mark its fields")
    return fields


def _tags(fields: list[tuple[str, list[str]]], scheme: str | None) -> list[str]:
    if scheme is None:
        return [name for name, words in fields for _ in words]
    spans, start = [], 0
    for name, words in fields:
        spans.append(Span(name, start, start + len(words)))
        start += len(words)
    return from_spans(spans, start, scheme)
