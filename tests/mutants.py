"""Damaged and hostile versions of a file's content, the same for the same seed."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator

#: Multiplies the number of mutants, for long runs.
FACTOR = int(os.environ.get("LOSSNET_MUTANTS", "1"))

TOKENS: tuple[bytes, ...] = (
    *(b"9" * 5000, b"-" + b"9" * 30, b"1e999", b"-1", b"0", b"1_0", b"18446744073709551616"),
    *(b"1000000000", b"nan", b"-inf", b"0x10", "٣".encode(), b"1+2j", b"2020-01-01", b"null"),
    *(b" " * 40_000, b"\t" * 500, b"\n" * 500, b"," * 5000, b"'", b'"', b"\\", b"%", b" % ", b"#"),
    *(b"{", b"}", b"[", b"]", b"<", b">", b"&", b"*", b"!", b":", b": ", b"- ", b"=", b"@", b"/"),
    *(b"[" * 20_000, b"{" * 20_000, b'{"a":' * 5000, b"<a>" * 5000, b"(" * 5000, b"a/" * 5000),
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", "\u2028".encode(), b"\x1b[31m"),
    *(b"\r", b"?", b"O", b"-DOCSTART-", b"# newdoc\n", b"@data\n", b"@attribute", b"root/"),
    b'<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]>',
    b"a: &a [x, x]\nb: &b [*a, *a]\n",
)


def mutants(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """``count`` mutants of the content, times ``LOSSNET_MUTANTS``."""
    rng = random.Random(seed)
    for _ in range(count * FACTOR):
        mutant = content
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            mutant = rng.choice(_CHANGES)(mutant, rng)
        yield mutant


def _span(content: bytes, rng: random.Random, most: int) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    return start, min(len(content), start + rng.randint(1, most))


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if content else 0):
        changed[rng.randrange(len(changed))] = rng.choice((0, 32, 255, rng.randrange(256)))
    return bytes(changed)


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _delete(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng, 30)
    return content[:start] + content[end:]


def _duplicate(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng, 60)
    return content[:end] + content[start:end] * rng.choice((1, 2, 50)) + content[end:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(content))
    return content[:start] + rng.choice(TOKENS) + content[start:]


def _overwrite(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng, 12)
    return content[:start] + rng.choice(TOKENS) + content[end:]


def _replace(pattern: bytes) -> Callable[[bytes, random.Random], bytes]:
    def change(content: bytes, rng: random.Random) -> bytes:
        found = list(re.finditer(pattern, content))
        if not found:
            return _insert(content, rng)
        match = rng.choice(found)
        other = rng.choice((rng.choice(TOKENS), rng.choice(found)[0]))
        return content[: match.start()] + other + content[match.end() :]

    return change


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Two lines swapped, or one left out."""
    lines = content.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines if rng.random() < 0.5 else lines[:first] + lines[first + 1 :])


_CHANGES = (
    *(_flip, _truncate, _delete, _duplicate, _insert, _overwrite, _lines),
    *(_replace(rb"-?\d+(?:\.\d+)?"), _replace(rb"[A-Za-z]+")),
)
