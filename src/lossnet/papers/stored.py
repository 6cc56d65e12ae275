"""The runs of a results store that belong to the papers' tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lossnet import __version__
from lossnet.papers.settings import configuration, same, usual_configuration
from lossnet.papers.table import Benchmark
from lossnet.reports import Run, find, get, record
from lossnet.reports.store import path_of

TAG = "reproduce"


def store_name(data: str) -> str:
    """What the store calls a data set of the papers."""
    return f"paper-{data}"


class StoredRuns:
    """The runs of a store, found by their settings.

    Args:
        folder: the results store; it need not exist.
        checksums: of the data at hand, by name; runs on other data do not count.
    """

    def __init__(self, folder: Path, checksums: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.checksums = checksums or {}
        self.used: set[int] = set()
        self.asked: set[tuple[str, str]] = set()
        self._runs: dict[tuple[str, str], list[Run]] = {}
        self._benchmarks: dict[str, list[Run]] = {}
        for run in find(folder, tags=TAG, damaged="warn"):
            self._runs.setdefault((run.data, run.method), []).append(run)

    def matching(self, data: str, model: Any) -> list[Run]:
        """The runs of a model's method and settings on a data set, one for each seed."""
        place = store_name(data), model.method
        if place not in self._runs:
            return []
        self.asked.add(place)
        wanted, usual = configuration(model), usual_configuration(model)
        found = [
            run
            for run in self._runs.get(place, [])
            if self.checksums.get(data, run.data_checksum) == run.data_checksum
            and same(run.configuration, wanted, usual)
        ]
        self.used |= {id(run) for run in found}
        return sorted({run.seed: run for run in found}.values(), key=lambda run: run.seed)

    def of_benchmark(self, benchmark: Benchmark, label: str) -> list[Run]:
        """The runs of a benchmark script under a row's label, with the settings of the last."""
        name = benchmark.data
        if name not in self._benchmarks:
            self._benchmarks[name] = find(self.folder, data=name, damaged="warn")
        found = [
            run
            for run in self._benchmarks[name]
            if run.method == label and benchmark.where.items() <= run.configuration.items()
        ]
        last = max(found, key=lambda run: run.date, default=None)
        return [run for run in found if last and run.configuration == last.configuration]

    def unused(self) -> set[tuple[str, str]]:
        """Data and methods that were asked for and have runs of other settings or other data."""
        return {place for place in self.asked if self._left(place)}

    def set_aside(self) -> int:
        """How many such runs there are."""
        return sum(map(self._left, self.asked))

    def of_other_versions(self) -> dict[str, int]:
        """How many of the runs that were used another version of the library has recorded."""
        used = [run for runs in self._runs.values() for run in runs if id(run) in self.used]
        versions = Counter(run.versions.get("lossnet", "unknown") for run in used)
        return {name: n for name, n in sorted(versions.items()) if name != __version__}

    def _left(self, place: tuple[str, str]) -> int:
        return sum(id(run) not in self.used for run in self._runs.get(place, []))

    def checkpoint(self, data: str, model: Any) -> Path:
        """The file that a run continues from if its process is killed."""
        return path_of(self.folder, **_place(data, model)).with_suffix(".safetensors")

    def add(self, data: str, model: Any, *, marks: Sequence[str], **rest: Any) -> Run:
        """Write a run to the store, tagged with what the names of its files say."""
        key = _place(data, model) | {"data_checksum": self.checksums[data]}
        record(self.folder, **key, **rest, tags=[TAG, *marks])
        run = get(self.folder, **key)
        assert run is not None
        self._runs.setdefault((run.data, run.method), []).append(run)
        return run


def _place(data: str, model: Any) -> dict[str, Any]:
    """What a run is found by."""
    return {
        "data": store_name(data),
        "method": model.method,
        "seed": int(model.random_state),
        "configuration": configuration(model),
    }
