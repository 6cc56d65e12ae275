"""What a comparison keeps of predicted label sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.tasks.details import Details, Examples, f1_groups, reliability_bins
from lossnet.tasks.multilabel.arrays import gold_and, with_unseen
from lossnet.tasks.multilabel.metrics import METRICS

#: Metrics that are scored by row.
SCORED = ("example-f1", "subset-accuracy", "micro-f1", "hamming")
#: Entries of the outputs that are kept at most, and characters of a text.
_ENTRIES, _CHARACTERS = 20_000_000, 2000
_UNKNOWN = 255


def _kept(data: Any) -> int:
    """How many rows are kept."""
    return min(len(data), max(100, _ENTRIES // max(data.n_labels, 1)))


def label_examples(data: Any) -> Examples:
    """Titles, and where rows are texts these."""
    n = _kept(data)
    truth = np.where(np.isnan(data.Y[:n]), _UNKNOWN, data.Y[:n]).astype(np.uint8)
    texts = getattr(data, "texts", None)
    shown = None if texts is None else [[text[:_CHARACTERS]] for text in texts[:n]]
    titles = [f"row {number}" for number in range(n)]
    return Examples("labels", list(map(str, data.label_names)), truth, titles, shown)


def label_details(data: Any, on: Any, proba: Any, *, calibrates: bool) -> Details:
    """Scores by row, F1 by label and calibration of label sets ``(n, L)``."""
    labels = data.n_labels
    P, proba = with_unseen(np.asarray(on), labels), with_unseen(np.asarray(proba), labels)
    gold, found, known = gold_and(data.Y, P, "P")
    counts = [gold & found, found, gold]
    size = np.full(len(gold), labels) if known is None else known.sum(1)
    right = size - (found ^ gold).sum(1)
    scores = {name: _by_row(name, data.Y, P, size > 0) for name in SCORED[:2]}
    scores |= {"micro-f1": np.stack([one.sum(1) for one in counts], 1)}
    scores |= {"hamming": np.stack([right, size, size], 1)}
    groups = f1_groups([*map(str, data.label_names)], np.stack([c.sum(0) for c in counts], 1))
    bins, calibration = None, dict[str, float]()
    if calibrates:
        entries = (proba, gold) if known is None else (proba[known], gold[known])
        bins, calibration = reliability_bins(*entries)
    kept = P[: _kept(data)].astype(np.uint8)
    return Details(scores, kept, groups, "label", bins, calibration)


def _by_row(name: str, Y: Any, P: Any, counts: np.ndarray) -> np.ndarray:
    """A metric of each row, NaN for rows without a known label."""
    values = np.full(len(counts), np.nan)
    values[counts] = METRICS[name].of_rows(Y[counts], P[counts])
    return values
