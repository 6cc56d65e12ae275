"""Reading the lines of a text file, packed or not, in whatever encoding it has."""

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


def read_lines(path: str | Path) -> tuple[list[str], list[str]]:
    """The lines of a text file and the notes its encoding calls for.

    UTF-8, with or without a byte order mark; a file that is not UTF-8 is read as Latin-1, and a
    note says so. An empty or a binary file is a :class:`DataError`.
    """
    raw = read_bytes(path)
    if not raw.strip():
        raise DataError(f"{path} is empty")
    if b"\0" in raw:
        raise DataError(
            f"{path} is not a text file in UTF-8 or Latin-1 (it holds zero bytes); save it as UTF-8"
        )
    notes = []
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
        notes.append(f"{Path(path).name} is not UTF-8; read as Latin-1")
    # str.splitlines also breaks at form feeds and the like, which may stand inside values.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines, notes


def stem(path: str | Path) -> str:
    """The file's name without its extension and without ``.gz``."""
    name = Path(path).name
    if name.lower().endswith(".gz"):
        name = name[:-3]
    return Path(name).stem


def extension(path: str | Path) -> str:
    """The extension in lower case, without a final ``.gz``: ``.arff`` for ``a.ARFF.gz``."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix
