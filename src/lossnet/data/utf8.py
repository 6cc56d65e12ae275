"""The text of a file that must be UTF-8: tokens in a guessed encoding would be other tokens."""

from __future__ import annotations

from pathlib import Path

from lossnet.data.text import read_bytes
from lossnet.errors import DataError


def utf8_text(path: str | Path) -> str:
    """A file's text with ``\\n`` at every line's end, unpacked where the name ends in ``.gz``.

    A byte order mark is dropped. An empty file, and one that is not UTF-8, is a
    :class:`DataError`; the latter names the line.
    """
    return decoded(read_bytes(path), str(path))


def decoded(raw: bytes, name: str) -> str:
    """Bytes as :func:`utf8_text` reads them; ``name`` is what errors call their source."""
    if not raw.strip():
        raise DataError(f"{name} is empty")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise DataError(
            f"{name}, line {line}: byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{name}, line {line}: a zero byte is not text; save the file as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")
