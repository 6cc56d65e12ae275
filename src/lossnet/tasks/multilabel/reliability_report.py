"""Whether probabilities can be taken at their word: how often labels of probability p are on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnet.checks import check_int
from lossnet.drawing import lines
from lossnet.drawing.page import GREY, new_figure
from lossnet.errors import DataError
from lossnet.tasks.multilabel.arrays import gold_and, with_unseen


@dataclass(frozen=True, eq=False)
class Reliability:
    """Probabilities of labels against what came true, over all that are known.

    Attributes:
        edges: edges of the bins, ``(bins + 1,)``, from 0 to 1.
        mean: mean probability of each bin, NaN for an empty one.
        frequency: share of each bin's labels that are on, NaN for an empty bin.
        counts: number of labels in each bin.
        ece: expected calibration error, Σ_b counts_b / N |frequency_b - mean_b|.
        log_loss: mean of -log p(y) in nats, p kept 1e-12 away from 0 and 1.
        brier: mean of (p - y)².
    """

    edges: np.ndarray
    mean: np.ndarray
    frequency: np.ndarray
    counts: np.ndarray
    ece: float
    log_loss: float
    brier: float

    def __str__(self) -> str:
        errors = f"ECE {self.ece:.4f}, log loss {self.log_loss:.4f}, Brier score {self.brier:.4f}"
        return f"{errors} ({int(self.counts.sum()):,} labels)"


def reliability(Y: ArrayLike, proba: ArrayLike, *, bins: int = 10) -> Reliability:
    """How probabilities compare with what came true, in bins of equal width.

    Args:
        Y: (n, L) gold 0/1, NaN where not known: such entries are left out.
        proba: (n, L).
        bins: number of bins.

    >>> print(reliability([[1, 0], [1, 1]], [[0.75, 0.25], [0.75, 0.75]]))
    ECE 0.2500, log loss 0.2877, Brier score 0.0625 (4 labels)
    """
    check_int("bins", bins)
    gold, p, known = gold_and(Y, proba, "proba")
    p, on = (p.ravel(), gold.ravel()) if known is None else (p[known], gold[known])
    if p.size and (p.min() < 0 or p.max() > 1):
        span = f"{p.min():.4g} to {p.max():.4g}"
        raise DataError(f"proba ranges from {span}; expected probabilities between 0 and 1")
    edges = np.linspace(0.0, 1.0, bins + 1)
    bin_of = np.searchsorted(edges[1:-1], p, side="right")
    counts = np.bincount(bin_of, minlength=bins)
    sums = [np.bincount(bin_of, values, minlength=bins) for values in (p, on)]
    empty = np.where(counts, 1.0, np.nan)
    mean, frequency = (total / np.maximum(counts, 1) * empty for total in sums)
    clipped = np.clip(p, 1e-12, 1 - 1e-12)
    return Reliability(
        edges,
        mean,
        frequency,
        counts,
        ece=float(np.abs(sums[0] - sums[1]).sum() / p.size),
        log_loss=float(-np.where(on, np.log(clipped), np.log1p(-clipped)).mean()),
        brier=float(np.square(p - on).mean()),
    )


def draw_reliability(
    runs: Mapping[str, tuple[ArrayLike, ArrayLike]],
    path: str | Path,
    *,
    bins: int = 10,
    title: str = "",
) -> Path:
    """The share of labels that are on against their probability, and how many labels there are.

    Calibrated probabilities lie on the diagonal; below it a model is too sure of its labels.

    Args:
        runs: name to ``(Y, proba)``, one line each; see :func:`reliability`.
        path: the picture to write; its suffix is the format.
        bins: number of bins.
        title: above the picture.
    """
    found = {name: reliability(*pair, bins=bins) for name, pair in lines.given(runs).items()}
    names = [_words(name, one) for name, one in found.items()]
    figure = new_figure(5.4, 6.6 + 0.2 * len(names))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.4, 1])
    upper.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for index, one in enumerate(found.values()):
        _draw(upper, lower, one, lines.line_style(index))
    lines.tidy(upper, "share of labels that are on")
    upper.set(xlim=(0, 1), ylim=(0, 1))
    lines.tidy(lower, "number of labels")
    counts = np.log10(np.concatenate([one.counts[one.counts > 0] for one in found.values()]))
    lower.set(yscale="log", ylim=(10.0 ** np.floor(counts.min()), 10.0 ** (counts.max() + 0.1)))
    lower.minorticks_off()
    lower.set_axisbelow(True)
    lower.set_xlabel("probability (dashed line: calibrated)", fontsize=9)
    lines.legend(figure, names, columns=1)
    return lines.save_lines(figure, path, title)


def _draw(upper: Any, lower: Any, one: Reliability, style: Mapping[str, Any]) -> None:
    """A line with dots over the bins that are not empty, and the counts as steps."""
    seen = one.counts > 0
    dots = {"marker": "o", "markersize": 4, "clip_on": False}
    upper.plot(one.mean[seen], one.frequency[seen], linewidth=1.5, **dots, **style)
    counts = np.where(seen, one.counts, np.nan)
    lower.stairs(counts, one.edges, linewidth=1.5, baseline=None, **style)


def _words(name: str, one: Reliability) -> str:
    return f"{name}: ECE {one.ece:.3f}, log loss {one.log_loss:.3f}"


def draw_models(judged: Mapping[str, Any], path: str | Path, *, title: str = "") -> Path:
    """The reliability of fitted models, each with its data, before and after calibration.

    Args:
        judged: name to ``(model, data)``.
        path: the picture to write.
        title: above the picture.
    """
    runs: dict[str, tuple[Any, Any]] = {}
    for name, (model, data) in judged.items():
        raw = model._outputs(model._proposal(), model._unseen(data.without_labels()))
        pairs = {f"{name}, as trained": raw, f"{name}, calibrated": model._calibrated(raw)}
        if model.temperature_ is None:
            pairs = {name: raw}
        runs |= {key: (data.Y, with_unseen(p, data.n_labels)) for key, p in pairs.items()}
    return draw_reliability(runs, path, title=title)
