"""Speed as ratios, in one run on one thread: ``OMP_NUM_THREADS=1 python benchmarks/speed.py``.

Steps on data of bibtex's shape (1,836 binary features, 159 labels, batch 32): a bare PyTorch loop
with a fused optimiser, the library's cross-entropy and seal-nce; prediction on 1,499 rows. Timings
are interleaved, so that what else the machine does falls on all of them, and medians are compared;
with ``--busy``, for a machine that does much else, the least CPU time of each. Writes one JSON into
the results store with ``--results FOLDER``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from timing import measure

from lossnet import MultiLabelClassifier
from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.method import Method
from lossnet.nets import LabelMLP
from lossnet.proposals import GBI
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.tasks.networks import build_nets
from lossnet.training import Arrays, Trainer

FEATURES, LABELS, BATCH, ROWS = 1836, 159, 32, 1499

#: Ratio, and the most it may be.
LIMITS = {
    "cross-entropy step / bare step": 1.1,
    "seal-nce step, K = 20 / cross-entropy step": 3.0,
    "seal-nce step, K = 100 / K = 20": 1.8,
    "seal-nce, two energy steps, K = 20 / cross-entropy step": 4.4,
    "predict_proba / bare forward pass": 1.15,
    "GBI of 20 steps / bare forward pass": 6.0,
}


def synthetic(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Binary features and labels as sparse as bibtex's: 69 features and 2.4 labels a row."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, FEATURES)) < 69 / FEATURES).astype(np.float32)
    Y = (rng.random((rows, LABELS)) < 2.4 / LABELS).astype(np.float32)
    return X, Y


def bare_net() -> torch.nn.Sequential:
    """The task-net in plain PyTorch."""
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 400),
        torch.nn.Softplus(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(400, 400),
        torch.nn.Softplus(),
        torch.nn.Linear(400, LABELS, bias=False),
    )


def bare_epoch(X: np.ndarray, Y: np.ndarray) -> Callable[[], None]:
    """An epoch of cross-entropy in plain PyTorch."""
    net = bare_net()
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    x, y = torch.from_numpy(X), torch.from_numpy(Y)

    def run() -> None:
        for rows in torch.randperm(len(x)).split(BATCH):
            logits = net(x[rows])
            loss = F.binary_cross_entropy_with_logits(logits, y[rows], reduction="none")
            optimiser.zero_grad()
            loss.sum(1).mean().backward()
            optimiser.step()

    return run


def nets_of(method: Method, shared: str | None = None) -> dict[str, torch.nn.Module]:
    """New nets of bibtex's shape for everything a method names.

    ``shared`` is the net whose features the loss-net reads.
    """

    def make(name: str, features: torch.nn.Module | None = None) -> torch.nn.Module:
        if name != "energy":
            return LabelMLP(FEATURES, LABELS)
        return LabelEnergy(FEATURES, LABELS, features=features)

    return build_nets(method.nets, make, method.derived, (LABELS,), Binary(), shared=shared)


def method_epoch(
    X: np.ndarray, Y: np.ndarray, name: str, shared: str | None = None, **params: Any
) -> Callable[[], None]:
    """An epoch of a method in the library's loop; ``shared`` as in :func:`nets_of`."""
    method = build(name, params)
    nets, rows = nets_of(method, shared), Arrays(X, Y)
    trainer = Trainer(method, nets, Binary(), rows, max_epochs=10**9, batch_size=BATCH)

    def run() -> None:
        # As run() sets it: without it, denormal numbers would slow the loss-net.
        torch.set_flush_denormal(True)
        trainer._epoch()
        torch.set_flush_denormal(False)

    return run


def training_ratios(repeats: int, **how: Any) -> dict[str, float]:
    """The ratios of training steps; ``how`` as in :func:`timing.measure`."""
    X, Y = synthetic(20 * BATCH)
    step = {"energy_steps": 1, "task_steps": 1}
    jobs = {
        "bare": bare_epoch(X, Y),
        "cross-entropy": method_epoch(X, Y, "cross-entropy"),
        "nce 20": method_epoch(X, Y, "seal-nce", samples=20, **step),
        "nce 100": method_epoch(X, Y, "seal-nce", samples=100, **step),
        "two steps": method_epoch(X, Y, "seal-nce", samples=20, energy_steps=2, task_steps=1),
    }
    for _ in range(4):  # past the first epochs, whose samples are dense
        for job in jobs.values():
            job()
    seconds = measure(jobs, repeats, **how)
    plain = seconds["cross-entropy"]
    return {
        "cross-entropy step / bare step": plain / seconds["bare"],
        "seal-nce step, K = 20 / cross-entropy step": seconds["nce 20"] / plain,
        "seal-nce step, K = 100 / K = 20": seconds["nce 100"] / seconds["nce 20"],
        "seal-nce, two energy steps, K = 20 / cross-entropy step": seconds["two steps"] / plain,
    }


def prediction_ratios(repeats: int, **how: Any) -> dict[str, float]:
    """The two ratios of predicting the same rows."""
    X, _ = synthetic(ROWS, seed=1)
    small, Y = synthetic(200)
    fitted = MultiLabelClassifier("seal-nce", max_epochs=1, random_state=0).fit(small, Y)
    net = bare_net().eval()
    inference = GBI(20, 0.1)  # from zeros
    source = Arrays(X)
    batches = [source.batch(rows) for rows in torch.arange(ROWS).split(512)]

    def forward() -> None:
        with torch.no_grad():
            net(torch.from_numpy(X))

    def descend() -> None:
        with torch.no_grad():
            for batch in batches:
                inference(Context(fitted.nets_, batch, Binary()))

    jobs = {"forward": forward, "proba": lambda: fitted.predict_proba(X), "gbi": descend}
    seconds = measure(jobs, repeats, **how)
    return {
        "predict_proba / bare forward pass": seconds["proba"] / seconds["forward"],
        "GBI of 20 steps / bare forward pass": seconds["gbi"] / seconds["forward"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--busy", action="store_true", help="compare the least CPU times")
    parser.add_argument("--results", help="folder of the results store")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    how: dict[str, Any] = {"pick": min, "clock": time.process_time} if arguments.busy else {}
    ratios = training_ratios(arguments.repeats, **how)
    ratios |= prediction_ratios(2 * arguments.repeats, **how)
    for name, ratio in ratios.items():
        verdict = "ok" if ratio <= LIMITS[name] else "TOO SLOW"
        print(f"{name:55s} {ratio:5.2f}x  (limit {LIMITS[name]}x)  {verdict}")
    if arguments.results:
        from lossnet.reports import record

        record(
            arguments.results,
            command="python benchmarks/speed.py",
            data="speed",
            data_checksum="synthetic, bibtex shape",
            method="ratios",
            seed=0,
            configuration={"repeats": arguments.repeats},
            metrics=ratios,
            seconds=time.perf_counter() - began,
        )
    return int(any(ratio > LIMITS[name] for name, ratio in ratios.items()))


if __name__ == "__main__":
    raise SystemExit(main())
