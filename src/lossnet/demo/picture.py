"""The demonstration's picture: label sets and completed digits of the first seed's test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lossnet.demo.pictures import draw_demo
from lossnet.demo.plan import BASELINE
from lossnet.demo.run import Outcome
from lossnet.tasks.multilabel.digits import contradicts


def draw(path: str | Path, attributes: Outcome, completion: Outcome, method: str) -> Path:
    """Draw test rows of the baseline and one learned loss, the first ones that show something.

    Label sets: the first rows where either contradicts itself; lower halves: the first rows
    where the two differ.

    Args:
        path: the picture to write.
        attributes: of the task with label sets.
        completion: of the task with lower halves.
        method: the learned loss, trained on both tasks.
    """
    shown = (BASELINE, method)
    marked = [contradicts(attributes.predictions[name]) for name in shown]
    rows = _first(marked[0] | marked[1], 6)
    sets = {name: attributes.predictions[name][rows] for name in shown}
    names = attributes.test.label_names
    differ = completion.predictions[shown[0]] != completion.predictions[shown[1]]
    below = _first(differ.any(axis=1), 8)
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
            "Label sets: the first test digits with a contradiction",
            "Lower halves: the first that differ",
        ),
    )


def _first(wanted: np.ndarray[Any, Any], most: int) -> np.ndarray[Any, Any]:
    """The first rows where ``wanted`` holds; if it never does, the first rows."""
    rows = np.flatnonzero(wanted)[:most]
    return rows if len(rows) else np.arange(min(most, len(wanted)))


def _names(Y: np.ndarray[Any, Any], names: list[str]) -> list[list[str]]:
    return [[name for name, on in zip(names, row, strict=True) if on] for row in Y]
