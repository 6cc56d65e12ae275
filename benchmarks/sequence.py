"""Tagging on real data.

    python benchmarks/sequence.py run --data twitter_pos --seeds 5   # every row of the table
    python benchmarks/sequence.py truncation                         # paper 003, Table 1, one seed
    python benchmarks/sequence.py table                              # what the store holds

``run`` fits every row of :data:`ROWS` on the training sentences, early stopping on the development
part, and records token accuracy and span F1 of the test parts. Runs that are in the store are not
done again. Data is found at ``../shared/data`` or ``$LOSSNET_DATA``; every method has the same
networks, vectors, epochs and patience.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from text import encoder

from lossnet import SequenceTagger
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.sequence import SequenceData, load_sequences, span_scores, token_accuracy

ROOT = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Task:
    """A data set: its files, what early stopping watches, the tagger's settings, its rows."""

    train: str
    validation: str
    tests: dict[str, str]
    metric: str
    settings: dict[str, Any]
    rows: tuple[str, ...]


#: The tagger of rows with a transformer: all of it trained; what early stopping may take is the
#: schedule's length. It is uncased: capitals, which names have, reach it by the case column alone.
TRANSFORMER: dict[str, Any] = {
    "encoder": "minilm",
    "encoder_training": "full",
    "energy_features": "shared",
    "precision": "bfloat16",
    "vectors": None,
    "dropout": 0.1,
    "chars": False,
    "max_epochs": 5,
    "patience": 5,
}
#: Rows of the tables: a method, its parameters and the tagger's.
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
    "implicit-ssvm": ("implicit-ssvm", {}, {}),
    "cross-entropy, MiniLM": ("cross-entropy", {}, TRANSFORMER),
    "seal-nce, MiniLM": ("seal-nce", {"energy_steps": 1}, TRANSFORMER),
}

TASKS = {
    "twitter_pos": Task(
        "oct27.train",
        "oct27.dev",
        {"oct27": "oct27.test", "daily547": "daily547.conll"},
        "accuracy",
        {"hidden": 100, "dropout": 0.5, "chars": False, "max_epochs": 30, "patience": 6},
        tuple(row for row in ROWS if row != "implicit-ssvm" and "MiniLM" not in row),
    ),
    "wnut17": Task(
        "train.conll",
        "dev.conll",
        {"test": "test.conll"},
        "span-f1",
        {"hidden": 100, "dropout": 0.5, "chars": True, "max_epochs": 15, "patience": 4},
        (
            "cross-entropy",
            "crf",
            "infnet-plus",
            "infnet-plus + GE(c)",
            "implicit-ssvm",
            "cross-entropy, MiniLM",
            "seal-nce, MiniLM",
        ),
    ),
}

#: Without cross-entropy a net must not be carried off before the energy knows anything: it takes
#: small steps. At the usual rate it comes to give all tokens one tag and stays there, cut or not.
PATIENT: dict[str, Any] = {
    "net_steps": 1,
    "task_optimiser": {"lr": 2e-4},
    "energy_optimiser": {"lr": 1e-3},
}
#: Paper 003's Table 1: which losses of infnet are cut at zero, and with cross-entropy or without.
TRUNCATION: dict[str, dict[str, Any]] = {
    "truncated": {"truncate": True, "xent_weight": 0.0},
    "not truncated": {"truncate": False, "xent_weight": 0.0},
    "truncated, with cross-entropy": {"truncate": True, "xent_weight": 1.0},
    "not truncated, with cross-entropy": {"truncate": False, "xent_weight": 1.0},
}
#: Nets that are as good as untrained: their learning rates are next to nothing.
UNTRAINED = {
    "task_optimiser": {"lr": 1e-12},
    "energy_optimiser": {"lr": 1e-12},
    "tune_optimiser": {"lr": 1e-12},
}
#: Epochs of these runs.
TRUNCATION_EPOCHS = 100

VECTORS = ROOT / "vectors" / "glove6b_100d_subset.npz"


def parts(name: str) -> tuple[SequenceData, SequenceData, dict[str, SequenceData]]:
    """Training, development and test sentences."""
    task, folder = TASKS[name], ROOT / "sequence" / name
    scheme = "BIOES" if task.metric == "span-f1" else None

    def read(file: str) -> SequenceData:
        return load_sequences(folder / file, scheme=scheme)

    tests = {part: read(file) for part, file in task.tests.items()}
    return read(task.train), read(task.validation), tests


def tagger(name: str, method: str, params: dict[str, Any], seed: int, **own: Any) -> SequenceTagger:
    """A tagger with the settings of a data set."""
    settings = {"metric": TASKS[name].metric, "vectors": VECTORS, **TASKS[name].settings, **own}
    if settings.get("encoder"):
        settings["encoder"] = encoder()
    # The rows compare training, not decisions.
    settings |= {"method_params": params or None, "decode": "argmax"}
    settings.setdefault("chain", False)  # crf is the row with a chain
    return SequenceTagger(method, random_state=seed, **settings)


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            for row in arguments.rows or TASKS[name].rows:
                one(arguments, name, row, seed)


def one(arguments: argparse.Namespace, name: str, row: str, seed: int) -> None:
    """One fit, unless the store holds it."""
    method, params, own = ROWS[row]
    train, dev, tests = parts(name)
    model = tagger(name, method, params, seed, **own)
    key = {"data": name, "method": row, "seed": seed, "configuration": configuration(model)}
    checksum = train.checksum()
    if has(arguments.results, **key, data_checksum=checksum):
        return
    began = time.perf_counter()
    model.fit(train, validation_data=dev)
    metrics = {"epochs": float(len(model.history_))}
    for part, data in {"validation": dev, **tests}.items():
        found = model.predict(data)
        metrics[f"{part} accuracy"] = token_accuracy(data.tags or [], found)
        if TASKS[name].metric == "span-f1":
            metrics[f"{part} span-f1"] = span_scores(data.tags or [], found).f1
    keep(arguments, key, checksum, metrics, time.perf_counter() - began)


def configuration(model: SequenceTagger) -> dict[str, Any]:
    """Every setting that could change a result, defaults too."""
    free = ("method", "device", "random_state", "verbose", "vectors", "encoder")
    own = {k: v for k, v in model.get_params(deep=False).items() if k not in free}
    words = {"encoder": Path(str(model.encoder)).parent.name} if model.encoder else {}
    words |= {"vectors": VECTORS.name} if model.vectors else {}
    return {**own, **words, "method_params": model.resolved_method_params()}


def keep(
    arguments: argparse.Namespace,
    key: dict[str, Any],
    checksum: str,
    metrics: dict[str, float],
    seconds: float,
) -> None:
    """Write a run to the store and tell of it."""
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=metrics,
        seconds=seconds,
        tags=["final"],
        **key,
    )
    shown = {k: round(100 * v, 2) for k, v in metrics.items() if k != "epochs"}
    print(key["data"], key["method"], key["seed"], shown, flush=True)


def truncation(arguments: argparse.Namespace) -> None:
    """Paper 003's Table 1 on Twitter: accuracy on validation at the end, and the hinge there."""
    train, dev, _ = parts("twitter_pos")
    for row, own in {"untrained": UNTRAINED, **TRUNCATION}.items():
        params = {**PATIENT, **own}
        # Without early stopping's choice of an epoch: what counts is where training ends.
        epochs = 1 if row == "untrained" else TRUNCATION_EPOCHS
        model = tagger("twitter_pos", "infnet", params, 0, max_epochs=epochs, patience=epochs)
        key = {"data": "twitter_pos-truncation", "method": row, "seed": 0}
        key["configuration"] = configuration(model)
        if has(arguments.results, **key, data_checksum=train.checksum()):
            continue
        began = time.perf_counter()
        model.fit(train, validation_data=dev)
        last = [epoch for epoch in model.history_ if epoch["phase"] == "infnet"][-1]
        metrics = {"validation accuracy": last["metric"], "hinge loss": last["hinge loss"]}
        keep(arguments, key, train.checksum(), metrics, time.perf_counter() - began)
    print_truncation(arguments)


def print_truncation(arguments: argparse.Namespace) -> None:
    """What the store holds of :func:`truncation`."""
    print("| infnet | validation accuracy at the end | hinge loss |\n|---|---|---|")
    runs = {run.method: run for run in find(arguments.results, data="twitter_pos-truncation")}
    for row in ("untrained", *TRUNCATION):
        if row in runs:
            accuracy, hinge = (runs[row].metrics[k] for k in ("validation accuracy", "hinge loss"))
            print(f"| {row} | {100 * (accuracy or 0.0):.1f} | {hinge or 0.0:.3f} |")


def table(arguments: argparse.Namespace) -> None:
    """Mean ± deviation over seeds."""
    for name in arguments.data:
        runs = find(arguments.results, data=name, tags="final")
        if not runs:
            continue
        columns = sorted(key for key in runs[0].metrics if key != "epochs")
        print(f"\n### {name}\n")
        print("| method | n | " + " | ".join(columns) + " | seconds |")
        print("|---" * (3 + len(columns)) + "|")
        for row in ROWS:
            members = [one for one in runs if one.method == row]
            if members:
                cells = [summarise([one.metrics.get(key) for one in members]) for key in columns]
                cells += [summarise([one.seconds for one in members], percent=False, digits=0)]
                print(f"| {row} | {len(members)} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = {"run": run, "truncation": truncation, "table": table}
    parser.add_argument("what", choices=list(commands))
    parser.add_argument("--data", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--rows", nargs="+", choices=list(ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    commands[arguments.what](arguments)


if __name__ == "__main__":
    main()
