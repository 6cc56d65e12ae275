"""What each method costs, as ratios in one run: ``OMP_NUM_THREADS=1 python benchmarks/costs.py``.

For every method, on data of bibtex's shape: a training batch of its dearest phase and a prediction
of 1,499 rows, both over cross-entropy's. Then ratios with a limit: an implicit-nce energy update
over its direct twin's, an InfNet+ step over an InfNet step; and the memory of an implicit update
for several batch sizes and widths. Runs are interleaved, medians compared.
``--results FOLDER`` records them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from speed import BATCH, FEATURES, LABELS, ROWS, nets_of, synthetic
from timing import measure

from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.method import Method, Phase
from lossnet.nets import LabelMLP
from lossnet.recipes import build, methods_for
from lossnet.reports import find, record
from lossnet.spaces import Binary
from lossnet.streams import Streams
from lossnet.training import Arrays, predict
from lossnet.training.step import build_optimiser, parameters_of, step

NAMES = methods_for({"target"})
STORE = Path(__file__).parents[1] / "results"

#: Ratio, and the most it may be.
LIMITS = {
    "implicit-nce energy update, 3 Neumann terms / direct": 5.0,
    "infnet-plus step, stacked / infnet step": 1.15,
}


class Batches:
    """A phase of a method on a few batches, over and over."""

    def __init__(self, method: Method, phase: Phase, X: np.ndarray, Y: np.ndarray) -> None:
        self.phase, self.nets = phase, nets_of(method)
        self.data = Arrays(X, Y)
        self.streams = Streams(0, self.nets)
        self.generator = torch.Generator().manual_seed(0)
        self.parameters = [parameters_of(update, self.nets) for update in phase.updates]
        self.optimisers = [
            build_optimiser(parameters, update.optimiser)
            for update, parameters in zip(phase.updates, self.parameters, strict=True)
        ]

    def run(self, only: str | None = None) -> None:
        """Every update of the phase on every batch, or only those that train one net."""
        torch.set_flush_denormal(True)
        for rows in torch.arange(len(self.data)).split(BATCH):
            context = Context(
                self.nets,
                self.data.batch(rows),
                Binary(),
                generator=self.generator,
                training=self.phase.trained,
                streams=self.streams,
            )
            for update, optimiser, parameters in zip(
                self.phase.updates, self.optimisers, self.parameters, strict=True
            ):
                if only is None or update.name == only:
                    for _ in range(update.steps):
                        step(update, context, optimiser, parameters)
        torch.set_flush_denormal(False)


def training_costs(repeats: int) -> dict[str, float]:
    """A batch of every phase of every method over a batch of cross-entropy; the dearest counts."""
    X, Y = synthetic(5 * BATCH)
    jobs: dict[str, Callable[[], None]] = {}
    for name in NAMES:
        method = build(name)
        for number, phase in enumerate(method.phases):
            jobs[f"{name}/{number}"] = Batches(method, phase, X, Y).run
    seconds = measure(jobs, repeats)
    base = seconds["cross-entropy/0"]
    return {
        name: max(value for job, value in seconds.items() if job.split("/")[0] == name) / base
        for name in NAMES
    }


def prediction_costs(repeats: int) -> dict[str, float]:
    """Predicting 1,499 rows over one pass of the task-net."""
    source = Arrays(synthetic(ROWS, seed=1)[0])

    def job(method: Method) -> Callable[[], None]:
        nets = nets_of(method)

        def run() -> None:
            predict(method.predict, nets, Binary(), source)

        return run

    seconds = measure({name: job(build(name)) for name in NAMES}, repeats)
    return {name: seconds[name] / seconds["cross-entropy"] for name in NAMES}


def limited_ratios(repeats: int) -> dict[str, float]:
    """The ratios that have a limit."""
    X, Y = synthetic(10 * BATCH)

    def batches(name: str, **params: Any) -> Batches:
        method = build(name, params)
        return Batches(method, method.phases[0], X, Y)

    implicit = batches("implicit-nce", gradient={"solver": {"kind": "neumann", "terms": 3}})
    direct = batches("implicit-nce", gradient="direct")
    jobs = {
        "implicit": lambda: implicit.run("energy"),
        "direct": lambda: direct.run("energy"),
        "stacked": batches("infnet-plus", sharing="stacked").run,
        "infnet": batches("infnet").run,
    }
    seconds = measure(jobs, repeats)
    return {
        "implicit-nce energy update, 3 Neumann terms / direct": seconds["implicit"]
        / seconds["direct"],
        "infnet-plus step, stacked / infnet step": seconds["stacked"] / seconds["infnet"],
    }


def peak_memory(batch: int, width: int) -> float:
    """Megabytes that implicit-nce's energy updates add to a process of their own."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory-of", str(batch), str(width)],
        capture_output=True,
        text=True,
        check=True,
    )
    megabytes: float = json.loads(done.stdout)
    return megabytes


def memory_of(batch: int, width: int) -> float:
    """The same, measured in this process."""
    method = build("implicit-nce")
    X, Y = synthetic(batch)
    hidden = (width, width)
    nets = {
        "energy": LabelEnergy(FEATURES, LABELS, hidden=hidden),
        "task": LabelMLP(FEATURES, LABELS, hidden=hidden),
    }
    (update,) = (u for u in method.phases[0].updates if u.name == "energy")
    parameters = parameters_of(update, nets)
    optimiser = build_optimiser(parameters, update.optimiser)
    before = _peak()
    for _ in range(3):
        context = Context(
            nets,
            Arrays(X, Y).batch(slice(0, batch)),
            Binary(),
            generator=torch.Generator().manual_seed(0),
            training=method.phases[0].trained,
            streams=Streams(0, nets),
        )
        step(update, context, optimiser, parameters)
    return (_peak() - before) / 1024


def _peak() -> int:
    """Most kilobytes this process has held; rusage would count those of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def table() -> str:
    """The last recorded costs, method by method."""
    lines = ["| method | training batch | prediction |", "|---|---|---|"]
    for run in find(STORE, data="costs")[-1:]:
        for name in NAMES:
            if f"train {name}" in run.metrics:
                train, answer = run.metrics[f"train {name}"], run.metrics[f"predict {name}"]
                lines.append(f"| {name} | {train:.1f}x | {answer:.1f}x |")
        lines += ["", "| ratio | measured | limit |", "|---|---|---|"]
        for name, limit in LIMITS.items():
            lines.append(f"| {name} | {run.metrics[name]:.2f}x | {limit}x |")
        lines += ["", "| memory of an implicit-nce energy update | MB |", "|---|---|"]
        for name, value in run.metrics.items():
            if name.startswith("memory, "):
                lines.append(f"| {name.removeprefix('memory, ')} | {value:.0f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only-limits", action="store_true", help="leave the long table out")
    parser.add_argument("--results", help="folder of the results store")
    parser.add_argument("--memory-of", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.memory_of:
        print(json.dumps(memory_of(*arguments.memory_of)))
        return 0
    began = time.perf_counter()
    ratios = limited_ratios(2 * arguments.repeats)
    metrics = dict(ratios)
    if not arguments.only_limits:
        metrics |= {f"train {k}": v for k, v in training_costs(arguments.repeats).items()}
        metrics |= {f"predict {k}": v for k, v in prediction_costs(arguments.repeats).items()}
        for batch, width in ((32, 400), (128, 400), (512, 400), (32, 200), (32, 800)):
            metrics[f"memory, batch {batch}, layers of {width}"] = peak_memory(batch, width)
    for name, value in metrics.items():
        limit = f"  (limit {LIMITS[name]}x)" if name in LIMITS else ""
        print(f"{name:55s} {value:7.2f}{limit}")
    if arguments.results:
        record(
            arguments.results,
            command="python benchmarks/costs.py",
            data="costs",
            data_checksum="synthetic, bibtex shape",
            method="ratios",
            seed=0,
            configuration={"repeats": arguments.repeats},
            metrics=metrics,
            seconds=time.perf_counter() - began,
        )
    return int(any(ratio > LIMITS[name] for name, ratio in ratios.items()))


if __name__ == "__main__":
    raise SystemExit(main())
