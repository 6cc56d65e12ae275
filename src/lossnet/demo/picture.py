"""The demonstration's picture: label sets and completed digits of the first seed's test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data import contradicts
from lossnet.demo.plan import BASELINE
from lossnet.demo.run import Outcome
from lossnet.reports import draw_demo


def draw(path: str | Path, attributes: Outcome, completion: Outcome, method: str) -> Path:
    """Draw the first test rows on which the baseline and one learned loss disagree.

    Args:
        path: the picture to write.
        attributes: of the task with label sets.
        completion: of the task with lower halves.
        method: the learned loss, trained on both tasks.
    """
    shown = (BASELINE, method)
    rows = _disagree(attributes, shown, 6)
    sets = {name: attributes.predictions[name][rows] for name in shown}
    names = attributes.test.label_names
    below = _disagree(completion, shown, 8)
    upper = completion.test.X[below].reshape(-1, 4, 8)
    lower = completion.test.Y[below].reshape(-1, 4, 8)
    return draw_demo(
        path,
        images=np.clip(attributes.test.X[rows], 0, 1).reshape(-1, 8, 8),
        truths=_names(attributes.test.Y[rows], names),
        label_predictions={name: _names(Y, names) for name, Y in sets.items()},
        contradictions={name: contradicts(Y).tolist() for name, Y in sets.items()},
        upper=upper,
        whole=np.concatenate([upper, lower], axis=1),
        completions={name: completion.predictions[name][below].reshape(-1, 4, 8) for name in shown},
        titles=(
            "Label sets: the first test digits on which the two disagree",
            "Lower halves: the same choice",
        ),
    )


def _disagree(outcome: Outcome, methods: tuple[str, str], most: int) -> np.ndarray[Any, Any]:
    """The first test rows that two methods predict differently; if none, the first rows."""
    one, other = (outcome.predictions[name] for name in methods)
    rows = np.flatnonzero((one != other).any(axis=1))[:most]
    return rows if len(rows) else np.arange(min(most, len(one)))


def _names(Y: np.ndarray[Any, Any], names: list[str]) -> list[list[str]]:
    return [[name for name, on in zip(names, row, strict=True) if on] for row in Y]
