"""Speed of tagging in one run: ``OMP_NUM_THREADS=1 python benchmarks/tagging_speed.py``.

Sentences per second on twitter_pos, with BiLSTMs of the same size: decoding alone, from ready
features, and from words to tags, for the inference network, the Viterbi algorithm on a random
field and gradient-based inference on the energy; then training of InfNet+ with its three ways
of sharing (paper 003, Table 2: separated 66, shared 78, stacked 92 sentences per second). Runs are
interleaved and the least time counts. ``--results FOLDER`` records them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from sequence import VECTORS, parts
from timing import measure

from lossnet import SequenceTagger
from lossnet.context import Context
from lossnet.data.vectors import read_vectors
from lossnet.proposals import GBI
from lossnet.reports import find, record
from lossnet.spaces import Categorical
from lossnet.tasks.sequence import SequenceData

STORE = Path(__file__).parents[1] / "results"
DATA = "tagging-speed"
DECODERS = ("inference network", "CRF, Viterbi", "GBI, 20 steps")
SHARING = ("separated", "shared", "stacked")
DESCENT = GBI(20, 0.1)


def tagger(method: str, vectors: Any, **settings: Any) -> SequenceTagger:
    """A tagger of the benchmark's size, without validation."""
    return SequenceTagger(
        method,
        chain=False,
        vectors=vectors,
        hidden=100,
        validation_fraction=0.0,
        random_state=0,
        **settings,
    )


def decoding(model: SequenceTagger, data: SequenceData) -> dict[str, Callable[[], None]]:
    """Each decoder from features, or encodings, that have been computed."""
    source = model._source(data)
    contexts = [
        Context(model.nets_, source.batch(rows), Categorical(), generator=torch.Generator())
        for rows in source.in_order(256)
    ]
    net: Any = model.nets_["task"]
    energy: Any = model.nets_["energy"]
    with torch.no_grad():
        features = [context.features("task") for context in contexts]
        unary = [context.encoded() for context in contexts]

    @torch.no_grad()
    def head() -> None:
        for h in features:
            net.head(h).argmax(-1)

    @torch.no_grad()
    def viterbi() -> None:
        for h, context in zip(unary, contexts, strict=True):
            energy.minimise(h, context.batch.mask)

    @torch.no_grad()
    def descend() -> None:
        for context in contexts:
            DESCENT(context).y.argmax(-1)

    return dict(zip(DECODERS, (head, viterbi, descend), strict=True))


def rates(repeats: int) -> tuple[dict[str, float], str]:
    """Sentences per second of everything, and the data's checksum."""
    train, _, tests = parts("twitter_pos")
    test, vectors = tests["oct27"], read_vectors(VECTORS)
    model = tagger("infnet-plus", vectors, max_epochs=1).fit(train)
    field = tagger("crf", vectors, max_epochs=1).fit(train)
    descent = deepcopy(model).set_params(refine=DESCENT)
    found = {
        f"decode, {name}": len(test) / seconds
        for name, seconds in measure(decoding(model, test), repeats, pick=min).items()
    }
    complete = dict(
        zip(DECODERS, (lambda m=m: m.predict(test) for m in (model, field, descent)), strict=True)
    )
    found |= {
        f"end to end, {name}": len(test) / seconds
        for name, seconds in measure(complete, repeats, pick=min).items()
    }
    epochs: dict[str, list[float]] = {sharing: [] for sharing in SHARING}
    for _ in range(max(repeats // 2, 1)):
        for sharing in SHARING:
            one = tagger("infnet-plus", vectors, max_epochs=2, method_params={"sharing": sharing})
            epochs[sharing] += [row["seconds"] for row in one.fit(train).history_]
    found |= {f"training, {name}": len(train) / min(values) for name, values in epochs.items()}
    return found, train.checksum()


def table(results: str | Path = STORE) -> str:
    """The last run in the store."""
    lines = ["| sentences per second | decoding alone | words to tags |", "|---|---|---|"]
    runs = find(results, data=DATA)[-1:]
    for run in runs:
        for name in DECODERS:
            cells = [f"{run.metrics[f'{kind}, {name}']:,.0f}" for kind in ("decode", "end to end")]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| InfNet+ | sentences per second in training | paper 003 |", "|---|---|---|"]
    for run in runs:
        for name, paper in zip(SHARING, (66, 78, 92), strict=True):
            lines.append(f"| {name} | {run.metrics[f'training, {name}']:,.0f} | {paper} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--results", help="folder of the results store")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    found, checksum = rates(arguments.repeats)
    with TemporaryDirectory() as scratch:
        folder = arguments.results or scratch
        record(
            folder,
            command="python benchmarks/tagging_speed.py",
            data=DATA,
            data_checksum=checksum,
            method="rates",
            seed=0,
            configuration={"repeats": arguments.repeats},
            metrics=found,
            seconds=time.perf_counter() - began,
        )
        print(table(folder))


if __name__ == "__main__":
    main()
