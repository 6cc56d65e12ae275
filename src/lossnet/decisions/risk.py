"""The candidate with the best mean of any metric, its minimum Bayes risk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.errors import DataError

#: ``utility(truth, prediction)`` of outputs ``(C, K, B, *S)``, ``(C, K, B)``; higher is better.
Utility = Callable[[Tensor, Tensor], Tensor]
#: The most entries of outputs that are compared at once.
_NUMBERS = 2**23


def minimum_risk(candidates: Tensor, y: Tensor, w: Tensor, utility: Utility) -> Tensor:
    """The candidate of highest mean utility, argmax_c Σ_k w_k u(y_k, c), as its number ``(B,)``.

    The first one among equals.

    Args:
        candidates: outputs to choose from, ``(C, B, *S)``: bool, numbers or sparse.
        y: samples of the truth ``(K, B, *S)``, likewise.
        w: their weights ``(K, B)``, which sum to 1.
        utility: ``utility(truth, prediction)`` of tensors ``(C, K, b, *S)`` for some of the rows,
            ``(C, K, b)``, higher is better. For a function of two arrays see :func:`of_rows`.

    >>> y = torch.tensor([[[True, True]], [[True, False]], [[False, True]]])
    >>> agree = lambda truth, prediction: (truth == prediction).all(-1).double()
    >>> minimum_risk(y, y, torch.tensor([[0.2], [0.5], [0.3]]), agree)
    tensor([1])
    """
    candidates, y = (one.to_dense() if one.is_sparse else one for one in (candidates, y))
    size = max(1, y[0, :1].numel())
    rows = max(1, _NUMBERS // (len(candidates) * len(y) * size))
    some = max(1, _NUMBERS // (len(y) * rows * size))
    best = [
        torch.cat([_mean(part, truth, weight, utility) for part in chosen.split(some)]).argmax(0)
        for chosen, truth, weight in zip(
            candidates.split(rows, 1), y.split(rows, 1), w.double().split(rows, 1), strict=True
        )
    ]
    return torch.cat(best)


def _mean(candidates: Tensor, y: Tensor, w: Tensor, utility: Utility) -> Tensor:
    """Mean utilities ``(C, B)`` of candidates."""
    shape = (len(candidates), *y.shape)
    found = utility(y.unsqueeze(0).expand(shape), candidates.unsqueeze(1).expand(shape))
    if found.shape != shape[:3]:
        raise DataError(
            f"the metric of outputs {shape} must have shape {shape[:3]}, got {tuple(found.shape)}"
        )
    if found.isnan().any():
        raise DataError("the metric returned NaN; it must be a number for every pair of outputs")
    return (found.double() * w).sum(1)


def of_rows(metric: Callable[[Any, Any], float]) -> Utility:
    """A utility of a function ``metric(truth, prediction)`` of two arrays ``(*S)`` of one row.

    Equal outputs of a row are compared once.

    >>> agree = of_rows(lambda truth, prediction: float((truth == prediction).all()))
    >>> agree(torch.eye(2).view(1, 2, 1, 2), torch.eye(2).view(2, 1, 1, 2)).squeeze(-1)
    tensor([[1., 0.],
            [0., 1.]], dtype=torch.float64)
    """

    def utility(truth: Tensor, prediction: Tensor) -> Tensor:
        truths, predictions = (t.cpu().numpy() for t in (truth[0], prediction[:, 0]))
        found = np.stack(
            [_table(metric, truths[:, b], predictions[:, b]) for b in range(truths.shape[1])], -1
        )
        return torch.as_tensor(found, device=truth.device)

    return utility


def _table(metric: Callable[[Any, Any], float], truths: Any, predictions: Any) -> Any:
    """The metric of every prediction (first axis) with every truth, each distinct pair once."""
    truths, of_truth = np.unique(truths, axis=0, return_inverse=True)
    predictions, of_prediction = np.unique(predictions, axis=0, return_inverse=True)
    values = [[float(metric(truth, one)) for truth in truths] for one in predictions]
    return np.array(values)[np.ix_(of_prediction.ravel(), of_truth.ravel())]
