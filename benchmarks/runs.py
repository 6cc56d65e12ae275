"""What the benchmarks share: their arguments, and runs that are kept and not done again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lossnet.reports import Run, get, record

#: Metrics of a run, and its seconds of training.
Measured = tuple[Mapping[str, float], float]


def arguments(doc: str, sets: Sequence[str], **more: Any) -> argparse.Namespace:
    """``run`` or ``table``, ``--data``, ``--seeds`` and ``--results``; one thread from now on.

    ``more`` are further options by name, each with what ``add_argument`` takes.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--data", nargs="+", choices=sets, default=list(sets))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    for name, options in more.items():
        parser.add_argument(f"--{name}", **options)
    torch.set_num_threads(1)
    return parser.parse_args()


def once(results: str, key: Mapping[str, Any], measure: Callable[[], Measured], tag: str) -> Run:
    """The run of this identity, from the store or else measured, recorded and printed.

    ``key`` is what :func:`lossnet.reports.get` takes: data and its checksum, method, seed,
    configuration.
    """
    if (found := get(results, **key)) is not None:
        return found
    metrics, seconds = measure()
    command = " ".join(["python", *sys.argv])
    record(results, command=command, metrics=metrics, seconds=seconds, tags=[tag], **key)
    found = get(results, **key)
    assert found is not None
    shown = {name: round(value, 4) for name, value in found.metrics.items() if value is not None}
    print(key["data"], found.method, f"seed {found.seed}", shown, f"{seconds:.1f} s", flush=True)
    return found
