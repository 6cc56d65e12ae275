"""Reading text files, packed or not, in UTF-8 or in whatever encoding they have."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from lossnet.data.limits import check_expanded
from lossnet.errors import DataError

_CHUNK = 2**20


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file, unpacked where the name ends in ``.gz``, within :mod:`.limits`."""
    path = Path(path)
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    if path.suffix.lower() != ".gz":
        return raw
    packed, expanded = io.BytesIO(raw), io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=packed) as stream:
            while chunk := stream.read(_CHUNK):
                expanded.write(chunk)
                check_expanded(path, expanded.tell(), packed.tell(), "text")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a complete gzip file ({error}); fetch it again") from error
    return expanded.getvalue()


def utf8_text(path: str | Path) -> str:
    """The text of a file that must be UTF-8: tokens in a guessed encoding would be other tokens."""
    return decoded(read_bytes(path), str(path))


def decoded(raw: bytes, name: str, notes: list[str] | None = None) -> str:
    """The text of some bytes, with ``\\n`` at every line's end and without a byte order mark.

    No text, and text that is not UTF-8, is a :class:`DataError`, the latter with its line; with
    ``notes`` the latter is read as Latin-1, and a note says so. ``name`` is the source's.
    """
    if not raw.strip():
        raise DataError(f"{name} is empty")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if notes is None:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise not_utf8(name, line, error) from error
        text = raw.decode("latin-1")
        notes.append(f"{Path(name).name} is not UTF-8; read as Latin-1")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise zero_byte(name, line)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def not_utf8(name: str, line: int, error: UnicodeDecodeError) -> DataError:
    """The error about a byte in a line that is not UTF-8."""
    byte = error.object[error.start]
    what = f"byte 0x{byte:02x} is not UTF-8 text"
    return DataError(f"{name}, line {line}: {what}; save the file as UTF-8")


def zero_byte(name: str, line: int) -> DataError:
    """The error about a zero byte in a line."""
    return DataError(f"{name}, line {line}: a zero byte is not text; save the file as UTF-8")


def read_lines(path: str | Path) -> tuple[list[str], list[str]]:
    """The lines of a text file and the notes its encoding calls for: see :func:`decoded`."""
    notes: list[str] = []
    # str.splitlines also breaks at form feeds and the like, which may stand inside values.
    text = decoded(read_bytes(path), str(path), notes)
    return text.removesuffix("\n").split("\n"), notes


def stem(path: str | Path) -> str:
    """The file's name without its extension and without ``.gz``."""
    name = Path(path).name
    return Path(name[:-3] if name.lower().endswith(".gz") else name).stem


def extension(path: str | Path) -> str:
    """The extension in lower case, without a final ``.gz``: ``.arff`` for ``a.ARFF.gz``."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix
