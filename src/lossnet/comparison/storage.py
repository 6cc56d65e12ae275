"""A comparison in its folder: JSON for what is small, one .npz file per run for arrays.

``results.json`` has all but the arrays, ``examples.npz`` the measured examples, and
``results/<data>/<method>/<seed>-<hash>.npz`` each run: its arrays and, so that a comparison that
was killed can continue, what ``results.json`` will have of it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.comparison.result import Comparison, EnergyFigures, MeasuredRun, Missing
from lossnet.errors import DataError
from lossnet.files import check_form, read_json, write_arrays, write_json
from lossnet.tasks.details import Details, Examples

RESULTS, EXAMPLES = "results.json", "examples.npz"
#: Changes with the form of these files; files of another form are not read.
FORM = 1
_REMEDY = "run lossnet compare with this folder again: finished runs are reused"
#: What a damaged archive may raise.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    zipfile.BadZipFile,
    TypeError,
    NotImplementedError,
)

_MISSING = [{"method": str, "seed": int, "outside": bool, "why": str}]
_HEAD = {
    "form": int,
    "data": str,
    "task": str,
    "sizes": {str: int},
    "metrics": [str],
    "main": str,
    "methods": [str],
    "baselines": [str],
    "reference": str,
    "seeds": [int],
    "failures": _MISSING,
    "left_out": _MISSING,
    "command": str,
    "checksum": str,
    "runs": [{"method": str, "seed": int, "file": str}],
}

#: Arrays by name.
Arrays = dict[str, Any]


def write_comparison(comparison: Comparison, folder: Path, files: Mapping[int, Path]) -> Path:
    """Write ``results.json`` and the examples; the runs' files are there already.

    Args:
        comparison: what was found.
        folder: the comparison's folder.
        files: the file of each run, by the run's position.
    """
    if comparison.examples is not None:
        write_arrays(folder / EXAMPLES, _examples_to_arrays(comparison.examples))
    head = {f.name: getattr(comparison, f.name) for f in fields(comparison)}
    head |= {"form": FORM, "examples": EXAMPLES if comparison.examples is not None else None}
    for name in ("failures", "left_out"):
        head[name] = [asdict(missing) for missing in head[name]]
    head["runs"] = [
        {"file": files[k].relative_to(folder).as_posix(), **_pack(run)[0]}
        for k, run in enumerate(comparison.runs)
    ]
    return write_json(folder / RESULTS, _plain(head))


def load_comparison(folder: str | Path) -> Comparison:
    """The comparison that ``lossnet compare`` or :func:`lossnet.compare` left in a folder.

    Nothing is fitted. A damaged file is a :class:`~lossnet.errors.DataError` that names it.

    Args:
        folder: what ``--out`` named.
    """
    folder = Path(folder)
    path = folder / RESULTS
    if folder.is_dir() and not path.exists():
        raise DataError(f"{folder} holds no finished comparison (no {RESULTS}); {_REMEDY}")
    try:
        head = read_json(path)
        check_form(head, _HEAD, str(path))
    except DataError as error:
        raise DataError(f"{error}; {_REMEDY}" if path.exists() else str(error)) from error
    if head.pop("form") != FORM:
        raise DataError(f"{path} was written by another version of lossnet; {_REMEDY}")
    runs = [_stored_run(folder, entry) for entry in head.pop("runs")]
    lists: dict[str, Any] = {
        name: [Missing(**one) for one in head.pop(name)] for name in ("failures", "left_out")
    }
    file = head.pop("examples")
    examples = None if file is None else _examples_from_arrays(read_arrays(folder / file))
    with _damage(path):
        return Comparison(runs=runs, examples=examples, **lists, **head)


def _stored_run(folder: Path, entry: dict[str, Any]) -> MeasuredRun:
    path = folder / entry.pop("file")
    arrays = read_arrays(path)
    arrays.pop("about", None)
    with _damage(path):
        return _unpack(entry, arrays)


# One run --------------------------------------------------------------------------------------


def write_run(path: Path, run: MeasuredRun) -> Path:
    """Write a run with its arrays."""
    about, arrays = _pack(run)
    return write_arrays(path, {**arrays, "about": np.array(json.dumps(_plain(about)))})


def read_run(path: Path) -> MeasuredRun:
    """The run that :func:`write_run` wrote."""
    arrays = read_arrays(path)
    with _damage(path):
        return _unpack(json.loads(str(arrays.pop("about"))), arrays)


def read_arrays(path: Path) -> Arrays:
    """All arrays of an .npz file; a damaged or missing one is a :class:`DataError`."""
    if not path.exists():
        raise DataError(f"{path} does not exist; {_REMEDY}")
    with _damage(path), np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Report what damaged contents raise."""
    try:
        yield
    except DataError:
        raise
    except _DAMAGE as error:
        raise DataError(f"{path} is damaged ({error}); delete it and {_REMEDY}") from error


def _pack(run: MeasuredRun) -> tuple[dict[str, Any], Arrays]:
    """What JSON holds of a run, and its arrays."""
    about = {f.name: getattr(run, f.name) for f in fields(run)}
    details, energy = about.pop("details"), about.pop("energy")
    arrays = {f"scores/{name}": values for name, values in details.scores.items()}
    arrays |= {"predictions": details.predictions, "reliability": details.reliability}
    own = ("groups", "group_noun", "calibration")
    about |= {"details": {name: getattr(details, name) for name in own}, "energy": None}
    if energy is not None:
        about["energy"] = {"rank_correlation": energy.rank_correlation}
        arrays |= {f"descents/{name}": line for name, line in energy.descents.items()}
        arrays |= {f"energy/{name}": getattr(energy, name) for name in _ENERGY}
    return about, {name: np.asarray(a) for name, a in arrays.items() if a is not None}


_ENERGY = ("energy", "cost", "ties", "cooccurrence", "frequent", "kinship")


def _unpack(about: dict[str, Any], arrays: Arrays) -> MeasuredRun:
    own, known = about.pop("details"), about.pop("energy")
    given: dict[str, Any] = {name: arrays.get(name) for name in ("predictions", "reliability")}
    details = Details(scores=_under("scores/", arrays), **given, **own)
    energy = None
    if known is not None:
        found: dict[str, Any] = {name: arrays.get(f"energy/{name}") for name in _ENERGY}
        correlation = known["rank_correlation"]
        known["rank_correlation"] = float("nan") if correlation is None else correlation
        energy = EnergyFigures(descents=_under("descents/", arrays), **found, **known)
    return MeasuredRun(details=details, energy=energy, **about)


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


# Examples -------------------------------------------------------------------------------------


def _examples_to_arrays(examples: Examples) -> Arrays:
    about = {n: getattr(examples, n) for n in ("kind", "names", "titles", "texts")}
    arrays = {n: getattr(examples, n) for n in ("truth", "images", "offsets")}
    known = {name: array for name, array in arrays.items() if array is not None}
    return {**known, "about": np.array(json.dumps(about))}


def _examples_from_arrays(arrays: Arrays) -> Examples:
    with _damage(Path(EXAMPLES)):
        return Examples(**json.loads(str(arrays.pop("about"))), **arrays)


def _plain(value: Any) -> Any:
    """The value as JSON holds it: NaN and infinite numbers are null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
