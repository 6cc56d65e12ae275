"""What a decision for the metric is worth: exact match and example F1, by rule and by method.

    python benchmarks/label_decisions.py run --metric subset-accuracy --data yeast scene --seeds 5
    python benchmarks/label_decisions.py run --metric example-f1 --data all --seeds 3
    python benchmarks/label_decisions.py table --metric subset-accuracy
    OMP_NUM_THREADS=1 python benchmarks/label_decisions.py cost   # seconds of each rule on bibtex

Every fit has the library's defaults with ``metric`` set to what is measured, early stopping and
thresholds on validation rows. A fit is measured twice on the test part: with the tuned threshold,
and as ``decode="auto"`` decides. ``cross-entropy xN`` is the mean probability of N nets, of as much
training time together as seal-nce takes, with a tuned threshold; N is measured on the first seed
and stored with the run. Runs that are in the store are not done again. Data is found at
``../shared/data/mlc`` or ``$LOSSNET_DATA/mlc``; digits is the built-in digits-attributes, for which
the share of label sets that contradict themselves is measured too.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from multilabel import DATA, OFFICIAL, official

from lossnet import MultiLabelClassifier
from lossnet.constraints import bind
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.multilabel import (
    MultiLabelData,
    contradicts,
    digits_attributes,
    get_metric,
    load_splits,
    tune_threshold,
)
from lossnet.tasks.multilabel.metrics import apply_threshold
from lossnet.tasks.parts import Parts

SETS = ["emotions", "yeast", "scene", "medical", "enron", "genbase", "cal500", "spo_fun",
        "digits", "bibtex", "delicious"]  # fmt: skip
#: Rows whose fits are shared: an ensemble is made of fits of its own.
ROWS = ("cross-entropy", "seal-nce", "cross-entropy xN")
#: Rows for data with a hierarchy: its constraints left out.
FREE = ("cross-entropy without constraints", "seal-nce without constraints")
#: Most nets of an ensemble.
MOST = 10
_PARTS: dict[str, Parts[MultiLabelData]] = {}


def parts(name: str) -> Parts[MultiLabelData]:
    """Training, validation and test rows."""
    if name not in _PARTS:
        own = {"digits": digits_attributes, OFFICIAL: official}
        found = own[name]() if name in own else load_splits(DATA / name)
        _PARTS[name] = found if found.validation is not None else found.with_validation(0.15)
    return _PARTS[name]


def fit(name: str, row: str, metric: str, seed: int) -> tuple[MultiLabelClassifier, float]:
    """A fitted model and its processor seconds, which other work changes less than the time."""
    data, began = parts(name), time.process_time()
    method, free = row.partition(" ")[0], row in FREE
    own: Any = {"constraints": ()} if free else {}
    model = MultiLabelClassifier(method, metric=metric, random_state=seed, **own)
    model.fit(data.train, validation_data=data.validation)
    return model, time.process_time() - began


def measured(name: str, metric: str, predicted: np.ndarray) -> dict[str, float]:
    """The metric of test predictions, contradictions, and how many break the data's constraints."""
    test = parts(name).test
    assert test is not None
    found = {"metric": float(get_metric(metric)(test.Y, predicted))}
    if name == "digits":
        found["contradictions"] = float(contradicts(predicted).mean())
    if test.constraints:
        valid = bind(test.constraints, test.label_names).allows(predicted)
        found["violations"] = float((~valid).mean())
    return found


def single(name: str, method: str, metric: str, seed: int) -> tuple[dict[str, Any], float]:
    """One fit, by its threshold and by its decision."""
    model, seconds = fit(name, method, metric, seed)
    test, decision = parts(name).test, model.decision_
    assert test is not None
    began = time.perf_counter()
    decided = measured(name, metric, model.predict(test.X))
    deciding = time.perf_counter() - began
    model.set_params(decode="threshold")
    cut = measured(name, metric, model.predict(test.X))
    found = {f"threshold {key}": value for key, value in cut.items()}
    found |= {f"decided {key}": value for key, value in decided.items()}
    return found | {"rule": decision.rule, "words": decision.words, "deciding": deciding}, seconds


def ensemble(
    arguments: argparse.Namespace, name: str, metric: str, seed: int
) -> tuple[dict[str, Any], float]:
    """The mean of several nets in the time of seal-nce."""
    kept = {"data": f"decisions-{name}", "tags": metric}
    times = {
        method: np.mean([run.seconds for run in find(arguments.results, method=method, **kept)])
        for method in ("cross-entropy", "seal-nce")
    }
    nets = int(np.clip(round(times["seal-nce"] / times["cross-entropy"]), 2, MOST))
    data, total, found = parts(name), 0.0, []
    assert data.validation is not None
    assert data.test is not None
    for member in range(nets):
        model, seconds = fit(name, "cross-entropy", metric, seed + 100 * (member + 1))
        found.append([model.predict_proba(part.X) for part in (data.validation, data.test)])
        total += seconds
    validation, test = (np.mean(one, axis=0) for one in zip(*found, strict=True))
    threshold, _ = tune_threshold(data.validation.Y, validation, metric=metric)
    cut = measured(name, metric, apply_threshold(test, threshold))
    return {f"threshold {key}": value for key, value in cut.items()} | {"nets": nets}, total


def configuration(row: str, metric: str) -> dict[str, Any]:
    """What a run is made of but data and seed."""
    method = row.partition(" ")[0]
    return {"metric": metric, "params": MultiLabelClassifier(method).resolved_method_params()}


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    names = SETS if arguments.data == ["all"] else arguments.data
    for seed in range(arguments.seeds):
        for name in names:
            for row in arguments.rows:
                checksum = parts(name).train.checksum()
                key = {"data": f"decisions-{name}", "method": row, "seed": seed,
                       "configuration": configuration(row, arguments.metric)}  # fmt: skip
                if has(arguments.results, **key, data_checksum=checksum):
                    continue
                if row.endswith("xN"):
                    metrics, seconds = ensemble(arguments, name, arguments.metric, seed)
                else:
                    metrics, seconds = single(name, row, arguments.metric, seed)
                words = {k: metrics.pop(k) for k in ("rule", "words") if k in metrics}
                record(arguments.results, command=" ".join(["python", *sys.argv]), metrics=metrics,
                       seconds=seconds, tags=[arguments.metric, *filter(None, [words.get("rule")])],
                       data_checksum=checksum, **key)  # fmt: skip
                shown = {k: round(v, 4) for k, v in metrics.items()}
                print(name, row, seed, shown, words, f"{seconds:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """The metric by set, row and rule."""
    head = ["cross-entropy", "cross-entropy, decided", "cross-entropy xN", "seal-nce",
            "seal-nce, decided"]  # fmt: skip
    print(f"| {arguments.metric} | n | {' | '.join(head)} | decided by |")
    print("|---" * (len(head) + 3) + "|")
    means: list[list[float]] = []
    for name in SETS:
        found = {row: find(arguments.results, data=f"decisions-{name}", method=row,
                           tags=arguments.metric) for row in ROWS}  # fmt: skip
        columns = [
            [100 * r.metrics[f"{how} metric"] for r in found[row] if f"{how} metric" in r.metrics]
            for row, how in (("cross-entropy", "threshold"), ("cross-entropy", "decided"),
                             ("cross-entropy xN", "threshold"), ("seal-nce", "threshold"),
                             ("seal-nce", "decided"))
        ]  # fmt: skip
        if not columns[0] or not columns[3]:
            continue
        rules = [tag for r in found["seal-nce"] for tag in r.tags if tag != arguments.metric]
        counts = ", ".join(f"{rule} {rules.count(rule)}" for rule in dict.fromkeys(rules))
        cells = [summarise([v / 100 for v in c]) if c else "-" for c in columns]
        print(f"| {name} | {len(columns[3])} | {' | '.join(cells)} | {counts} |")
        means.append([float(np.mean(c)) if c else float("nan") for c in columns])
    if means:
        cells = [f"{mean:.1f}" if mean == mean else "-" for mean in np.mean(means, axis=0)]
        print(f"| mean | | {' | '.join(cells)} | |")


def cost(arguments: argparse.Namespace) -> None:
    """Processor seconds of each rule for 1,499 rows of bibtex, the nets' passes included."""
    data = parts("bibtex")
    assert data.test is not None
    rows = data.test.X[:1499]
    settings: dict[str, Any] = {"random_state": 0, "max_epochs": 3, "validation_fraction": 0.0}
    model = MultiLabelClassifier("seal-nce", **settings).fit(data.train.X, data.train.Y)
    for metric, rule in (("example-f1", "threshold"), ("example-f1", "expected"),
                         ("example-f1", "samples"), ("subset-accuracy", "known"),
                         ("subset-accuracy", "mode")):  # fmt: skip
        model.set_params(metric=metric, decode=rule)
        taken = []
        for _ in range(3):
            began = time.process_time()
            model.predict(rows)
            taken.append(time.process_time() - began)
        print(f"{metric:>16} {rule:>10}: {min(taken):.2f} s for {rows.shape[0]:,} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table", "cost"])
    parser.add_argument("--metric", default="subset-accuracy")
    parser.add_argument("--data", nargs="+", default=["all"])
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=[*ROWS, *FREE])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"run": run, "table": table, "cost": cost}[arguments.what](arguments)


if __name__ == "__main__":
    main()
