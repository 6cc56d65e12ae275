"""Rows a second of several processes against one, in one session.

    OMP_NUM_THREADS=1 torchrun --standalone --nproc-per-node 2 benchmarks/distributed.py

All processes train together and, in turn, the first one alone while the others wait, on random rows
of bibtex's shape. The ratios are of rows a second; "by CPU" compares the seconds of CPU that the
first process needs itself, which is what remains on a machine that others load too: what it spends
on its share and on exchanging gradients.
"""

from __future__ import annotations

import argparse
import time
from itertools import cycle

import numpy as np
import torch.distributed as dist
from timing import measure
from torch import nn

from lossnet.energies import LabelEnergy
from lossnet.nets import LabelMLP
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.tasks.networks import build_nets
from lossnet.training import Arrays, Trainer, join
from lossnet.training.processes import Processes, leave

FEATURES, LABELS, ROWS = 1836, 159, 4096
METHODS = ("cross-entropy", "seal-nce", "infnet-plus", "alen")


def make_net(name: str) -> nn.Module:
    """A net of the sizes that the estimators take for such data."""
    if name == "energy":
        return LabelEnergy(FEATURES, LABELS, hidden=(400, 400), global_hidden=200)
    return LabelMLP(FEATURES, LABELS, hidden=(400, 400))


class Steps:
    """Takes one batch at a time, by all processes or by the first alone."""

    def __init__(self, method: str, batch_size: int, processes: Processes) -> None:
        rng = np.random.default_rng(0)
        X = (rng.random((ROWS, FEATURES)) < 0.04).astype(np.float32)
        Y = (rng.random((ROWS, LABELS)) < 2.4 / LABELS).astype(np.float32)
        recipe = build(method)
        nets = build_nets(recipe.nets, make_net, recipe.derived, (LABELS,), Binary(), seed=0)
        self.trainer = Trainer(recipe, nets, Binary(), Arrays(X, Y), batch_size=batch_size)
        self.trainer.processes = processes
        self.batches = cycle(self.trainer._batches())

    def __call__(self) -> None:
        self.trainer._batch(*next(self.batches), 0, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--batch-sizes", default="32,256,1024")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    processes = join()
    if processes.first:
        print(f"{processes.count} processes, {FEATURES} features, {LABELS} labels")
        print(f"{'method':<16}{'batch':>6}{'ms by one':>11}{'ratio':>8}{'ratio by CPU':>14}")
    for method in args.methods.split(","):
        for size in map(int, args.batch_sizes.split(",")):
            together, alone = Steps(method, size, processes), Steps(method, size, Processes())

            def by_one(step: Steps = alone) -> None:
                if processes.first:
                    step()
                dist.barrier()

            jobs = {"together": together, "alone": by_one}
            wall = measure(jobs, args.repeats)
            own = measure(jobs, args.repeats, clock=time.process_time)
            if processes.first:
                ratio, by_cpu = (found["alone"] / found["together"] for found in (wall, own))
                times = f"{1000 * wall['alone']:>11.1f}{ratio:>8.2f}{by_cpu:>14.2f}"
                print(f"{method:<16}{size:>6}{times}", flush=True)
    leave()


if __name__ == "__main__":
    main()
