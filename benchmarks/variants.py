"""The default with one part changed: what rows that chose nothing say of each change.

    OMP_NUM_THREADS=1 python benchmarks/variants.py run --data emotions yeast --seeds 3  # resumable
    python benchmarks/variants.py table

Changes: the loss-net is followed only while it knows more of validation rows (gated); an energy
whose global part sees x too, or that attends from label to label; the mean of the weights over
steps (EMA) in place of the last weights; no learned loss at all; a joint that is learnt around the
outputs, which all other rows are without. A fifth of the training rows is
held out by seed: validation rows choose the epoch, the trees' share and the threshold, and so
flatter whatever varies most. The table has differences to the first row on held-out rows, means
over sets with their deviation over seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from label_decisions import parts
from runs import Measured, each_once, main, several
from torch import Tensor, nn

from lossnet import MultiLabelClassifier
from lossnet.energies import LabelEnergy
from lossnet.energies.energy import Energy
from lossnet.parameters import plain
from lossnet.proposals.proposal import Proposal
from lossnet.reports import find
from lossnet.spaces import sparse
from lossnet.tasks.multilabel import get_metric
from lossnet.tasks.parts import cut
from lossnet.training import Callback, Trainer

SETS = ("emotions", "yeast", "scene", "digits", "medical", "genbase")
METRICS = ("example-f1", "subset-accuracy")
#: Share of the training rows that is held out.
HELD_OUT = 0.2
#: What the default is, without its joint: what "auto" fills in beside an energy of one's own.
DEFAULT: dict[str, Any] = {
    "method": "seal-nce",
    "members": MultiLabelClassifier().members,
    "trees": MultiLabelClassifier().trees,
    "method_params": {"energy_steps": 1, "gated": False},
    "joint": False,
}


class SeesInput(LabelEnergy):
    """v·softplus(M y + C T(x) + c): which labels go together depends on the input."""

    def __init__(self, in_features: int, labels: int) -> None:
        super().__init__(in_features, labels)
        width: Any = self.features.out_features
        self.shift = nn.Linear(width, len(self.global_bias), bias=False)
        nn.init.zeros_(self.shift.weight)

    def encode(self, x: Any, mask: Tensor | None = None) -> Any:
        features = self.features(x)
        return {"local": features @ self.label_embeddings.T, "shift": self.shift(features)}

    def forward(self, h: Any, y: Tensor, mask: Tensor | None = None) -> Tensor:
        z = sparse.matmul(y, self.global_weight, self.global_bias) + h["shift"]
        return nn.functional.softplus(z) @ self.global_readout + sparse.dot(y, h["local"])

    def output_like(self, h: Any) -> Tensor:
        found: Tensor = h["local"]
        return found


class Attention(Energy):
    """Labels that are on attend to each other and to the input's energy of single labels."""

    def __init__(self, in_features: int, labels: int, width: int = 32) -> None:
        super().__init__()
        self.local = LabelEnergy(in_features, labels, global_hidden=1)
        self.labels = nn.Parameter(torch.randn(2, labels, width) / math.sqrt(width))
        self.of_local = nn.Parameter(torch.zeros(width))
        self.projections = nn.Linear(width, 3 * width)
        self.readout = nn.Linear(width, 1)

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        return self.local.encode(x)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = sparse.dense(y, h.dtype).unsqueeze(-1)
        z = y * self.labels[1] + (1.0 - y) * self.labels[0] + h.unsqueeze(-1) * self.of_local
        q, k, v = self.projections(z).chunk(3, -1)
        attended = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v
        overall: Tensor = self.readout((z + attended).relu()).sum((-1, -2))
        return overall + (y.squeeze(-1) * h).sum(-1)

    def output_like(self, h: Tensor) -> Tensor:
        return h


class Averaged(Callback):
    """Validation, early stopping and prediction by the mean of the weights over steps."""

    def __init__(self, decay: float = 0.99) -> None:
        self.decay, self.steps = decay, 0
        self.mean: dict[str, dict[str, Tensor]] = {}
        self.raw: dict[str, dict[str, Tensor]] = {}

    def attach(self, trainer: Trainer) -> None:
        """Have the trainer score with the means, which its best weights then are."""
        score = trainer.score
        assert score is not None

        def averaged(by: Proposal) -> float:
            self.raw = self._weights(trainer)
            self._load(trainer, self.mean)
            return score(by)

        trainer.score = averaged
        trainer.callbacks.append(self)

    def on_batch(self, trainer: Trainer, losses: Any) -> None:
        self.steps += 1
        decay = min(self.decay, self.steps / (self.steps + 10))
        for name, weights in self._weights(trainer).items():
            mean = self.mean.setdefault(name, weights)
            for key, value in weights.items():
                mean[key] = torch.lerp(value, mean[key], decay)

    def on_epoch(self, trainer: Trainer) -> None:
        self._load(trainer, self.raw)

    def _weights(self, trainer: Trainer) -> dict[str, dict[str, Tensor]]:
        return {name: {key: value.clone() for key, value in trainer.nets[name].state_dict().items()}
                for name in trainer.phase.trained}  # fmt: skip

    def _load(self, trainer: Trainer, weights: dict[str, dict[str, Tensor]]) -> None:
        for name, own in weights.items():
            trainer.nets[name].load_state_dict(own)


class WithAverage(MultiLabelClassifier):
    """The classifier whose weights are means over steps."""

    def _add_callbacks(self, trainer: Trainer, *given: Any) -> None:
        super()._add_callbacks(trainer, *given)
        Averaged().attach(trainer)


def changed(**own: Any) -> Callable[..., MultiLabelClassifier]:
    """The default with some parameters changed."""
    return lambda **more: MultiLabelClassifier(**DEFAULT | own | more)


def averaged(**own: Any) -> Callable[..., MultiLabelClassifier]:
    """The same with the mean of the weights over steps."""
    return lambda **more: WithAverage(**DEFAULT | own | more)


PLAIN: dict[str, Any] = {"method": "cross-entropy", "method_params": None}
VARIANTS: dict[str, Callable[..., MultiLabelClassifier]] = {
    "always followed": changed(),
    "gated": changed(method_params={"energy_steps": 1, "gated": True}),
    "energy sees x": changed(energy_net=SeesInput),
    "attention": changed(energy_net=Attention),
    "mean of weights": averaged(),
    "mean of weights, energy sees x": averaged(energy_net=SeesInput),
    "cross-entropy": changed(**PLAIN),
    "cross-entropy, mean of weights": averaged(**PLAIN),
    "joint for exact match": changed(joint=None),  # the default
    "joint for both metrics": changed(joint=True),
    "cross-entropy, joint for both metrics": changed(**PLAIN, joint=True),
}
FIRST = next(iter(VARIANTS))


def run(given: argparse.Namespace) -> None:
    """Fit and record what the store lacks, seed by seed."""
    each_once(
        given,
        "variants",
        given.rows,
        checksum=lambda name: parts(name).train.checksum(),
        configuration=configuration,
        measure=measure,
    )


def configuration(row: str) -> dict[str, Any]:
    """What a run is made of but data and seed."""
    model = VARIANTS[row]()
    found = {**plain(model.resolved_params()), "class": type(model).__name__, "held out": HELD_OUT}
    if found["joint"] is False:
        del found["joint"]  # so that runs from before there was one are found
    return dict(json.loads(json.dumps(found, default=lambda value: value.__name__)))


def measure(name: str, row: str, seed: int) -> Measured:
    """Both metrics on held-out rows, each of a fit for it, and processor seconds."""
    data, began = parts(name), time.process_time()
    train, held = cut(data.train, [HELD_OUT], seed)
    found = {}
    for metric in METRICS:
        model = VARIANTS[row](metric=metric, random_state=seed)
        model.fit(train, validation_data=data.validation)
        found[metric] = float(get_metric(metric)(held.Y, model.predict(held)))
    return found, (time.process_time() - began) / len(METRICS), ["variants"]


def table(given: argparse.Namespace) -> None:
    """Differences to the default over the sets and seeds that both have."""
    print(f"| change | {' | '.join(METRICS)} | time | sets x seeds |")
    print("|---|" + "---:|" * (len(METRICS) + 2))
    runs = {row: {(one.data, one.seed): one
                  for data in SETS for one in find(given.results, data=f"variants-{data}",
                                                   method=row)} for row in VARIANTS}  # fmt: skip
    for row, own in runs.items():
        both = own.keys() & runs[FIRST].keys()
        if not both:
            continue
        cells = []
        for column in METRICS:
            metric = lambda one, c=column: 100 * (one.metrics[c] or 0.0)  # noqa: E731
            if row == FIRST:
                cells.append(f"{np.mean([metric(own[key]) for key in both]):.1f}")
                continue
            seeds = sorted({seed for _, seed in both})
            gains = [np.mean([metric(own[k]) - metric(runs[FIRST][k]) for k in both if k[1] == s])
                     for s in seeds]  # fmt: skip
            spread = f" ± {np.std(gains, ddof=1):.1f}" if len(gains) > 1 else ""
            cells.append(f"{np.mean(gains):+.1f}{spread}")
        times = sum(own[k].seconds for k in both) / sum(runs[FIRST][k].seconds for k in both)
        print(f"| {row} | {' | '.join(cells)} | {times:.1f} | {len(both)} |")


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        data=several(SETS),
        rows=several(VARIANTS),
        seeds={"type": int, "default": 3},
    )
