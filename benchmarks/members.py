"""Several task-nets: what they add, and what they cost.

    OMP_NUM_THREADS=1 python benchmarks/members.py run --data emotions yeast --seeds 3   # resumable
    python benchmarks/members.py table

Cross-entropy and seal-nce with one net and with four, the library's other defaults, the threshold
tuned on validation rows; example F1 and exact match of the test part, and processor seconds of
training.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from label_decisions import parts

from lossnet import MultiLabelClassifier
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.multilabel import get_metric

SETS = ("emotions", "yeast", "scene", "medical", "enron", "bibtex")
ROWS = [(method, members) for method in ("cross-entropy", "seal-nce") for members in (1, 4)]
METRICS = ("example-f1", "subset-accuracy")


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store lacks."""
    for name in arguments.data:
        data = parts(name)
        checksum = data.train.checksum()
        for seed in range(arguments.seeds):
            for method, members in ROWS:
                given = {"members": members, "decode": "threshold"}
                model = MultiLabelClassifier(method, random_state=seed, **given)
                own = {**given, "method_params": model.resolved_method_params()}
                row = f"{method}, {members}"
                key = {"data": f"members-{name}", "method": row, "seed": seed, "configuration": own}
                if has(arguments.results, **key, data_checksum=checksum):
                    continue
                began = time.process_time()
                model.fit(data.train, validation_data=data.validation)
                seconds = time.process_time() - began
                predicted = model.predict(data.test)
                found = {m: get_metric(m)(data.test.Y, predicted) for m in METRICS}
                record(
                    arguments.results,
                    command=" ".join(["python", *sys.argv]),
                    data_checksum=checksum,
                    metrics=found | {"epochs": float(len(model.history_))},
                    seconds=seconds,
                    tags=["members"],
                    **key,
                )
                print(name, seed, row, {k: round(100 * v, 1) for k, v in found.items()}, flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Mean and deviation over seeds, and seconds an epoch relative to seal-nce with one net."""
    print("| data | nets | example F1 | exact match | time of an epoch |\n|---|---|---|---|---|")
    for name in SETS:
        runs = find(arguments.results, data=f"members-{name}")
        each = {row: [one for one in runs if one.method == row] for row in _words()}
        per_epoch = {
            row: sum(one.seconds for one in own) / sum(one.metrics["epochs"] or 0 for one in own)
            for row, own in each.items()
            if own
        }
        for row, own in each.items():
            if own:
                cells = [summarise([one.metrics[m] for one in own]) for m in METRICS]
                ratio = per_epoch[row] / per_epoch.get("seal-nce, 1", per_epoch[row])
                print(f"| {name} | {row} | {' | '.join(cells)} | {ratio:.2f} |")


def _words() -> list[str]:
    return [f"{method}, {members}" for method, members in ROWS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
