"""The results store: one small JSON file for each measured run.

``<folder>/<data>/<method>/<seed>-<hash of the configuration>.json``. The same run written again
replaces its file atomically; another configuration or seed gets another file. So a store grows over
several sessions, and :func:`has` says which runs are still to do.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from lossnet.errors import DataError, SettingError, unknown
from lossnet.files import read_json, write_json
from lossnet.reports.environment import environment


class DamagedResultWarning(UserWarning):
    """A file of the results store could not be read and was skipped."""


@dataclass(frozen=True)
class Run:
    """One measured run, as its file holds it.

    Args:
        data: name of the data.
        data_checksum: of the data as read, so that changed data are noticed.
        method: name of the method.
        seed: the seed of the run; not part of ``configuration``.
        configuration: every setting that could change the result.
        metrics: name to value, fractions not percent; None where a metric is not defined.
        seconds: wall-clock time of the run.
        command: how to repeat it.
        tags: words to find it by.
        versions: of Python and the packages that matter.
        platform: operating system and machine.
        threads: how many threads the arithmetic used.
        date: when it was recorded, UTC, ISO 8601.
    """

    data: str
    data_checksum: str
    method: str
    seed: int
    configuration: dict[str, Any]
    metrics: dict[str, float | None]
    seconds: float
    command: str
    tags: list[str]
    versions: dict[str, str]
    platform: str
    threads: int
    date: str


def record(
    folder: str | Path,
    *,
    command: str,
    data: str,
    data_checksum: str,
    method: str,
    seed: int,
    configuration: Mapping[str, Any],
    metrics: Mapping[str, float],
    seconds: float,
    tags: Iterable[str] = (),
) -> Path:
    """Write one run to the store and return its file; see :class:`Run` for the arguments.

    Versions, platform, threads and date are filled in. NaN and infinite metrics become null.
    """
    words = sorted({tags} if isinstance(tags, str) else set(tags))
    found = {name: _finite(name, value) for name, value in metrics.items()}
    time, settings = round(float(seconds), 4), _plain(configuration)
    identity = (data, data_checksum, method, int(seed), settings)
    run = Run(*identity, found, time, command, words, **environment())
    return write_json(path_of(folder, data, method, seed, configuration), asdict(run))


def path_of(
    folder: str | Path, data: str, method: str, seed: int, configuration: Mapping[str, Any]
) -> Path:
    """Where the run with this data, method, seed and configuration is kept."""
    identity = json.dumps([data, method, _plain(configuration)], sort_keys=True)
    key = hashlib.sha256(identity.encode()).hexdigest()[:10]
    return Path(folder) / slug(data) / slug(method) / f"{int(seed)}-{key}.json"


def get(
    folder: str | Path,
    *,
    data: str,
    method: str,
    seed: int,
    configuration: Mapping[str, Any],
    data_checksum: str | None = None,
) -> Run | None:
    """This run as the store holds it, None where it is still to do.

    A run on data with another checksum does not count, where a checksum is given. A damaged
    file does not count either and gives a :class:`DamagedResultWarning`.
    """
    path = path_of(folder, data, method, seed, configuration)
    run = _read_or_warn(path) if path.exists() else None
    return run if run is not None and data_checksum in (None, run.data_checksum) else None


def has(folder: str | Path, **run: Any) -> bool:
    """Whether the store holds this run, see :func:`get`, so that it need not be done again."""
    return get(folder, **run) is not None


def find(
    folder: str | Path, *, damaged: Literal["error", "warn"] = "error", **filters: Any
) -> list[Run]:
    """The runs of a store that fit all filters, ordered by data, method, configuration, seed.

    A filter is a field of :class:`Run`, with ``__`` to reach inside a mapping, and a value, or
    a list, tuple or set of allowed values: ``method=["dvn", "spen"]``,
    ``configuration__hidden=400``, ``tags="paper"`` (the run has that tag). A folder that does
    not exist holds no runs.

    Args:
        folder: the store.
        damaged: what a file that cannot be read gives: a :class:`DataError` that names it, or
            a :class:`DamagedResultWarning`.
        filters: see above.
    """
    if damaged not in ("error", "warn"):
        raise SettingError(f"damaged={damaged!r}: expected 'error' or 'warn'")
    for name in filters:
        _check_field(name)
    read = _read if damaged == "error" else _read_or_warn
    # A run lies in the folders of its data and its method: no other file needs to be read.
    places = itertools.product(*(_folders(filters.get(name)) for name in ("data", "method")))
    paths = {path for place in places for path in Path(folder).glob("/".join((*place, "*.json")))}
    runs = [run for path in sorted(paths) if (run := read(path)) is not None]
    runs = [run for run in runs if all(_fits(run, *item) for item in filters.items())]
    return sorted(runs, key=lambda run: (run.data, run.method, str(run.configuration), run.seed))


def field_of(run: Run, name: str) -> Any:
    """The value of a field, ``__`` reaching inside mappings; None where there is none."""
    _check_field(name)
    value: Any = run
    for part in name.split("__"):
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
    return value


def _check_field(name: str) -> None:
    known = [field.name for field in fields(Run)]
    if name.split("__")[0] not in known:
        raise unknown("field of a run", name, known)


def _fits(run: Run, name: str, wanted: Any) -> bool:
    options = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    if name == "tags":
        return any(option in run.tags for option in options)
    return field_of(run, name) in options


def _read(path: Path) -> Run:
    content = read_json(path)
    names = [field.name for field in fields(Run)]
    missing = [n for n in names if n not in content] if isinstance(content, dict) else names
    if missing:
        why = f"{path} is not a result of this store: it lacks {', '.join(missing)}"
        raise DataError(f"{why}; delete it and run it again")
    return Run(**{name: content[name] for name in names})


def _read_or_warn(path: Path) -> Run | None:
    try:
        return _read(path)
    except DataError as error:
        warnings.warn(f"skipped: {error}", DamagedResultWarning, stacklevel=3)
        return None


def _folders(wanted: Any) -> list[str]:
    """Patterns of the folders in which runs lie whose data or method must be one of these."""
    if wanted is None:
        return ["*"]
    several = isinstance(wanted, list | tuple | set | frozenset)
    return [slug(str(one)) for one in (wanted if several else [wanted])]


def _plain(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as JSON gives it back, so that written and asked-for ones compare."""

    def other(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, Path):
            return str(value)
        raise TypeError(f"{value!r} of type {type(value).__name__}")

    try:
        text = json.dumps(dict(configuration), default=other, allow_nan=False)
    except (TypeError, ValueError) as error:
        what = f"configuration cannot be written as JSON: {error}"
        raise SettingError(f"{what}; use numbers, text, lists, mappings") from error
    return dict(json.loads(text))


def _finite(name: str, value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"metric {name!r} is {value!r}: expected a number") from error
    return number if math.isfinite(number) else None


def slug(name: str) -> str:
    """A folder name; the hash in the file name keeps names apart that share one."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip(".-") or "unnamed"
