"""The folder of an exported model: the net, what else the model knows, and scripts to run it."""

from __future__ import annotations

import hashlib
import importlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lossnet import __version__
from lossnet.errors import SettingError, unknown
from lossnet.exporting.runtime.base import ARRAYS, FACTS
from lossnet.exporting.spec import Exported, runtime_files
from lossnet.files import write_folder, write_json

#: The version of the folder's form.
VERSION = 1


class Format(NamedTuple):
    """A kind of folder: its net's file, what it takes to write and to run, further scripts."""

    net: str
    writes: tuple[str, ...]
    runs: tuple[str, ...]
    scripts: tuple[str, ...] = ()


FORMATS: Mapping[str, Format] = {
    "onnx": Format("model.onnx", ("onnx", "onnxscript"), ("numpy", "onnxruntime")),
    "torch": Format("model.pt2", (), ("numpy", "torch"), ("lstm",)),
}


def check_can_write(path: str | Path, format: str, *, overwrite: bool = False) -> None:
    """Raise where no folder of this format could be written there."""
    if format not in FORMATS:
        raise unknown("format", str(format), FORMATS)
    for package in FORMATS[format].writes:
        try:
            importlib.import_module(package)
        except ImportError as error:
            what = f"format {format!r} needs {package}, which cannot be imported ({error})"
            raise SettingError(f"{what}; run pip install 'lossnet[export]'") from error
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"{folder} is a file; expected a folder to write to")
    parent = next(one for one in folder.absolute().parents if one.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise SettingError(f"cannot write to {parent}; choose a folder you may write to")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / FACTS).exists():
        raise SettingError(f"{folder} holds other files; choose a new or an empty folder")
    if not overwrite:
        remedy = "choose another folder, or pass overwrite (--overwrite)"
        raise SettingError(f"{folder} already holds an exported model: {remedy}")


def write(
    exported: Exported, path: str | Path, *, format: str, estimator: str, overwrite: bool = False
) -> Path:
    """Write a model's folder, complete or not at all.

    Args:
        exported: the model.
        path: the folder, new or empty; with ``overwrite`` it may hold an exported model.
        format: one of :data:`FORMATS`.
        estimator: the name of the model's class.
        overwrite: replace an exported model.
    """
    from lossnet.exporting.programs import onnx_program, torch_program

    check_can_write(path, format, overwrite=overwrite)
    kind = FORMATS[format]
    save = (onnx_program if format == "onnx" else torch_program)(exported)

    def fill(folder: Path) -> None:
        _fill(folder, exported, kind, save, estimator)

    return write_folder(path, fill, overwrite=overwrite)


def _fill(
    folder: Path, exported: Exported, kind: Format, save: Callable[[Path], None], estimator: str
) -> None:
    save(folder / kind.net)
    np.savez_compressed(folder / ARRAYS, **exported.arrays)  # type: ignore[arg-type]
    written = kind.net, ARRAYS
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in written}
    facts: dict[str, Any] = {"lossnet": __version__, "version": VERSION, "estimator": estimator}
    facts |= {"net": kind.net, "inputs": _inputs(exported), "outputs": list(exported.outputs)}
    facts |= {"model": exported.model, "files": sums, "facts": dict(exported.facts)}
    write_json(folder / FACTS, facts)
    (folder / "runtime").mkdir()
    predict, *scripts = runtime_files("predict", "__init__", "base", *kind.scripts)
    shutil.copyfile(predict, folder / predict.name)
    for file in (*scripts, *exported.runtime):
        shutil.copyfile(file, folder / "runtime" / file.name)
    (folder / "requirements.txt").write_text("".join(f"{name}\n" for name in kind.runs))
    (folder / "README.md").write_text(_readme(exported, kind, estimator), encoding="utf-8")


def _inputs(exported: Exported) -> list[dict[str, Any]]:
    """Name, dtype and shape of each input, None for a free axis."""
    found = []
    for name, one in exported.inputs.items():
        shape = [None if k in one.free else side for k, side in enumerate(one.example.shape)]
        found.append({"name": name, "dtype": str(one.example.dtype).split(".")[1], "shape": shape})
    return found


def _readme(exported: Exported, kind: Format, estimator: str) -> str:
    return f"""# {estimator}, exported by lossnet {__version__}

Runs with {" and ".join(kind.runs)} alone (`pip install -r requirements.txt`):

    python predict.py INPUT [--proba] [--out FILE]

INPUT: {exported.reads}.

`{kind.net}` is the net, {FACTS} and {ARRAYS} hold its inputs, its outputs and how these become
predictions, `runtime/` does the rest in numpy. The head of `predict.py` shows how to predict from
a program of your own.
"""
