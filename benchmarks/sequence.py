"""Tagging on real data: ``python benchmarks/sequence.py run --data twitter_pos --seeds 5``.

Fits every row of :data:`ROWS` on the training sentences, early stopping on the development part,
and records token accuracy and span F1 of the test parts; ``table`` prints what the store holds.
Runs that are in the store are not done again. Data is found at ``../shared/data`` or
``$LOSSNET_DATA``; every method has the same networks, vectors, epochs and patience.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from lossnet import SequenceTagger
from lossnet.data import SequenceData, load_sequences
from lossnet.metrics import span_scores, token_accuracy
from lossnet.recipes import METHODS, defaults
from lossnet.reports import find, has, record, summarise

ROOT = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data"))

#: Files of the training, development and test parts, and what early stopping watches.
DATA: dict[str, tuple[str, str, dict[str, str], str]] = {
    "twitter_pos": (
        "oct27.train",
        "oct27.dev",
        {"oct27": "oct27.test", "daily547": "daily547.conll"},
        "accuracy",
    ),
    "wnut17": ("train.conll", "dev.conll", {"test": "test.conll"}, "span-f1"),
}

#: Rows of the table: a method, its parameters and the tagger's.
ROWS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "cross-entropy": ("cross-entropy", {}, {}),
    "crf": ("crf", {}, {}),
    "infnet": ("infnet", {}, {}),
    "infnet-plus-separated": ("infnet-plus", {"sharing": "separated"}, {}),
    "infnet-plus-shared": ("infnet-plus", {"sharing": "shared"}, {}),
    "infnet-plus": ("infnet-plus", {}, {}),
    "infnet-plus + GE(c)": ("infnet-plus", {}, {"global_energy": "both+words"}),
    "seal-nce": ("seal-nce", {}, {}),
    "implicit-nce": ("implicit-nce", {}, {}),
}

SETTINGS: dict[str, Any] = {"hidden": 100, "max_epochs": 60, "patience": 10}
VECTORS = ROOT / "vectors" / "glove6b_100d_subset.npz"


def parts(name: str) -> tuple[SequenceData, SequenceData, dict[str, SequenceData]]:
    """Training, development and test sentences."""
    train, dev, tests, _ = DATA[name]
    folder = ROOT / "sequence" / name
    scheme = "BIOES" if DATA[name][3] == "span-f1" else None

    def read(file: str) -> SequenceData:
        return load_sequences(folder / file, scheme=scheme)

    return read(train), read(dev), {part: read(file) for part, file in tests.items()}


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            train, dev, tests = parts(name)
            for row in arguments.rows:
                one(arguments, name, row, seed, train, dev, tests)


def one(
    arguments: argparse.Namespace,
    name: str,
    row: str,
    seed: int,
    train: SequenceData,
    dev: SequenceData,
    tests: dict[str, SequenceData],
) -> None:
    """One fit, unless the store holds it."""
    method, params, own = ROWS[row]
    settings = {**SETTINGS, "metric": DATA[name][3], "chars": name == "wnut17", **own}
    configuration = {**settings, "method_params": {**defaults(method), **params}}
    key = {"data": name, "method": row, "seed": seed, "configuration": configuration}
    checksum = train.checksum()
    if has(arguments.results, **key, data_checksum=checksum):
        return
    began = time.perf_counter()
    tagger = SequenceTagger(
        method, method_params=params or None, vectors=VECTORS, random_state=seed, **settings
    )
    tagger.fit(train, validation_data=dev)
    metrics = {"epochs": float(len(tagger.history_))}
    for part, data in {"validation": dev, **tests}.items():
        found = tagger.predict(data)
        metrics[f"{part} accuracy"] = token_accuracy(data.tags or [], found)
        if DATA[name][3] == "span-f1":
            metrics[f"{part} span-f1"] = span_scores(data.tags or [], found).f1
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=metrics,
        seconds=time.perf_counter() - began,
        tags=["final"],
        **key,
    )
    print(name, row, seed, {k: round(100 * v, 2) for k, v in metrics.items() if k != "epochs"})


def table(arguments: argparse.Namespace) -> None:
    """Mean ± deviation over seeds."""
    for name in arguments.data:
        runs = find(arguments.results, data=name, tags="final")
        if not runs:
            continue
        columns = sorted(key for key in runs[0].metrics if key != "epochs")
        print(f"\n### {name}\n")
        print("| method | n | " + " | ".join(columns) + " |")
        print("|---" * (2 + len(columns)) + "|")
        for row in ROWS:
            members = [one for one in runs if one.method == row]
            if members:
                cells = [summarise([one.metrics.get(key) for one in members]) for key in columns]
                print(f"| {row} | {len(members)} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    assert all(method in METHODS for method, _, _ in ROWS.values())
    torch.set_num_threads(1)
    {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
