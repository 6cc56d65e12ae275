"""Exported models next to their estimators, on real data of every task, on one thread:

    OMP_NUM_THREADS=1 python benchmarks/export.py run            # resumable
    python benchmarks/export.py table

Every model is trained for ten epochs, exported as ONNX, and run by onnxruntime in a process that
can import neither torch nor lossnet. Recorded are the rows (sentences, predicates, images) that
both predict, at most :data:`ROWS`, how many different predictions these get, how many rows the two
predict differently, the largest difference of a probability, and rows per second of processor
time, the quickest of three.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from alone import predict_alone
from runs import Measured, main, once, several

from lossnet import (
    ImageSegmenter,
    MultiLabelClassifier,
    SemanticRoleLabeler,
    SequenceTagger,
    TextClassifier,
)
from lossnet.reports import find
from lossnet.tasks.image import load_images
from lossnet.tasks.multilabel import load
from lossnet.tasks.roles import load_roles
from lossnet.tasks.sequence import load_sequences
from lossnet.tasks.text import load_texts

DATA = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data"))
ROWS, REPEATS, EPOCHS = 1000, 3, 10
#: Data to learn from, to predict, and those as plain inputs.
Parts = tuple[Any, Any, tuple[Any, ...]]


def labels(name: str) -> Parts:
    """Rows of features: all that there are up to ROWS, the last ones first."""
    data = load(DATA / "mlc" / name)
    some = data.subset(np.arange(len(data))[::-1][:ROWS])
    X = some.X.toarray() if some.is_sparse else some.X
    return data.subset(np.arange(min(len(data), 600))), some, (X,)


def texts() -> Parts:
    """Articles of Reuters."""
    folder = DATA / "text" / "reuters21578"
    train = load_texts(folder / "reuters_training.jsonl").subset(np.arange(1500))
    test = load_texts(folder / "reuters_test.jsonl").subset(np.arange(ROWS))
    return train, list(test.texts), (list(test.texts),)


def sentences(train: str, test: str, count: int) -> Parts:
    """Tagged sentences of two files."""
    learnt = load_sequences(DATA / "sequence" / train)
    learnt = learnt.subset(np.arange(min(len(learnt), count)))
    unseen = load_sequences(DATA / "sequence" / test)
    unseen = unseen.subset(np.arange(min(len(unseen), ROWS))).without_labels()
    return learnt, unseen, (unseen.tokens, dict(unseen.columns))


def predicates() -> Parts:
    """Predicates of the English Web Treebank."""
    folder = DATA / "sequence" / "srl_ewt"
    learnt = load_roles(folder / "dev.gold_conll").subset(np.arange(1500))
    unseen = load_roles(folder / "test.gold_conll").subset(np.arange(ROWS)).without_labels()
    return learnt, unseen, (unseen.tokens, unseen.predicates)


def images(name: str, count: int) -> Parts:
    """Pictures with masks."""
    data = load_images(DATA / "image" / name)
    unseen = data.subset(np.arange(len(data))[::-1][:ROWS]).without_labels()
    return data.subset(np.arange(count)), unseen, (unseen.images,)


Model = Callable[[], Any]
MODELS: dict[str, tuple[Model, Callable[[], Parts]]] = {
    "emotions, default": (MultiLabelClassifier, lambda: labels("emotions/emotions.arff")),
    "yeast, members=4": (
        lambda: MultiLabelClassifier("seal-nce", members=4, decode="expected"),
        lambda: labels("yeast/yeast.arff"),
    ),
    "bibtex, exact match": (
        lambda: MultiLabelClassifier("cross-entropy", metric="subset-accuracy", decode="known"),
        lambda: labels("bibtex/bibtex.arff"),
    ),
    "reuters": (lambda: TextClassifier(decode="threshold"), texts),
    "twitter, CRF": (
        SequenceTagger,
        lambda: sentences("twitter_pos/oct27.train", "twitter_pos/oct27.test", 400),
    ),
    "wnut17, spans": (
        lambda: SequenceTagger(chain=False, metric="span-f1"),
        lambda: sentences("wnut17/train.conll", "wnut17/test.conll", 500),
    ),
    "roles": (lambda: SemanticRoleLabeler(hidden=50, decode="expected"), predicates),
    "horses": (lambda: ImageSegmenter(width=16), lambda: images("weizmann_horses", 100)),
    "faces": (
        lambda: ImageSegmenter(width=16, task_net="fcn"),
        lambda: images("lfw_parts", 100),
    ),
}


def run(given: argparse.Namespace) -> None:
    """Fit, export and compare what the store lacks."""
    for name in given.models:
        make, read = MODELS[name]
        learnt, unseen, inputs = read()
        model = make().set_params(max_epochs=EPOCHS, random_state=0)
        key = {"data": f"export-{learnt.name}", "data_checksum": learnt.checksum()}
        key |= {"method": name, "seed": 0, "configuration": {"rows": ROWS, "epochs": EPOCHS}}
        once(given.results, key, lambda m=model, d=learnt, u=unseen, i=inputs: compare(m, d, u, i))


def compare(model: Any, learnt: Any, unseen: Any, inputs: tuple[Any, ...]) -> Measured:
    """The estimator and its exported folder on the same rows."""
    began = time.process_time()
    model.fit(learnt)
    fitted = time.process_time() - began
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        own = model.predict(unseen)
        times.append(time.process_time() - began)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        model.export(Path(folder) / "model")
        seconds = time.process_time() - began
        size = sum(f.stat().st_size for f in (Path(folder) / "model").rglob("*") if f.is_file())
        found = predict_alone(Path(folder) / "model", *inputs, repeats=REPEATS)
    pairs = list(zip(own, found.labels, strict=True))
    proba = zip(model.predict_proba(unseen), found.probabilities, strict=True)
    metrics = {
        "rows": len(pairs),
        "predictions": len({str(np.asarray(a).tolist()) for a, _ in pairs}),
        "differ": sum(not np.array_equal(a, b) for a, b in pairs),
        "largest": float(max(np.abs(a - b).max() for a, b in proba)),
        "estimator rows per second": len(pairs) / min(times),
        "onnxruntime rows per second": len(pairs) / found.seconds,
        "export seconds": seconds,
        "megabytes": size / 1e6,
    }
    return metrics, fitted, ["export", model.decision_.rule]


def table(given: argparse.Namespace) -> None:
    """What the store holds, as Markdown."""
    head = ["model", "decides by", "rows", "predictions", "rows that differ", "largest difference"]
    head += ["estimator, rows/s", "onnxruntime, rows/s", "folder"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in given.models:
        for one in find(given.results, method=name, tags="export"):
            m = one.metrics
            speeds = (f"{m[f'{key} rows per second']:,.0f}" for key in ("estimator", "onnxruntime"))
            cells = [name, next(tag for tag in one.tags if tag != "export"), f"{m['rows']:.0f}"]
            cells += [
                f"{m['predictions']:.0f}",
                f"{m['differ']:.0f}",
                f"{m['largest']:.1g}",
                *speeds,
            ]
            print(f"| {' | '.join([*cells, f'''{m['megabytes']:.1f} MB'''])} |")


if __name__ == "__main__":
    main(__doc__, run, table, models=several(MODELS))
