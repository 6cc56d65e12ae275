"""Constituency parsing by tagging on the English Web Treebank.

    python benchmarks/trees.py run      # every row, one seed
    python benchmarks/trees.py table    # what the store holds

``run`` fits every row of :data:`ROWS`, early stopping by bracket F1 on the development part, and
records bracket F1 and exact trees. To save time it trains on every second tree, and to keep the
random field's transitions few, on those of them whose tags all occur at least :data:`LEAST` times;
development and test trees are all counted. Every method has the same networks, vectors, epochs and
patience. Data is found at ``../shared/data`` or ``$LOSSNET_DATA``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from sequence import ROOT, VECTORS, configuration, keep

from lossnet import SequenceTagger
from lossnet.reports import find, has, summarise
from lossnet.tasks.sequence import TreeData, bracket_scores, read_trees

DATA = "trees_ewt"
#: Every n-th training tree is used; how often a tag must occur in these.
EVERY, LEAST = 2, 10
SETTINGS: dict[str, Any] = {
    **{"hidden": 100, "dropout": 0.5, "chars": True, "max_epochs": 15, "patience": 4},
    **{"metric": "bracket-f1", "decode": "argmax", "chain": False},
}
#: A method, its parameters and the tagger's; GE(a) is paper 003's tag language model.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "cross-entropy": ("cross-entropy", {}),
    "crf": ("crf", {}),
    "infnet-plus + GE(a)": ("infnet-plus", {"global_energy": "forward"}),
}


def frequent(data: TreeData) -> TreeData:
    """The trees without rare tags."""
    counts = Counter(tag for tags in data.tags or [] for tag in tags)
    kept = [k for k, tags in enumerate(data.tags or []) if min(map(counts.get, tags)) >= LEAST]
    return data.subset(kept)


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold."""
    folder = ROOT / "sequence" / DATA
    train, dev, test = (read_trees(folder / f"{part}.trees") for part in ("train", "dev", "test"))
    train = frequent(train.subset(range(0, len(train), EVERY)))
    print(f"{len(train)} training trees, {len(train.tag_names)} tags", flush=True)
    for seed in range(arguments.seeds):
        for row in arguments.rows or ROWS:
            method, own = ROWS[row]
            model = SequenceTagger(method, random_state=seed, vectors=VECTORS, **SETTINGS, **own)
            settings = {**configuration(model), "every": EVERY, "least": LEAST}
            key = {"data": DATA, "method": row, "seed": seed, "configuration": settings}
            if not has(arguments.results, **key, data_checksum=train.checksum()):
                began = time.perf_counter()
                model.fit(train, validation_data=dev)
                metrics = measured(model, {"validation": dev, "test": test})
                keep(arguments, key, train.checksum(), metrics, time.perf_counter() - began)


def measured(model: SequenceTagger, parts: dict[str, TreeData]) -> dict[str, float]:
    """The metrics of some parts, and how many epochs were run."""
    metrics = {"epochs": float(len(model.history_))}
    for part, data in parts.items():
        scores = bracket_scores(data.trees, model.predict_trees(data))
        metrics |= {f"{part} bracket-f1": scores.f1, f"{part} exact-trees": scores.exact}
        metrics |= {f"{part} precision": scores.precision, f"{part} recall": scores.recall}
    return metrics


def table(arguments: argparse.Namespace) -> None:
    """Mean ± deviation over seeds."""
    runs = find(arguments.results, data=DATA, tags="final")
    columns = sorted(key for key in runs[0].metrics if key != "epochs") if runs else []
    print("| method | n | " + " | ".join(columns) + " | seconds |")
    print("|---" * (3 + len(columns)) + "|")
    for row in ROWS:
        if members := [one for one in runs if one.method == row]:
            cells = [summarise([one.metrics.get(key) for one in members]) for key in columns]
            cells += [summarise([one.seconds for one in members], percent=False, digits=0)]
            print(f"| {row} | {len(members)} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = {"run": run, "table": table}
    parser.add_argument("what", choices=list(commands))
    parser.add_argument("--rows", nargs="+", choices=list(ROWS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    commands[arguments.what](arguments)


if __name__ == "__main__":
    main()
