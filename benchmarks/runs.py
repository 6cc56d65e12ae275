"""What the benchmarks share: their command line, and runs that are kept and not done again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from lossnet.reports import Run, get, record

#: Metrics of a run, its seconds of training, and words to find it by.
Measured = tuple[Mapping[str, float], float, list[str]]
Command = Callable[[argparse.Namespace], None]


def main(doc: str | None, run: Command, table: Command, **options: Mapping[str, Any]) -> None:
    """The command line of a benchmark: ``run`` or ``table``, ``--results``, and its own options.

    ``options`` are what ``add_argument`` takes, by name, ``_`` standing for a hyphen. One thread.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    commands = {"run": run, "table": table}
    parser.add_argument("what", choices=list(commands))
    for name, own in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **own)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    commands[given.what](given)


def several(known: Iterable[Any]) -> dict[str, Any]:
    """An option that takes some of these, by default all."""
    return {"nargs": "+", "choices": list(known), "default": list(known)}


def once(results: str, key: Mapping[str, Any], measure: Callable[[], Measured]) -> Run:
    """The run of this identity, from the store or else measured, recorded and printed.

    ``key`` is what :func:`lossnet.reports.get` takes: data and its checksum, method, seed,
    configuration.
    """
    if (found := get(results, **key)) is not None:
        return found
    metrics, seconds, tags = measure()
    command = " ".join(["python", *sys.argv])
    record(results, command=command, metrics=metrics, seconds=seconds, tags=tags, **key)
    found = get(results, **key)
    assert found is not None
    shown = {name: round(value, 4) for name, value in found.metrics.items() if value is not None}
    print(key["data"], found.method, f"seed {found.seed}", shown, f"{seconds:.1f} s", flush=True)
    return found


def each_once(
    given: argparse.Namespace,
    prefix: str,
    rows: Iterable[str],
    *,
    checksum: Callable[[str], str],
    configuration: Callable[[str], dict[str, Any]],
    measure: Callable[[str, str, int], Measured],
) -> None:
    """Every row on every data set, seed by seed; ``measure`` takes data, row and seed."""
    for seed in range(given.seeds):
        for name in given.data:
            for row in rows:
                key = {"data": f"{prefix}-{name}", "data_checksum": checksum(name), "method": row}
                key |= {"seed": seed, "configuration": configuration(row)}
                once(given.results, key, lambda n=name, r=row, s=seed: measure(n, r, s))
