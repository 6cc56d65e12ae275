"""Decisions for a metric, measured:

    OMP_NUM_THREADS=1 python benchmarks/decisions.py cost

``cost``: seconds of the F1 decisions on random probabilities with the rows, labels and labels per
row of three data sets, on one thread: for independent labels (``best_f``), and from 100 weighted
joint samples (``best_f_of_samples``), sparse where few labels are on. Next to it how often the
threshold of a net's output, ``sigmoid(logits) >= 0.5``, fits in that time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import torch
from timing import measure
from torch import Tensor

from lossnet.decisions import best_f, best_f_of_samples, self_normalised
from lossnet.spaces import Binary

#: Rows, labels and mean number of labels on; and the most seconds each decision may take.
LIKE: dict[str, tuple[int, int, float]] = {
    "bibtex": (1499, 159, 2.4),
    "cal500": (100, 174, 26.0),
    "delicious": (3200, 983, 19.0),
}
LIMITS = {("bibtex", "best_f"): 0.5, ("bibtex", "best_f_of_samples"): 1.0}


def logits_like(name: str, seed: int = 0) -> Tensor:
    """Random logits: labels have declining frequencies, and the mean number on is the set's."""
    rows, labels, on = LIKE[name]
    draw = torch.Generator().manual_seed(seed)
    logits = 2.0 * torch.randn(rows, labels, generator=draw)
    logits -= torch.arange(1, labels + 1).log()
    low, high = -30.0, 30.0
    for _ in range(40):
        shift = (low + high) / 2
        few = torch.sigmoid(logits + shift).sum(1).mean() < on
        low, high = (shift, high) if few else (low, shift)
    return logits + low


def cost(arguments: argparse.Namespace) -> int:
    """Print the seconds of each decision; 1 if one is above its limit."""
    torch.set_num_threads(1)
    late = False
    print(f"{'':10s} {'decision':18s} {'seconds':>8s} {'thresholds':>11s} {'limit':>6s}")
    for name in LIKE:
        seconds = measure(jobs(name, arguments.k), arguments.repeats, clock=time.process_time)
        threshold = seconds.pop("threshold")
        for job, value in seconds.items():
            limit = LIMITS.get((name, job))
            late |= limit is not None and value > limit
            allowed = "" if limit is None else f"{limit:6.1f}"
            print(f"{name:10s} {job:18s} {value:8.3f} {value / threshold:10.0f}x {allowed}")
    return int(late)


def jobs(name: str, k: int) -> dict[str, Callable[[], object]]:
    """What is timed on one set."""
    logits = logits_like(name)
    draw = torch.Generator().manual_seed(1)
    y = Binary().sample(logits, k, draw)
    w, _ = self_normalised(torch.randn(k, len(logits), generator=draw))
    return {
        "threshold": lambda: torch.sigmoid(logits) >= 0.5,
        "best_f": lambda: best_f(torch.sigmoid(logits)),
        "best_f_of_samples": lambda: best_f_of_samples(y, w),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    costs = commands.add_parser("cost", help="seconds of the decisions")
    costs.add_argument("--k", type=int, default=100, help="joint samples")
    costs.add_argument("--repeats", type=int, default=5)
    costs.set_defaults(run=cost)
    given = parser.parse_args(arguments)
    return given.run(given)


if __name__ == "__main__":
    sys.exit(main())
