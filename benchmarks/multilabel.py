"""Every method on real multi-label data, from search to table.

    python benchmarks/multilabel.py search --data bibtex cal500     # the same trials a method
    python benchmarks/multilabel.py final --data bibtex --seeds 3   # the best trial, on new seeds
    python benchmarks/multilabel.py table                           # what the store holds

``search`` fits one seed of every trial in :data:`TRIALS` and records its validation metric;
``final`` takes each method's best trial on that data set, or the library's defaults where none
was searched, and measures the test part. Runs that are in the store are not done again, so all of
it may be stopped and taken up. Data is found at ``../shared/data/mlc`` or ``$LOSSNET_DATA/mlc``;
every method has the same network, epochs, patience and threshold tuning.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from lossnet import MultiLabelClassifier
from lossnet.parameters import plain
from lossnet.proposals import NetOutput
from lossnet.recipes import parameters
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.multilabel import (
    MultiLabelData,
    evaluate,
    load_files,
    load_splits,
    refinement_curve,
)
from lossnet.tasks.parts import Parts

DATA = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data")) / "mlc"
ALL_SETS = ["bibtex", "cal500", "genbase", "delicious", "spo_fun", "enron", "medical"]
#: bibtex again, as Mulan divides it.
OFFICIAL = "bibtex-official"

#: The same for every method.
NETWORK: dict[str, Any] = {
    "hidden": [400, 400],
    "dropout": 0.5,
    "global_hidden": 200,
    "batch_size": 32,
}
#: Rows above which a data set counts as large; epochs and patience of large and small ones.
LARGE = 4000
EPOCHS = {True: {"max_epochs": 40, "patience": 10}, False: {"max_epochs": 120, "patience": 20}}

INFNET: list[dict[str, Any]] = [
    {},
    {"energy_weight": 1.0},
    {"energy_weight": 1.0, "energy_optimiser": {"lr": 1e-3}},
]
ALEN: list[dict[str, Any]] = [
    {},
    {"energy_weight": 1.0},
    {"energy_weight": 1.0, "task_optimiser": {"lr": 1e-3}},
]
IMPLICIT: list[dict[str, Any]] = [{}, {"energy_weight": 3.0}, {"energy_weight": 0.3}]

#: Three trials a method, the first its defaults; around the best of seal_best_hparams.json.
TRIALS: dict[str, list[dict[str, Any]]] = {
    "cross-entropy": [{}, {"task_optimiser": {"lr": 1e-3}}, {"task_optimiser": {"lr": 5e-3}}],
    "task-ranking": [{}, {"task_optimiser": {"lr": 1e-3}}, {"samples": 60}],
    "spen": [{}, {"energy_optimiser": {"lr": 2e-5}}, {"energy_optimiser": {"lr": 5e-4}}],
    "spen-e2e": [{}, {"energy_optimiser": {"lr": 1e-4}}, {"inference": {"lr": 0.3}}],
    "dvn": [{}, {"inference": {"lr": 2.0}}, {"inference": {"lr": 5.0}}],
    "dvn-long-steps": [{}],
    "nce-energy": [{}, {"inference": {"lr": 0.02}}, {"energy_optimiser": {"lr": 2e-4}}],
    "seal-static-margin": [{}, {"energy_weight": 0.1}, {"energy_weight": 1.0}],
    "seal-static-regression": [{}, {"energy_weight": 1.0}, {"energy_weight": 5.0}],
    "seal-static-nce": [
        {},
        {"energy_weight": 0.3, "entropy_weight": 0.3},
        {"energy_weight": 3.0, "entropy_weight": 3.0},
    ],
    "seal-margin": [{}, {"energy_weight": 0.1}, {"energy_weight": 1.0}],
    "seal-regression": [{}, {"energy_weight": 10.0}, {"energy_optimiser": {"lr": 3e-3}}],
    "seal-regression-s": [{}, {"energy_weight": 10.0}, {"energy_optimiser": {"lr": 3e-3}}],
    "seal-nce": [
        {},
        {"energy_weight": 3.0, "entropy_weight": 3.0},
        {"energy_weight": 3.0, "entropy_weight": 0.0, "task_optimiser": {"lr": 1e-3}},
    ],
    "seal-ranking": [{}, {"energy_weight": 1.0}, {"energy_weight": 6.0}],
    "infnet": INFNET,
    "infnet-plus-separated": INFNET,
    "infnet-plus-shared": INFNET,
    "infnet-plus": INFNET,
    "alen": ALEN,
    "aen": ALEN,
    "implicit-ssvm": [{}, {"energy_weight": 0.01}, {"energy_weight": 0.1}],
    "implicit-ssvm-direct": [{}, {"energy_weight": 0.01}, {"energy_weight": 0.1}],
    "implicit-dvn": [{}, {"energy_weight": 3.0}, {"energy_weight": 10.0}],
    "implicit-dvn-direct": [{}, {"energy_weight": 3.0}, {"energy_weight": 10.0}],
    "implicit-cd": [{}, {"energy_weight": 1.0}, {"energy_weight": 3.0}],
    "implicit-cd-direct": [{}, {"energy_weight": 1.0}, {"energy_weight": 3.0}],
    "implicit-nce": IMPLICIT,
    "implicit-nce-direct": IMPLICIT,
    "implicit-nce-all": [{}],
}

#: Methods whose net alone is a row of its own, and the most steps its output is refined by.
REFINED = ("alen", "aen")
MOST_STEPS = 30

#: Rows of the tables that are a method with one of its parameters changed.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "dvn-long-steps": ("dvn", {"inference": {"lr": 2.0}}),
    "infnet-plus-separated": ("infnet-plus", {"sharing": "separated"}),
    "infnet-plus-shared": ("infnet-plus", {"sharing": "shared"}),
    "implicit-nce-all": ("implicit-nce", {"path": "all", "energy_weight": 3.0}),
    **{
        f"{name}-direct": (name, {"gradient": "direct"})
        for name in ("implicit-ssvm", "implicit-dvn", "implicit-cd", "implicit-nce")
    },
}

_LOADED: dict[str, tuple[Parts[MultiLabelData], str]] = {}


def data(name: str) -> tuple[Parts[MultiLabelData], str]:
    """A data set's parts and the checksum of its training rows."""
    if name not in _LOADED:
        splits = official() if name == OFFICIAL else load_splits(DATA / name)
        _LOADED[name] = splits, splits.train.checksum()
    return _LOADED[name]


def official() -> Parts[MultiLabelData]:
    """bibtex as Mulan splits it, 15 % of its training rows taken for validation."""
    folder = DATA / "bibtex"
    train, test = load_files([folder / f"bibtex-{part}.arff" for part in ("train", "test")])
    return Parts(train, None, test).with_validation(0.15)


def configuration(method: str, trial: dict[str, Any], rows: int, most: int) -> dict[str, Any]:
    """Everything a run is made of but data and seed, the method's defaults written out."""
    epochs = dict(EPOCHS[rows > LARGE])
    if rows > LARGE:
        epochs["max_epochs"] = min(epochs["max_epochs"], most)
    method, fixed = VARIANTS.get(method, (method, {}))
    return {**NETWORK, **epochs, "method_params": plain(parameters(method, fixed, trial))}


def run(
    arguments: argparse.Namespace,
    name: str,
    method: str,
    trial: dict[str, Any],
    seed: int,
    tag: str,
) -> None:
    """Fit and record one run, unless the store holds it."""
    splits, checksum = data(name)
    settings = configuration(
        method, trial, len(splits.train), arguments.search_epochs if tag == "search" else 10**9
    )
    key = {
        "data": name,
        "method": method,
        "seed": seed,
        "configuration": {**settings, "stage": tag},
    }
    if has(arguments.results, **key, data_checksum=checksum):
        return
    assert splits.validation is not None
    assert splits.test is not None
    began = time.perf_counter()
    name = VARIANTS.get(method, (method,))[0]
    model = MultiLabelClassifier(name, random_state=seed, decode="threshold", **settings)
    model.fit(
        splits.train.X, splits.train.Y, validation_data=(splits.validation.X, splits.validation.Y)
    )
    seconds = time.perf_counter() - began
    rows = {method: model_metrics(model, splits, tag)}
    if method in REFINED and tag == "final":
        # One fit, two rows: refined by as many steps as serve validation, and the net alone.
        curve = refinement_curve(model, splits.test.X, splits.test.Y, steps=MOST_STEPS)
        model.tune_refinement(splits.validation.X, splits.validation.Y, most=MOST_STEPS)
        rows[method] = model_metrics(model, splits, tag) | {
            "refinement steps": float(model.refine_steps_ or 0),
            "example-f1 after 6 steps": float(curve[6]),
            "example-f1 of the best step": float(curve.max()),
        }
        model.set_params(refine=NetOutput())
        model.tune_threshold(splits.validation.X, splits.validation.Y)
        rows[f"{method}-net"] = model_metrics(model, splits, tag)
    for row, metrics in rows.items():
        record(
            arguments.results,
            command=" ".join(["python", *sys.argv]),
            data_checksum=checksum,
            metrics=metrics,
            seconds=seconds,
            tags=[tag],
            **(key | {"method": row}),
        )
    metrics = rows[method]
    shown = metrics.get("example-f1", metrics["validation example-f1"])
    print(
        f"{tag} {name} {method} {trial} seed {seed}: {100 * shown:.2f} in {seconds:.0f} s",
        flush=True,
    )


def model_metrics(
    model: MultiLabelClassifier, splits: Parts[MultiLabelData], tag: str
) -> dict[str, Any]:
    """What a run records of a fitted model; the test part only of final runs."""
    metrics: dict[str, Any] = {"epochs": len(model.history_), "threshold": model.threshold_}
    metrics |= measured(model, splits.validation, "validation ")
    return metrics | measured(model, splits.test, "") if tag == "final" else metrics


def measured(model: MultiLabelClassifier, part: Any, prefix: str) -> dict[str, float]:
    """All metrics of a part at the tuned threshold, and those that depend on it at 0.5."""
    proba = model.predict_proba(part.X)
    tuned = evaluate(part.Y, proba, model.threshold_)
    fixed = evaluate(part.Y, proba, 0.5)
    return {f"{prefix}{key}": value for key, value in tuned.items()} | {
        f"{prefix}{key} at 0.5": value for key, value in fixed.items() if key != "map"
    }


def best_trial(arguments: argparse.Namespace, name: str, method: str) -> dict[str, Any]:
    """Parameters of the method's best search run on this data, or none: its defaults.

    bibtex's official split takes the trials of the other one. Runs of a recipe that had parameters
    it lacks now do not count; one that came later was at its default.
    """
    name = "bibtex" if name == OFFICIAL else name
    known = parameters(VARIANTS.get(method, (method,))[0]) if method in TRIALS else {}
    found = find(arguments.results, data=name, method=method, tags="search")
    runs = [run for run in found if run.configuration["method_params"].keys() <= known.keys()]
    if not runs:
        return {}
    best = max(runs, key=lambda run: run.metrics["validation example-f1"] or 0.0)
    return dict(best.configuration["method_params"])


def search(arguments: argparse.Namespace) -> None:
    """One seed of every trial."""
    for name in arguments.data:
        for method in arguments.methods:
            for trial in TRIALS[method]:
                run(arguments, name, method, trial, arguments.first_seed, "search")


def final(arguments: argparse.Namespace) -> None:
    """The best trial of every method on several seeds, seed by seed."""
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for name in arguments.data:
            for method in arguments.methods:
                trial = {} if arguments.defaults else best_trial(arguments, name, method)
                run(arguments, name, method, trial, seed, "final")


COLUMNS = ("example-f1", "example-f1 at 0.5", "subset-accuracy", "map")


def table(arguments: argparse.Namespace) -> None:
    """Tables of the final runs, one a data set, with the gain over cross-entropy."""
    for name in arguments.data:
        runs = [
            one
            for one in find(arguments.results, data=name, tags=["final", "baseline"])
            if chosen(arguments, one)
        ]
        if runs:
            print(f"\n### {name}\n")
            print(one_table(runs))


def chosen(arguments: argparse.Namespace, one: Run) -> bool:
    """Whether a run has the parameters that the search chose, where there was one."""
    method = one.method.removesuffix("-net")
    trial = best_trial(arguments, one.data, method)
    if not trial:
        return True
    name = VARIANTS.get(method, (method,))[0]
    given = one.configuration["method_params"]
    if not given.keys() <= parameters(name).keys():
        return False
    # A parameter that came later was at its default.
    return bool(plain(parameters(name, {}, given)) == plain(parameters(name, {}, trial)))


def one_table(runs: list[Run]) -> str:
    """Mean ± deviation over seeds; the gains are differences of means."""
    by_method: dict[str, list[Run]] = {}
    for one in runs:
        by_method.setdefault(one.method, []).append(one)
    known = [row for method in TRIALS for row in (method, f"{method}-net")]
    order = [m for m in known if m in by_method] + [m for m in by_method if m not in known]
    lines = [
        "| method | n | F1 tuned | F1 at 0.5 | exact match | MAP | gain tuned | gain at 0.5 "
        "| seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    base = by_method.get("cross-entropy", [])
    for method in order:
        members = by_method[method]
        cells = [summarise([one.metrics.get(key) for one in members]) for key in COLUMNS]
        gains = [_gain(members, base, key) for key in COLUMNS[:2]]
        seconds = summarise([one.seconds for one in members], percent=False, digits=0)
        lines.append("| " + " | ".join([method, str(len(members)), *cells, *gains, seconds]) + " |")
    return "\n".join(lines)


def _gain(runs: list[Run], base: list[Run], key: str) -> str:
    if not base or runs[0].method == "cross-entropy":
        return ""
    values, reference = ([one.metrics[key] or 0.0 for one in group] for group in (runs, base))
    return f"{100 * (sum(values) / len(values) - sum(reference) / len(reference)):+.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["search", "final", "table"])
    parser.add_argument("--data", nargs="+", default=ALL_SETS)
    parser.add_argument("--methods", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--search-epochs", type=int, default=25, help="epochs of a trial on a large data set"
    )
    parser.add_argument("--defaults", action="store_true", help="measure the defaults instead")
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"search": search, "final": final, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
