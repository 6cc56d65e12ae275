"""What a learned loss costs on a transformer, on one thread:

    OMP_NUM_THREADS=1 python benchmarks/encoder_cost.py

Steps on Reuters texts cut to 64 sub-words, batch 16, all weights trained or LoRA: cross-entropy,
and seal-nce with one energy step, its loss-net on the task-net's features or with an encoder of its
own. Steps are interleaved and their processor time is compared, the quickest of each. Cross-entropy
stands there twice: how far its second ratio is from 1 is the noise of the others. Peak memory is
that of a process which takes two steps. Then vectors of a frozen encoder, computed and read from
the cache. The encoder is ``--encoder FOLDER``, by default that of benchmarks/text.py. ``--results
FOLDER`` records the numbers.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from text import encoder, parts
from timing import measure

from lossnet.encoders import Pretrained, vectors_of
from lossnet.energies import LabelEnergy
from lossnet.recipes import build
from lossnet.reports import record
from lossnet.spaces import Binary
from lossnet.tasks.networks import build_nets
from lossnet.tasks.text.encoding import TextNet
from lossnet.tasks.text.token_batches import TextSource
from lossnet.training import Trainer

BATCH, SUBWORDS = 16, 64
#: The net whose features the loss-net reads, and the most a step may cost of cross-entropy's.
VARIANTS: dict[str, tuple[str, str | None, float]] = {
    "cross-entropy": ("cross-entropy", None, math.inf),
    "cross-entropy again": ("cross-entropy", None, math.inf),
    "seal-nce, shared": ("seal-nce", "task", 1.35),
    "seal-nce, own": ("seal-nce", None, 2.8),
}
TRAININGS = ("full", "lora")


def texts_of(count: int) -> tuple[list[str], np.ndarray]:
    """The first training texts of Reuters, and their labels."""
    train = parts("reuters").train
    return list(train.texts[:count]), np.asarray(train.Y[:count], dtype=np.float32)


def step_of(folder: str, training: Any, variant: str) -> Callable[[], None]:
    """A training step of the library's loop."""
    pretrained = Pretrained.load(folder)
    texts, Y = texts_of(BATCH)
    tokeniser = pretrained.tokeniser(SUBWORDS)
    name, shared, _ = VARIANTS[variant]
    method = build(name, {} if name == "cross-entropy" else {"energy_steps": 1, "task_steps": 1})

    def make(net: str, features: Any = None) -> torch.nn.Module:
        features = features or pretrained.net(training=training)
        if net == "energy":
            return LabelEnergy(features.out_features, Y.shape[1], features=features)
        return TextNet(features, Y.shape[1], dropout=0.1)

    nets = build_nets(method.nets, make, {}, Y.shape[1:], Binary(), shared=shared)
    source = TextSource(tokeniser.texts(texts), tokeniser, Y)
    trainer = Trainer(method, nets, Binary(), source, max_epochs=1000, batch_size=BATCH)
    return trainer._epoch


def costs(folder: str, repeats: int) -> dict[str, float]:
    """Seconds of each step, by training and variant."""
    found = {}
    for training in TRAININGS:
        jobs = {variant: step_of(folder, training, variant) for variant in VARIANTS}
        torch.set_flush_denormal(True)  # as Trainer.run sets it
        seconds = measure(jobs, repeats, pick=min, clock=time.process_time)
        found |= {f"{training}: {variant}": value for variant, value in seconds.items()}
    return found


def peak_memory(folder: str, training: str, variant: str) -> float:
    """Peak memory in MB of a process that takes two steps."""
    command = [sys.executable, __file__, "--encoder", folder, "--peak", training, variant]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def print_peak(folder: str, training: str, variant: str) -> None:
    """Take two steps and print this process's peak memory.

    Not ``ru_maxrss``: a process starts with that of the one that started it.
    """
    step = step_of(folder, training, variant)
    for _ in range(2):
        step()
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    print(int(found[1]) / 1024)


def frozen(folder: str, count: int) -> dict[str, float]:
    """Texts per second: their vectors computed, and read from the cache."""
    pretrained, texts = Pretrained.load(folder), texts_of(count)[0]
    rates = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("computed", "from the cache"):
            began = time.process_time()
            vectors_of(pretrained, texts, limit=SUBWORDS, cache=cache)
            rates[f"frozen, {name}: texts per second"] = count / (time.process_time() - began)
    return rates


def report(seconds: dict[str, float], memory: dict[str, float]) -> bool:
    """Print a row for each step; whether all are within their limits."""
    within = True
    print(f"{'':26s} {'seconds':>8s} {'ratio':>7s} {'limit':>7s} {'peak MB':>8s}")
    for training in TRAININGS:
        for variant, (*_, limit) in VARIANTS.items():
            name = f"{training}: {variant}"
            ratio = seconds[name] / seconds[f"{training}: cross-entropy"]
            row = f"{seconds[name]:8.3f} {ratio:6.2f}x {limit:7.2f} {memory[name]:8.0f}"
            print(f"{name:26s} {row}  {'ok' if ratio <= limit else 'TOO SLOW'}")
            within &= ratio <= limit
    return within


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", help="folder of an encoder")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--texts", type=int, default=512, help="texts for the frozen encoder")
    parser.add_argument("--results", help="folder of the results store")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = given.encoder or encoder()
    if given.peak:
        print_peak(folder, *given.peak)
        return 0
    began = time.perf_counter()
    seconds = costs(folder, given.repeats)
    memory = {name: peak_memory(folder, *name.split(": ")) for name in seconds}
    within = report(seconds, memory)
    rates = frozen(folder, given.texts)
    for name, value in rates.items():
        print(f"{name} {value:.0f}")
    if given.results:
        metrics = {f"{name}, seconds": value for name, value in seconds.items()}
        metrics |= {f"{name}, peak MB": value for name, value in memory.items()} | rates
        record(
            given.results,
            command="python benchmarks/encoder_cost.py",
            data="encoder-cost",
            data_checksum="Reuters, the first training texts",
            method="ratios",
            seed=0,
            configuration={"repeats": given.repeats, "batch": BATCH, "sub-words": SUBWORDS},
            metrics=metrics,
            seconds=time.perf_counter() - began,
        )
    return int(not within)


if __name__ == "__main__":
    raise SystemExit(main())
