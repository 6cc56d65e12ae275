"""What a comparison keeps of a model's predictions, besides its metrics: see :class:`Details`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

#: What an output is: a set of labels, a tag per token, a class per pixel, or something else.
Kind = Literal["labels", "tags", "mask", "other"]


@dataclass(frozen=True, eq=False)
class Examples:
    """The measured examples, of which ``n`` are kept: the first ones, or all.

    Outputs, here and in :attr:`Details.predictions`, are arrays of codes:

    - ``"labels"``: ``(n, L)`` uint8, 1 for a label that is on, 255 where it is not known;
    - ``"tags"``: ``(tokens,)`` int32, the sentences' tokens one after another; sentence k has the
      tokens ``offsets[k]`` to ``offsets[k + 1]``; -1 is a tag without a name;
    - ``"mask"``: ``(n, H, W)`` uint8, 255 where the class is not known.

    Attributes:
        kind: what an output is.
        names: names of the labels, tags or classes; a code is a position in it.
        truth: the true outputs.
        titles: what to call each example, ``(n,)`` texts: ``"row 12"``, a file's name.
        texts: the words to show for each example, ``n`` lists of tokens (of a text in one piece a
            list of one); None where inputs are not text.
        images: the pictures, ``(n, H, W)`` or ``(n, H, W, 3)`` uint8; None where there are none.
        offsets: see above, ``(n + 1,)``; None but for tags.
    """

    kind: Kind
    names: list[str]
    truth: np.ndarray
    titles: list[str]
    texts: list[list[str]] | None = None
    images: np.ndarray | None = None
    offsets: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Details:
    """A model's predictions on labelled data, example by example, in the data's order.

    Attributes:
        scores: main metrics by name, for tests that pair examples. A value of shape ``(n,)`` has
            one number for each example, and the metric is their mean; NaN where an example does
            not count. A value of shape ``(n, 3)`` has counts of what is right, predicted and true,
            and the metric is 2 Σ right / (Σ predicted + Σ true) over examples.
        predictions: codes laid out as :attr:`Examples.truth`, of the examples that are kept; None
            where there are no such codes.
        groups: for each label, type of spans or class by name: ``"f1"`` or ``"iou"``, and where
            known ``"precision"``, ``"recall"`` and ``"count"`` (how often it is true).
        group_noun: what :attr:`groups` are, in the singular: ``"label"``, ``"type"``, ``"class"``.
        reliability: calibration in bins of equal width from 0 to 1, ``(bins, 3)``: mean
            probability, share that came true, and count; NaN in the first two of an empty bin.
            None where predictions have no probabilities.
        calibration: ``"ece"``, ``"log_loss"`` and ``"brier"``; empty where there is no reliability.
    """

    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    predictions: np.ndarray | None = None
    groups: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    group_noun: str = ""
    reliability: np.ndarray | None = None
    calibration: Mapping[str, float] = field(default_factory=dict)


def f1_groups(names: list[str], counts: Any) -> dict[str, dict[str, float]]:
    """F1, precision, recall and count by name, from right, predicted and true, ``(L, 3)`` counts.

    >>> f1_groups(["sun"], [[1, 2, 1]])["sun"]["recall"]
    1.0
    """
    right, predicted, true = np.asarray(counts, dtype=np.float64).T
    values = {
        "f1": 2 * right / np.maximum(predicted + true, 1),
        "precision": right / np.maximum(predicted, 1),
        "recall": right / np.maximum(true, 1),
        "count": true,
    }
    rows = zip(*(value.tolist() for value in values.values()), strict=True)
    return {
        name: dict(zip(values, row, strict=True)) for name, row in zip(names, rows, strict=True)
    }


def reliability_bins(p: Any, came_true: Any, bins: int = 10) -> tuple[np.ndarray, dict[str, float]]:
    """What :class:`Details` holds of calibration, from probabilities and whether they came true.

    >>> reliability_bins([0.25, 0.75], [0, 1])[1]["brier"]
    0.0625
    """
    p, true = np.asarray(p, np.float64).ravel(), np.asarray(came_true, np.float64).ravel()
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    sums = [np.bincount(place, weights, minlength=bins) for weights in (p, true, np.ones_like(p))]
    count = np.where(sums[2] > 0, sums[2], np.nan)
    found = np.stack([sums[0] / count, sums[1] / count, sums[2]], 1)
    kept = np.clip(p, 1e-12, 1 - 1e-12)
    values = {
        "ece": float(np.nansum(np.abs(sums[0] - sums[1])) / max(len(p), 1)),
        "log_loss": float(-np.log(np.where(true > 0, kept, 1 - kept)).mean()),
        "brier": float(((p - true) ** 2).mean()),
    }
    return found, values
