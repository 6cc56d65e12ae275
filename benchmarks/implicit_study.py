"""Which departure from paper 002's Eq. 3 makes the complete gradient fail or hold on bibtex.

    python benchmarks/implicit_study.py run      # one setting at a time; takes up where it stopped
    python benchmarks/implicit_study.py table

The theory wants the inner problem solved and every path to the task-net followed; training solves
it by a step at a time, on batches, with dropout, a damped Gauss-Newton matrix and a few terms of a
series. Every row of :data:`STUDY` is implicit-nce with ``path="all"`` and one of these changed,
:data:`OBJECTIVES` are paper 002's four objectives with the direct gradient, the path through costs
and the complete one (Table 5). All on 1,500 training rows of bibtex, a smaller network and a few
epochs, so that a fit takes seconds; F1 is that of the validation rows at the tuned threshold, of
the best epoch and of the last one.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import multilabel
import numpy as np
from runs import main

from lossnet import Method, MultiLabelClassifier
from lossnet.errors import TrainingError
from lossnet.method import Optimiser, Phase
from lossnet.parameters import plain
from lossnet.recipes import build, parameters
from lossnet.recipes.parts import pretrain
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.multilabel import evaluate, load_splits

NAME = "bibtex-implicit-study"
ROWS = 1500
NETWORK: dict[str, Any] = {
    "hidden": [200, 200],
    "dropout": 0.5,
    "global_hidden": 200,
    "batch_size": 32,
    "max_epochs": 12,
    "patience": 12,
}
#: Method parameters, and settings of the estimator under "network". "pretrain" first trains the
#: task-net with cross-entropy; "alone" goes on with it alone, as many epochs, once the last epoch
#: of both is over: with the energy as it then is, does it find a better output?
STUDY: dict[str, dict[str, Any]] = {
    "cross-entropy": {"method": "cross-entropy"},
    "direct": {"gradient": "direct"},
    "cost": {"path": "cost"},
    "all": {},
    "all, log q constant": {"sampler": {"path_through_log_q": False}},
    "5 task steps": {"task_steps": 5},
    "20 task steps": {"task_steps": 20},
    "energy lr 1e-4": {"energy_optimiser": {"lr": 1e-4}},
    "energy clip 1": {"energy_optimiser": {"clip": 1.0}},
    "λ = 0.1": {"energy_weight": 0.1, "entropy_weight": 0.1},
    "cost, λ = 0.1": {"path": "cost", "energy_weight": 0.1, "entropy_weight": 0.1},
    "no entropy term": {"entropy_weight": 0.0},
    "damping 10": {"gradient": {"damping": 10.0}},
    "damping 100": {"gradient": {"damping": 100.0}},
    "Hessian, damping 10": {"gradient": {"damping": 10.0, "curvature": "hessian"}},
    "20 steps of cg": {"gradient": {"solver": {"kind": "cg", "steps": 20}}},
    "no dropout": {"network": {"dropout": 0.0}},
    "batches of 250": {"network": {"batch_size": 250}},
    "5 candidates": {"sampler": {"k": 5}},
    "80 candidates": {"sampler": {"k": 80}},
    "relaxed samples": {"sampler": {"straight_through": False}},
    "cost ten times": {"margin": 10.0},
    "task-net pretrained": {"extra": "pretrain"},
    "task-net alone afterwards": {"extra": "alone"},
}
OBJECTIVES = {
    f"{name}, {words}": {"method": f"implicit-{name}"} | given
    for name in ("ssvm", "dvn", "cd")
    for words, given in (
        ("direct", {"gradient": "direct"}),
        ("cost", {"path": "cost"}),
        ("all", {}),
    )
}
#: F1 on bibtex of Table 5, with the direct and with the implicit gradient.
PAPER = {
    "ssvm": ("43.15", "44.55"),
    "dvn": ("42.59", "44.94"),
    "cd": ("43.3", "45.76"),
    "nce": ("43.2", "46.21"),
}
_LOADED: dict[str, Any] = {}


def data() -> Any:
    """bibtex's parts, the training part cut to ROWS rows."""
    if not _LOADED:
        parts = load_splits(multilabel.DATA / "bibtex")
        rows = np.random.default_rng(0).permutation(len(parts.train))[:ROWS]
        _LOADED.update(train=parts.train.subset(np.sort(rows)), validation=parts.validation)
    return _LOADED


def settings(row: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A row's method, its parameters written out, and the estimator's settings."""
    given = dict(row)
    method, network = given.pop("method", "implicit-nce"), given.pop("network", {})
    given.pop("extra", None)
    if method != "cross-entropy":
        given = {"path": "all"} | given
    return method, plain(parameters(method, given)), NETWORK | network


def assembled(row: dict[str, Any]) -> Method:
    """The row's method, with a phase before or after where it asks for one."""
    name, given, _ = settings(row)
    method, extra = build(name, given), row.get("extra")
    if extra is None:
        return method
    (own,) = method.phases
    alone = Phase(own.updates[:1], name="task-net alone")
    both = (own, alone) if extra == "alone" else (pretrain("task", Optimiser(2e-3)), own)
    return Method(name, both)


def run(arguments: argparse.Namespace) -> None:
    """Fit and record the rows that the store lacks."""
    checksum = data()["train"].checksum()
    for seed in range(arguments.seeds):
        for words in arguments.rows or (STUDY | OBJECTIVES):
            row = (STUDY | OBJECTIVES)[words]
            method, given, network = settings(row)
            configuration = {"row": words, "method_params": given, **network}
            configuration |= {"extra": row["extra"]} if "extra" in row else {}
            key = {"data": NAME, "method": method, "seed": seed, "configuration": configuration}
            if has(arguments.results, **key, data_checksum=checksum):
                continue
            began = time.process_time()
            metrics = fitted(row, network, seed)
            record(
                arguments.results,
                command=" ".join(["python", *sys.argv]),
                data_checksum=checksum,
                metrics=metrics,
                seconds=time.process_time() - began,
                tags=["study"],
                **key,
            )
            shown = {name: round(value, 3) for name, value in metrics.items()}
            print(words, seed, shown, f"{time.process_time() - began:.0f} s", flush=True)


def fitted(row: dict[str, Any], network: dict[str, Any], seed: int) -> dict[str, float]:
    """Validation F1 of a fit, and what its last epoch's losses and gradients were."""
    train, held = data()["train"], data()["validation"]
    to_the_end = row.get("extra") == "alone"  # no early stopping, which would undo the failure
    own: dict[str, Any] = {"validation_fraction": 0.0} if to_the_end else {}
    model = MultiLabelClassifier(
        assembled(row), random_state=seed, decode="threshold", **network, **own
    )
    try:
        model.fit(train.X, train.Y, validation_data=None if to_the_end else (held.X, held.Y))
    except TrainingError as error:
        print(error, flush=True)
        return {"validation example-f1": float("nan")}
    model.tune_threshold(held.X, held.Y)
    proba, last = model.predict_proba(held.X), model.history_[-1]
    f1 = evaluate(held.Y, proba, model.threshold_)["example-f1"]
    found = {"validation example-f1": f1, "last validation example-f1": last.get("metric", f1)}
    if to_the_end:
        proba = model.predict_proba(train.X)
        found["energy of the output"] = float(np.mean(model.energy(train.X, proba)))
        found["energy of the truth"] = float(np.mean(model.energy(train.X, train.Y)))
    return found | {name: last[name] for name in MEASURES if name in last}


#: From the history, and what the table calls them.
MEASURES = {
    "loss/energy": "L_Prim",
    "loss/task": "L_Aux",
    "explicit norm/energy": "explicit",
    "implicit norm/energy": "implicit",
}


def table(arguments: argparse.Namespace) -> None:
    """The study, then the objectives; the losses and norms are those of the last epoch."""
    runs: dict[str, list[Run]] = {}
    for one in find(arguments.results, data=NAME):
        runs.setdefault(one.configuration["row"], []).append(one)
    keys = ("validation example-f1", "last validation example-f1", *MEASURES)
    for rows in (STUDY, OBJECTIVES):
        found = [words for words in rows if words in runs]
        if found:
            print("\n| setting | n | F1 | F1, last epoch |", " | ".join(MEASURES.values()), "|")
            print("|---" * (len(keys) + 2) + "|")
        for words in found:
            cells = [cell([one.metrics.get(key) for one in runs[words]], key) for key in keys]
            print(f"| {words} | {len(runs[words])} | {' | '.join(cells)} |")
    for one in runs.get("task-net alone afterwards", []):
        e = [one.metrics[f"energy of the {what}"] or 0.0 for what in ("output", "truth")]
        print(f"\nEnergies afterwards: {e[0]:.0f} of the output, {e[1]:.0f} of the truth.")
    table5(arguments)


def table5(arguments: argparse.Namespace) -> None:
    """Paper 002's Table 5 on all of bibtex at 0.5; ours by benchmarks/multilabel.py."""
    print("\n| objective | paper, direct | paper, implicit | ours, direct | ours, implicit |")
    print("|---|---|---|---|---|")
    for name, paper in PAPER.items():
        cells = []
        for method in (f"implicit-{name}-direct", f"implicit-{name}"):
            runs = find(arguments.results, data="bibtex", method=method, tags="final")
            chosen = [one for one in runs if multilabel.chosen(arguments, one)]
            cells.append(summarise([one.metrics["example-f1 at 0.5"] for one in chosen]))
        print(f"| {name} | {' | '.join([*paper, *cells])} |")


def cell(values: list[float | None], key: str) -> str:
    """The mean over seeds; "failed" where training stopped with an error."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return "failed" if key.endswith("f1") else ""
    return f"{100 * np.mean(known):.1f}" if key.endswith("f1") else f"{np.mean(known):.2f}"


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        rows={"nargs": "+", "choices": [*STUDY, *OBJECTIVES], "help": "these alone"},
        seeds={"type": int, "default": 1},
    )
