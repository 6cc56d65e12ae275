"""Small nets, data and runs that the tests of training share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnet.energies import LabelEnergy
from lossnet.method import Method
from lossnet.nets import LabelMLP
from lossnet.spaces import Binary
from lossnet.tasks.networks import build_nets
from lossnet.training import Arrays, Trainer, predict

FEATURES, LABELS = 6, 4


def rows(n: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels that depend on them and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES)).astype(np.float32)
    Y = (X[:, :LABELS] + 0.5 * rng.normal(size=(n, 1)) > 0.5).astype(np.float32)
    return X, Y


def data(n: int = 50, seed: int = 0) -> Arrays:
    return Arrays(*rows(n, seed))


def make_net(name: str, *, dropout: float = 0.5, task: type = LabelMLP, energy: type = LabelEnergy):
    if name == "energy":
        return energy(FEATURES, LABELS, hidden=(8, 8), dropout=dropout, global_hidden=5)
    return task(FEATURES, LABELS, hidden=(8, 8), dropout=dropout)


def make_nets(method: Method, seed: int = 0, **options: Any) -> dict[str, nn.Module]:
    """Every net of a method, each from a random stream of its own, as the estimators do."""
    make = partial(make_net, **options)
    return build_nets(method.nets, make, method.derived, (LABELS,), Binary(), seed=seed)


def make_trainer(
    method: Method, *, seed: int = 0, nets: Mapping[str, nn.Module] | None = None, **options: Any
) -> Trainer:
    nets = make_nets(method, seed) if nets is None else nets
    settings: dict[str, Any] = {"batch_size": 20, "max_epochs": 3, "seed": seed, **options}
    return Trainer(method, nets, Binary(), settings.pop("data", None) or data(), **settings)


def exact_match(nets: Mapping[str, nn.Module], seed: int = 9):
    """A validation score: the share of labels that are right, on other rows."""
    X, Y = rows(30, seed)

    def score(proposal) -> float:
        outputs = predict(proposal, nets, Binary(), Arrays(X))
        return float(((outputs.numpy() >= 0.5) == Y).mean())

    return score


def weights(trainer: Trainer) -> dict[str, dict[str, Tensor]]:
    """A copy of every net's weights."""
    return {
        name: {key: value.clone() for key, value in net.state_dict().items()}
        for name, net in trainer.nets.items()
    }


def same(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> bool:
    """Bit for bit."""
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)
