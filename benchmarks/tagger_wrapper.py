"""What structure around a tagger is worth: accuracy of tags and F1 of spans.

    python benchmarks/tagger_wrapper.py run --data twitter_pos wnut17 --seeds 3
    python benchmarks/tagger_wrapper.py table

A fit of ``StructuredTagger`` with its defaults is measured on the test part in three ways: the
base's most probable tags (by the scheme where the tags have one); the base decided, the rules of
``decode="auto"`` on its probabilities alone; and structured, these rules with the energy. Settings
are chosen on the development part. The base is multinomial logistic regression on words, affixes
and shapes of a token and its neighbours. The seed decides on folds and energy. Runs that are in the
store are not done again. Data is found at ``../shared/data`` or ``$LOSSNET_DATA``.
"""

from __future__ import annotations

import argparse
import re
import time
from typing import Any

import numpy as np
from runs import Measured, main, once, several
from sequence import TASKS, parts
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lossnet import StructuredTagger
from lossnet.parameters import plain
from lossnet.recipes import residual
from lossnet.reports import find, summarise
from lossnet.tasks.sequence import SequenceData

HOW = ("base", "decided", "structured")


def base() -> Any:
    """An unfitted classifier of tokens."""
    return make_pipeline(DictVectorizer(), LogisticRegression(max_iter=200))


def features(words: list[str]) -> list[dict[str, Any]]:
    """What the base knows of each token of a sentence: itself and two neighbours on each side."""
    around = ["<s>", "<s>", *words, "</s>", "</s>"]
    own = [_features(word) for word in around]
    found = []
    for t in range(2, len(words) + 2):
        row: dict[str, Any] = {"bias": True} | own[t]
        for offset in (-1, 1):
            row |= {f"{offset}:{key}": value for key, value in own[t + offset].items()}
        row |= {"-2:word": own[t - 2]["word"], "2:word": own[t + 2]["word"]}
        found.append(row)
    return found


def _features(word: str) -> dict[str, str]:
    lower = word.lower()
    shape = re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "0", word)))
    shape = re.sub(r"(.)\1+", r"\1\1", shape)
    affixes = {f"{n}": lower[:n] for n in (1, 2, 3)} | {f"-{n}": lower[-n:] for n in (1, 2, 3)}
    return {"word": lower, "shape": shape, **affixes}


def measure(name: str, seed: int) -> Measured:
    """Metrics of one fit, its processor seconds and the rules chosen."""
    train, dev, tests = parts(name)
    began = time.process_time()
    model = StructuredTagger(base(), metric=TASKS[name].metric, random_state=seed)
    held = rows(dev)
    model.fit(*rows(train), groups=train.documents, validation_data=held)
    seconds = time.process_time() - began
    metrics, rules = {}, []
    by_spans = TASKS[name].metric == "span-f1"
    decode = {"base": "argmax", "decided": "expected" if by_spans else "argmax"}
    for how in HOW:
        model.set_params(decode=decode.get(how, "auto")).tune_decision(*held)
        rules.append(f"{how}: {model.decision_.rule} {model.decision_.weight:g}")
        for part, data in {"validation": dev, **tests}.items():
            metrics[f"{part} {how}"] = model.score(*rows(data))
    gain = model.structure_gain(*rows(next(iter(tests.values()))))
    metrics |= {"nats": gain.nats, "nats low": gain.low, "nats high": gain.high}
    return metrics, seconds, rules


def rows(data: SequenceData) -> tuple[list[Any], Any]:
    """Features and tags of sentences."""
    return [features(words) for words in data.tokens], data.tags


def configuration(name: str) -> dict[str, Any]:
    """What a run is made of but data and seed."""
    settings = StructuredTagger(None, metric=TASKS[name].metric).get_params(deep=False)
    free = {"base", "method", "decode", "device", "random_state", "verbose"}
    kept = {key: value for key, value in settings.items() if key not in free}
    update = residual(samples=None).updates[0]
    return plain(kept | {"optimiser": update.optimiser, "objective": str(update.objective)})


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            key = {"data": f"wrapper-{name}", "method": "logistic-regression", "seed": seed,
                   "configuration": configuration(name)}  # fmt: skip
            key["data_checksum"] = parts(name)[0].checksum()
            once(arguments.results, key, lambda n=name, s=seed: measure(n, s))


def table(arguments: argparse.Namespace) -> None:
    """The metric by test part, with the gain over the base."""
    head = ["base", "base, decided", "structured", "gain", "nats", "decided by"]
    print(f"| data | metric | n | {' | '.join(head)} |")
    print("|---" * (len(head) + 3) + "|")
    for name in arguments.data:
        runs = find(arguments.results, data=f"wrapper-{name}", method="logistic-regression")
        for part in TASKS[name].tests if runs else ():
            columns = [[r.metrics[f"{part} {how}"] for r in runs] for how in HOW]
            gains = [after - before for before, after in zip(columns[0], columns[2], strict=True)]
            rules = [tag.removeprefix("structured: ") for r in runs for tag in r.tags[2:]]
            counts = ", ".join(f"{rule} ({rules.count(rule)})" for rule in dict.fromkeys(rules))
            nats = f"{np.mean([r.metrics['nats'] for r in runs]):.2f}"
            cells = [*map(summarise, [*columns, gains])]
            # Measured on the first part alone.
            cells += [nats if part == next(iter(TASKS[name].tests)) else "", counts]
            print(f"| {name} {part} | {TASKS[name].metric} | {len(runs)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(__doc__, run, table, data=several(TASKS), seeds={"type": int, "default": 3})
