"""What a decision for the metric is worth on tags and pixels, next to argmax.

    python benchmarks/structured_decisions.py run --data wnut17 horses faces --seeds 5
    python benchmarks/structured_decisions.py table

Networks and epochs are those of ``sequence.py`` and ``images.py``, the decision is
``decode="auto"``: span F1 on WNUT-17, mean IoU on horses and faces. One fit is measured twice on
the test part, as decided and by argmax. Runs that are in the store are not done again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import images
import sequence
import torch

from lossnet import ImageSegmenter
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.image import evaluate_masks, load_image_splits
from lossnet.tasks.sequence import span_scores

DATA = ("wnut17", "horses", "faces")
METHODS = ("cross-entropy", "seal-nce")
METRIC = {"wnut17": "span-f1", "horses": "mean-iou", "faces": "mean-iou"}
#: Few samples keep seal-nce affordable on images, as in ``images.py``.
FEW = {"samples": 4, "energy_steps": 1}


def model_of(name: str, method: str, seed: int) -> tuple[Any, dict[str, Any]]:
    """A model with the settings of the other benchmarks, and what it is made of but the seed."""
    if name in sequence.TASKS:
        model: Any = sequence.tagger(name, method, {}, seed).set_params(decode="auto")
        return model, sequence.configuration(model)
    settings = {**images.SETTINGS[name], "average": 1, "task_net": "fcn"}
    params = FEW if method == "seal-nce" else None
    model = ImageSegmenter(
        method, classes=images.DATA[name][1], random_state=seed, method_params=params, **settings
    )
    return model, {**settings, "method_params": model.resolved_method_params(), "decode": "auto"}


def parts_of(name: str) -> tuple[Any, Any, Any]:
    """Training, validation and test part."""
    if name in sequence.TASKS:
        train, validation, tests = sequence.parts(name)
        return train, validation, tests["test"]
    parts = load_image_splits(images.ROOT / images.DATA[name][0])
    return parts.train, parts.validation, parts.test


def measured(name: str, model: Any, data: Any) -> float:
    """The metric of a part."""
    if isinstance(model, ImageSegmenter):
        classes = model.classes_
        scores = evaluate_masks(data.masks, model.predict(data), len(classes), names=classes)
        return float(scores[METRIC[name]])
    return span_scores(data.tags, model.predict(data)).f1


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            for method in arguments.methods:
                one(arguments.results, name, method, seed)


def one(results: str, name: str, method: str, seed: int) -> None:
    """One fit, by argmax and as decided, unless the store holds it."""
    model, configuration = model_of(name, method, seed)
    train, validation, test = parts_of(name)
    key = {
        "data": f"decisions-{name}",
        "method": method,
        "seed": seed,
        "configuration": configuration,
    }
    if has(results, **key, data_checksum=train.checksum()):
        return
    began = time.process_time()
    model.fit(train, validation_data=validation)
    seconds = time.process_time() - began
    decision = model.decision_
    found = {"decided": measured(name, model, test)}
    found["argmax"] = measured(name, model.set_params(decode="argmax"), test)
    record(
        results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=train.checksum(),
        metrics=found,
        seconds=seconds,
        tags=[METRIC[name], decision.rule],
        **key,
    )
    print(name, method, seed, found, decision.words, f"{seconds:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Argmax and decided, mean and deviation over seeds."""
    print("| data | metric | method | n | argmax | decided | decided by |")
    print("|---" * 7 + "|")
    for name in DATA:
        for method in METHODS:
            runs = find(
                arguments.results, data=f"decisions-{name}", method=method, tags=METRIC[name]
            )
            if runs:
                cells = [summarise([r.metrics[how] for r in runs]) for how in ("argmax", "decided")]
                rules = [tag for r in runs for tag in r.tags if tag != METRIC[name]]
                counts = ", ".join(f"{rule} {rules.count(rule)}" for rule in dict.fromkeys(rules))
                row = [name, METRIC[name], method, str(len(runs)), *cells, counts]
                print(f"| {' | '.join(row)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--methods", nargs="+", default=["cross-entropy"], choices=METHODS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    main()
