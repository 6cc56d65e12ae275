"""The arrays of an ``.npz`` file, read within bounds; nothing is ever unpickled."""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from lossnet.data.limits import MAX_COLUMNS, check_expanded
from lossnet.data.text import read_bytes
from lossnet.errors import DataError

_NPY = b"\x93NUMPY"
_EMPTY = 8 * MAX_COLUMNS
#: Bytes from which an array that can be memory-mapped is.
ON_DISK = 1 << 28
#: Bytes up to which an array is read in any case.
_SMALL = 1 << 12


def read_arrays(
    path: str | Path, *, on_disk: Sequence[Sequence[str]] = ()
) -> dict[str, np.ndarray[Any, Any]]:
    """All arrays by name, only numbers and strings; any damage is a :class:`DataError`.

    Args:
        path: the file.
        on_disk: names of arrays that belong together: these are memory-mapped where they are large
            together, and stored uncompressed as ``numpy.savez`` does.
    """
    mapped: dict[str, np.ndarray[Any, Any]] = {}
    for names in on_disk:
        mapped |= _mapped(path, names)
    raw = b"" if mapped else read_bytes(path)
    if raw.startswith(_NPY):
        raise DataError(f"{path} holds a single array; save all of them with numpy.savez")
    try:
        with zipfile.ZipFile(path if mapped else io.BytesIO(raw)) as archive:
            members = [m for m in archive.infolist() if _key(m.filename) not in mapped]
            packed = sum(m.compress_size for m in members) if mapped else len(raw)
            check_expanded(path, sum(m.file_size for m in members), packed, "arrays")
            return mapped | {_key(m.filename): _array(archive, m) for m in members}
    except DataError:
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways
        reason = str(error) or type(error).__name__
        wrong = f"{path} is not a complete .npz file of plain arrays ({reason})"
        raise DataError(f"{wrong}; save numbers and strings, not objects") from error


def array_names(path: str | Path) -> set[str]:
    """The names of a file's arrays; none where it is not an archive, or a damaged one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {_key(name) for name in archive.namelist()}
    except Exception:  # as above; read_arrays reports the reason
        return set()


def mapped_arrays(path: str | Path, names: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of a file that is not compressed, by name: memory-mapped, small ones in memory.

    A ``format``, which scipy's files have, is among them.
    """
    try:
        with zipfile.ZipFile(path) as archive, Path(path).open("rb") as file:
            members = {_key(member.filename): member for member in archive.infolist()}
            if missing := [name for name in names if name not in members]:
                has = ", ".join(members) or "none"
                raise DataError(f"{path} has no array {missing[0]!r}; its arrays are {has}")
            wanted = [members[name] for name in (*names, "format") if name in members]
            for member in wanted:
                if member.compress_type != zipfile.ZIP_STORED:
                    remedy = "save it uncompressed (scipy.sparse.save_npz(..., compressed=False))"
                    raise DataError(f"{path} is compressed and cannot be memory-mapped; {remedy}")
            return {_key(m.filename): _map_or_read(path, archive, file, m) for m in wanted}
    except (DataError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except Exception as error:  # as above
        reason = str(error) or type(error).__name__
        raise DataError(
            f"{path} is not a complete .npz file ({reason}); is it cut short? write it again"
        ) from error


def _mapped(path: str | Path, names: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays that are large together, by name, left on disk; none where they cannot be."""
    try:
        with zipfile.ZipFile(path) as archive, Path(path).open("rb") as file:
            members = [archive.getinfo(f"{name}.npy") for name in names]
            stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
            if not stored or sum(member.file_size for member in members) < ON_DISK:
                return {}
            found = {_key(m.filename): _map_member(path, file, m) for m in members}
            return {key: array for key, array in found.items() if array is not None}
    except Exception:  # read_arrays reports the reason
        return {}


def _map_or_read(
    path: str | Path, archive: zipfile.ZipFile, file: IO[bytes], member: zipfile.ZipInfo
) -> np.ndarray[Any, Any]:
    found = _map_member(path, file, member) if member.file_size > _SMALL else None
    return _array(archive, member) if found is None else found


def _map_member(
    path: str | Path, file: IO[bytes], member: zipfile.ZipInfo
) -> np.ndarray[Any, Any] | None:
    """An uncompressed array left on disk; None for one that goes by columns, or of no numbers."""
    # The local header: 30 bytes, the last four of which are the lengths of what follows.
    file.seek(member.header_offset + 26)
    lengths = int.from_bytes(file.read(2), "little"), int.from_bytes(file.read(2), "little")
    file.seek(sum(lengths), io.SEEK_CUR)
    start = file.tell()
    shape, in_columns, dtype = _header(file)
    if in_columns or dtype.kind not in "biuf":
        return None
    if file.tell() - start + math.prod(shape) * dtype.itemsize != member.file_size:
        raise ValueError(f"{member.filename!r} does not have the size of its shape {shape}")
    return np.memmap(path, dtype, "r", file.tell(), shape)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether it goes by columns, and dtype of an array; its numbers are what follows."""
    read = npy.read_array_header_1_0
    if npy.read_magic(stream) != (1, 0):
        read = npy.read_array_header_2_0
    found: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(stream)
    return found


def _key(name: str) -> str:
    return name.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    content = archive.read(member)
    stream = io.BytesIO(content)
    shape, _, dtype = _header(stream)
    if dtype.kind not in "biufcmMSU" or not dtype.itemsize:
        raise ValueError(f"{member.filename!r} holds {dtype}")
    sides = [max(side, 1) for side in shape]  # (10 ** 12, 0) is no less absurd
    if any(side < 0 for side in shape) or (
        math.prod(sides) * dtype.itemsize > max(len(content) - stream.tell(), _EMPTY)
    ):
        raise ValueError(f"{member.filename!r} is shorter than its shape {shape}")
    stream.seek(0)
    array = np.asarray(npy.read_array(stream, allow_pickle=False))
    if dtype.kind == "U":
        _check_characters(array)
    return array


def _check_characters(array: np.ndarray[Any, Any]) -> None:
    """Raise for codes that are not characters: NumPy's strings may hold any."""
    codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4")
    if (codes > sys.maxunicode).any() or ((codes >= 0xD800) & (codes < 0xE000)).any():
        raise ValueError("a string holds a code that is not a character")
