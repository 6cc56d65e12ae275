"""What the rule for threads gains: a fit with torch's own number, with one, and as chosen.

    python benchmarks/threads.py

Every fit runs in a process of its own, once on the machine as it is and once while a busy loop
occupies every core. Seconds are of the fit alone, the least of ``--repeats``; ratios are to one
thread. OMP_NUM_THREADS and MKL_NUM_THREADS are taken out of the environment.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

NETS = ("mlp", "tagger", "unet")
CHOICES = ("torch", "one", "lossnet")


def fit(net: str, choice: str) -> float:
    """Seconds of one small fit."""
    import torch

    from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger
    from lossnet.training import threads

    if choice == "one":
        torch.set_num_threads(1)
    elif choice == "torch":
        threads.SMALL = 0
    rng = np.random.default_rng(0)
    settings = {"validation_fraction": 0.0, "random_state": 0}
    if net == "mlp":
        X = rng.normal(size=(640, 100))
        data = X, (X[:, :20] > 0.5).astype(int)
        model = MultiLabelClassifier("cross-entropy", max_epochs=5, **settings)
    elif net == "tagger":
        words = [[f"w{n}" for n in rng.integers(200, size=15)] for _ in range(128)]
        data = words, [["A" if word < "w2" else "B" for word in sentence] for sentence in words]
        model = SequenceTagger("cross-entropy", max_epochs=2, **settings)
    else:
        images = rng.random((16, 32, 32, 3)).astype(np.float32)
        data = images, (images[..., 0] > 0.5).astype(int)
        model = ImageSegmenter("cross-entropy", crops=1, max_epochs=2, **settings)
    began = time.perf_counter()
    model.fit(*data)
    return time.perf_counter() - began


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Endless loops that load the machine while the block runs."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(net: str, choice: str, repeats: int) -> float:
    """The least seconds of some fits, each in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    command = [sys.executable, __file__, "--fit", net, choice]
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        for _ in range(repeats)
    ]
    return min(float(output) for output in outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--fit", nargs=2, metavar=("NET", "CHOICE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(fit(*options.fit))
        return
    cores = os.cpu_count() or 1
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f} before\n")
    print("| machine | net | one thread, s | torch's own | lossnet's choice |")
    print("|---|---|---|---|---|")
    for machine, loops in (("as it is", 0), ("busy", cores)):
        with busy(loops):
            for net in NETS:
                seconds = {choice: measure(net, choice, options.repeats) for choice in CHOICES}
                one = seconds["one"]
                ratios = " | ".join(f"{seconds[c] / one:.1f} x" for c in ("torch", "lossnet"))
                print(f"| {machine} | {net} | {one:.2f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
