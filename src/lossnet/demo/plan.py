"""What the demonstration trains: two tasks, the same network and budget for every method.

The methods' parameters were chosen on validation data of seeds that the demonstration does not
use by default; the threshold of every method is tuned on its validation data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lossnet.data import Splits, digits_attributes, digits_completion

BASELINE = "cross-entropy"


@dataclass(frozen=True)
class Task:
    """A data set drawn anew for each seed, and the methods trained on it.

    Args:
        name: of the data set.
        data: the data of a seed.
        estimator: the estimator's parameters, the same for all methods.
        methods: the methods and their parameters, the baseline first.
        taxonomy: whether label sets can contradict themselves.
    """

    name: str
    data: Callable[[int], Splits]
    estimator: dict[str, Any]
    methods: dict[str, dict[str, Any]]
    taxonomy: bool = False


ATTRIBUTES = Task(
    "digits-attributes",
    digits_attributes,
    estimator={
        "hidden": (100, 100),
        "dropout": 0.5,
        "metric": "subset-accuracy",
        "max_epochs": 150,
        "patience": 40,
    },
    methods={
        BASELINE: {"task_lr": 5e-3},
        "seal-nce": {"xent_weight": 0.1, "energy_lr": 5e-3, "task_lr": 5e-3, "energy_steps": 1},
        "seal-ranking": {"xent_weight": 0.3, "energy_lr": 5e-3, "energy_steps": 1},
        "seal-regression-s": {"energy_weight": 10.0, "energy_lr": 5e-3, "energy_steps": 1},
    },
    taxonomy=True,
)

COMPLETION = Task(
    "digits-completion",
    digits_completion,
    estimator={
        "hidden": (100, 100),
        "dropout": 0.2,
        "metric": "subset-accuracy",
        "max_epochs": 40,
        "patience": 15,
    },
    methods={
        BASELINE: {"task_lr": 5e-3},
        "seal-nce": {"xent_weight": 0.1, "energy_lr": 5e-3, "task_lr": 5e-3, "energy_steps": 1},
    },
)
