"""Citation fields from few labels: ``python benchmarks/citations.py run``.

Paper 002's Table 4: 5, 10 or 50 labelled citations, some 1,000 unlabelled ones and a reward made of
rules. Of ``ref.train`` every third citation is the development part, on which settings were chosen,
with draws of other seeds; the labelled ones are drawn from the rest. Unlabelled are the rest of the
rest and AnyStyle's references, without those that occur in the development or test part. Every fit
takes the same number of steps and keeps the last weights; nothing is chosen on the test part.
``table`` prints what the store holds; runs that are in it are not done again.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from citation_reward import CitationReward
from runs import main, several

from lossnet import SequenceTagger
from lossnet.parameters import plain
from lossnet.recipes import parameters
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.sequence import SequenceData, load_sequences, token_accuracy
from lossnet.tasks.sequence.references import read_references

ROOT = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data"))
FOLDER = ROOT / "sequence" / "cora_citations"
VECTORS = ROOT / "vectors" / "glove6b_50d_subset.npz"
NAME = "cora_citations"
LABELLED = (5, 10, 50)
UNLABELLED = 1000
#: AnyStyle's references that are longer are left out: few, and they slow down their batches.
LONGEST = 80
RULES = "rules alone"

#: Parameters of the semi-supervised methods.
SEMI: dict[str, Any] = {"energy_weight": 200.0, "samples": 12, "std": 2.0}
#: More weight decay: few rows are labelled.
DECAYED: dict[str, float] = {"lr": 5e-3, "weight_decay": 0.01}
#: Rows of the table: a method, its parameters and the tagger's.
ROWS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "cross-entropy": ("cross-entropy", {"task_optimiser": DECAYED}, {}),
    "crf": ("crf", {"energy_optimiser": DECAYED}, {"energy_dropout": 0.5}),
    "seal-reward": ("seal-reward", SEMI, {}),
    "implicit-reward": ("implicit-reward", SEMI, {}),
}
#: A loss-net that regresses has no dropout: its noise would hide what sets candidates apart.
SETTINGS: dict[str, Any] = {
    "hidden": 50,
    "dropout": 0.5,
    "energy_dropout": 0.0,
    "fixed_vectors": True,
}
#: Rounds over the unlabelled citations; the others take as many steps.
EPOCHS, BATCH = 12, 32


class Citations:
    """The parts: a pool to draw labelled citations from, development, test, unlabelled text."""

    def __init__(self) -> None:
        train = load_sequences(FOLDER / "ref.train")
        held = np.arange(len(train)) % 3 == 2
        self.pool, self.dev = train.subset(~held), train.subset(held)
        self.test = load_sequences(FOLDER / "ref.test")
        known = [_words(tokens) for part in (self.dev, self.test) for tokens in part.tokens]
        taken = {_text(tokens) for tokens in self.pool.tokens}
        self.spare: list[list[str]] = []
        for file in ("anystyle_core.xml", "anystyle_gold.xml"):
            for tokens in read_references(FOLDER / file).tokens:
                text, words = _text(tokens), _words(tokens)
                if len(tokens) > LONGEST or text in taken:
                    continue
                if not any(_alike(words, other) for other in known):
                    taken.add(text)
                    self.spare.append(tokens)

    def draw(self, count: int, seed: int) -> tuple[SequenceData, list[list[str]]]:
        """``count`` labelled citations, and the unlabelled ones."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.pool))
        rest = [self.pool.tokens[row] for row in order[count:]]
        others = [self.spare[row] for row in rng.permutation(len(self.spare))]
        return self.pool.subset(order[:count]), [*rest, *others][:UNLABELLED]


def _text(tokens: list[str]) -> str:
    return re.sub(r"[^a-z0-9]", "", "".join(tokens).lower())


def _words(tokens: list[str]) -> set[str]:
    return {word for token in tokens for word in re.findall(r"[a-z0-9]+", token.lower())}


def _alike(left: set[str], right: set[str]) -> bool:
    """Whether two citations are of one work: most words of the shorter are in the other."""
    return len(left & right) >= 0.6 * min(len(left), len(right))


def fit(
    row: str, labelled: SequenceData, unlabelled: list[list[str]], seed: int, **own: Any
) -> SequenceTagger:
    """A tagger of that row, trained for the fixed number of steps."""
    method, params, settings = ROWS[row]
    semi = method in ("seal-reward", "implicit-reward")
    steps = EPOCHS * -(-UNLABELLED // BATCH)
    tagger = SequenceTagger(
        method,
        method_params={**params, **own} or None,
        vectors=VECTORS,
        chain=False,
        chars=False,
        batch_size=BATCH,
        validation_fraction=0.0,
        max_epochs=EPOCHS if semi else steps // -(-len(labelled) // BATCH),
        random_state=seed,
        **{**SETTINGS, **settings},
    )
    given = {"unlabelled": unlabelled, "reward": CitationReward()} if semi else {}
    return tagger.fit(labelled, **given)


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, draw by draw."""
    data = Citations()
    rules = CitationReward()
    about: dict[str, Any] = {"continuity": rules.continuity}
    keep(arguments, data, RULES, 0, 0, about, lambda: lambda part: rules.decode(part.tokens))
    for draw in range(arguments.draws):
        for count in arguments.labelled:
            labelled, unlabelled = data.draw(count, draw)
            for row in arguments.rows:
                method, params, own = ROWS[row]
                settings = {**SETTINGS, **own, "epochs": EPOCHS, "batch_size": BATCH}
                resolved = plain(parameters(method, params))
                about = {**settings, "method_params": resolved, "unlabelled": len(unlabelled)}
                train = partial(fit, row, labelled, unlabelled, draw)
                keep(arguments, data, row, count, draw, about, lambda train=train: train().predict)


def keep(
    arguments: argparse.Namespace,
    data: Citations,
    row: str,
    count: int,
    draw: int,
    configuration: dict[str, Any],
    trained: Callable[[], Callable[[SequenceData], list[list[str]]]],
) -> None:
    """Train, measure and record one run, unless the store holds it."""
    configuration = {**configuration, "labelled": count}
    key = {"data": NAME, "method": row, "seed": draw, "configuration": configuration}
    checksum = data.pool.checksum()
    if has(arguments.results, **key, data_checksum=checksum):
        return
    began = time.perf_counter()
    tagged = trained()
    metrics = {
        f"{name} accuracy": token_accuracy(part.tags or [], tagged(part))
        for name, part in (("validation", data.dev), ("test", data.test))
    }
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=metrics,
        seconds=time.perf_counter() - began,
        tags=["final"],
        **key,
    )
    print(row, count, draw, {k: round(100 * v, 2) for k, v in metrics.items()}, flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Test token accuracy, mean ± deviation over draws."""
    runs = find(arguments.results, data=NAME, tags="final")
    print("| method | " + " | ".join(f"{count} labelled" for count in LABELLED) + " |")
    print("|---" * (1 + len(LABELLED)) + "|")
    for row in (RULES, *ROWS):
        cells = []
        for count in LABELLED:
            wanted = 0 if row == RULES else count
            members = [
                one for one in runs if one.method == row and one.configuration["labelled"] == wanted
            ]
            found = [one.metrics["test accuracy"] for one in members]
            cells.append(summarise(found) if found else "-")
        if set(cells) != {"-"}:
            print(f"| {row} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        rows=several(ROWS),
        labelled={"nargs": "+", "type": int, "default": list(LABELLED)},
        draws={"type": int, "default": 3},
    )
