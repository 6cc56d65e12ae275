"""Files and folders written atomically, and JSON read with checks."""

from __future__ import annotations

import errno
import json
import os
import reprlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lossnet.errors import DataError

#: How the name of every temporary file and folder starts.
TEMPORARY = ".lossnet-tmp-"


def atomic_write(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Let ``write`` fill a temporary file next to ``path``, then move it into place.

    A reader sees the old file or the new one, never a part of it; a failing ``write`` leaves
    nothing behind.
    """
    return _replace(path, write, folder=False)


def write_folder(
    path: str | Path, write: Callable[[Path], object], *, overwrite: bool = False
) -> Path:
    """Let ``write`` fill a temporary folder next to ``path``, then move it into place.

    A failing ``write`` leaves nothing behind. ``path`` must be new, or an empty folder; with
    ``overwrite`` what it holds is removed afterwards.
    """
    return _replace(path, write, folder=True, overwrite=overwrite)


def _replace(
    path: str | Path, write: Callable[[Path], object], *, folder: bool, overwrite: bool = False
) -> Path:
    path = Path(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(path.parent, folder)
        write(temporary)
        temporary.chmod((0o777 if folder else 0o666) & ~_umask())
        if folder and overwrite and path.exists():
            _exchange(temporary, path)
        else:
            os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            _remove(temporary)
        if not isinstance(error, OSError):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free some space" if full else "choose a folder you may write to"
        raise DataError(f"cannot write {path}: {error.strerror or error}; {remedy}") from error
    return path


def _exchange(temporary: Path, path: Path) -> None:
    """Put a folder in the place of another, which is removed, or stays if that fails."""
    before = _temporary(path.parent, folder=True)
    os.replace(path, before)
    try:
        os.replace(temporary, path)
    except OSError:
        os.replace(before, path)
        raise
    _remove(before)


def _temporary(parent: Path, folder: bool) -> Path:
    if folder:
        return Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
    handle, name = tempfile.mkstemp(prefix=TEMPORARY, dir=parent)
    os.close(handle)
    return Path(name)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that a killed process left in the folder."""
    for left in folder.glob(f"{TEMPORARY}*"):
        _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def write_text(path: str | Path, text: str) -> Path:
    """Write ``text`` to ``path`` atomically."""
    return atomic_write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> Path:
    """Write arrays by name to a compressed .npz file atomically."""
    import numpy as np

    def write(temporary: Path) -> None:
        # To an open file: NumPy would add .npz to the temporary name.
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)

    return atomic_write(path, write)


def write_json(path: str | Path, value: Any) -> Path:
    """Write ``value`` as readable JSON to ``path`` atomically."""
    return write_text(path, json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file; a damaged or missing one is a :class:`DataError` that names it."""
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error})") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def check_form(value: Any, form: Any, where: str) -> None:
    """Raise unless JSON has this form.

    A form is a type (float takes integers too, object anything), None, ``[form]``, ``{"key":
    form}``, ``{str: form}`` for any keys, or a tuple of alternatives.

    >>> check_form({"tags": ["O"]}, {"tags": [str]}, "labels.json")
    """
    if not _conforms(value, form):
        raise DataError(f"{where} is damaged: {reprlib.repr(value)} is not of the expected form")


def _conforms(value: Any, form: Any) -> bool:
    if isinstance(form, tuple):
        return any(_conforms(value, one) for one in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_conforms(item, form[0]) for item in value)
    if isinstance(form, dict) and isinstance(value, dict):
        if str in form:
            return all(_conforms(item, form[str]) for item in value.values())
        return all(key in value and _conforms(value[key], of) for key, of in form.items())
    if form is float:
        return type(value) in (int, float)
    return value is None if form is None else form is object or type(value) is form
