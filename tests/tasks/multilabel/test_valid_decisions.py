"""Decisions among valid label sets against brute force."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from lossnet import Batch, Binary, Context
from lossnet.constraints import AtLeastOne, AtMostOne, Implies, bind
from lossnet.contrasts import NCE
from lossnet.energies import Energy
from lossnet.tasks.decision import Decision
from lossnet.tasks.multilabel.decisions import decider, expected
from lossnet.tasks.multilabel.metrics import get_metric

NAMES = [f"l{k}" for k in range(12)]
RULES = [Implies(1, 0), Implies(2, 1), AtMostOne(0, 3), AtLeastOne(4, 5, 2)]
BETAS = {"example-f1": 1.0, "example-f2": 2.0, "jaccard": None}


class Pairs(Energy):
    """-E(y) = y'By, with which labels depend on each other; x is not read."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        drawn = torch.randn(labels, labels, generator=torch.Generator().manual_seed(1))
        self.pairs = torch.nn.Parameter(drawn.triu())

    def encode(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = (y.to_dense() if y.is_sparse else y).float()
        return -((y @ self.pairs) * y).sum(-1)


def context(labels: int, rows: int = 6) -> Context:
    torch.manual_seed(0)
    nets = {"task": torch.nn.Linear(3, labels), "energy": Pairs(labels)}
    return Context(nets, Batch(torch.randn(rows, 3)), Binary())


def every(labels: int) -> np.ndarray:
    return np.array(list(itertools.product([False, True], repeat=labels)))


def none(labels: int) -> np.ndarray:
    """No known label sets."""
    return np.zeros((0, labels), dtype=np.uint8)


def value(name: str, truth: np.ndarray, one: np.ndarray) -> float:
    return float(get_metric(name)(truth[None], one[None]))


@pytest.mark.parametrize("name", ["example-f1", "jaccard", "hamming", "subset-accuracy"])
def test_enumerated_spaces_have_the_best_valid_set(name) -> None:
    here, bound = context(6), bind(RULES, NAMES[:6])
    sets = every(6)
    with torch.no_grad():
        e = here.nets["energy"](None, torch.as_tensor(sets).unsqueeze(1))[:, 0]
        found = decider(
            Decision("samples", 10, 10, 1.0), get_metric(name), NCE().meaning, none(6), bound
        )
        chosen = found(here).numpy()
    valid = sets[bound.allows(sets)]
    w = np.exp(-e.numpy()[bound.allows(sets)].astype(float))
    means = [
        sum(v * value(name, truth, one) for v, truth in zip(w, valid, strict=True)) for one in valid
    ]
    for row in chosen:
        assert bound.allows(row)
        own = means[int(np.flatnonzero((valid == row).all(1))[0])]
        assert own == pytest.approx(max(means), rel=1e-6)


def test_the_most_probable_valid_set_is_searched() -> None:
    """Twelve labels are too many to enumerate; here the search finds the best of all."""
    here, bound = context(12), bind(RULES, NAMES)
    sets = every(12)
    sets = sets[bound.allows(sets)]
    with torch.no_grad():
        e = here.nets["energy"](None, torch.as_tensor(sets).unsqueeze(1))[:, 0]
        mode = decider(
            Decision("mode", 1, 30, 1.0),
            get_metric("subset-accuracy"),
            NCE().meaning,
            none(12),
            bound,
        )
        chosen = mode(here)
        reached = here.nets["energy"](None, chosen.unsqueeze(0))[0]
    assert bound.allows(chosen.numpy()).all()
    assert (reached <= e.min() + 0.05 * e.abs().max()).all()


@pytest.mark.parametrize("name", BETAS)
def test_expected_metrics_stay_near_the_best_valid_set(name) -> None:
    rng, bound = np.random.default_rng(0), bind(RULES, NAMES[:7])
    p, sets = rng.random((30, 7)), every(7)
    valid = sets[bound.allows(sets)]
    chosen = expected(get_metric(name), p, Decision("expected"), bound)
    table = np.array([[value(name, truth, one) for one in valid] for truth in sets])
    weights = np.where(sets, p[:, None], 1 - p[:, None]).prod(-1)
    means = weights @ table
    place = [int(np.flatnonzero((valid == row).all(1))[0]) for row in chosen]
    own = means[np.arange(30), place]
    assert (own <= means.max(1) + 1e-9).all()
    assert (own / means.max(1)).mean() > 0.98
    assert own.min() > 0.8 * means.max(1).min()
