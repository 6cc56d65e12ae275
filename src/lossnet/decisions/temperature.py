"""Temperature scaling: probabilities that are too sure, or not sure enough, made right."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lossnet.errors import DataError, SettingError
from lossnet.spaces import Binary, Space
from lossnet.spaces.space import as_target

#: Temperatures that :func:`fit_temperature` may find. Where every prediction is right the log loss
#: falls all the way to 0, and where a net knows nothing it falls all the way to infinity.
LEAST, MOST = 0.25, 20.0
_EPS = 1e-12


def temper(
    p: Tensor, temperature: float, *, space: Space | None = None, offset: float = 0.0
) -> Tensor:
    """Probabilities with their logits divided by a temperature, in float64.

    sigmoid((logit(p) + offset) / T) or, for classes on the last axis, softmax(log(p) / T), with p
    kept 1e-12 away from 0 and 1. A temperature above 1 makes them less sure.

    Args:
        p: probabilities ``(..., *S)``.
        temperature: above 0.
        space: what an output is; None stands for :class:`~lossnet.Binary`.
        offset: added to the logits of labels first.

    >>> temper(torch.tensor([0.1, 0.5, 1.0]), 2.0)
    tensor([0.2500, 0.5000, 1.0000], dtype=torch.float64)
    """
    if not temperature > 0:
        raise SettingError(f"temperature must be above 0, got {temperature!r}")
    p = p.double()
    if space is not None and space.coupled:
        return torch.softmax(p.clamp_min(_EPS).log() / temperature, -1)
    return torch.sigmoid((torch.logit(p, eps=_EPS) + offset) / temperature)


def fit_temperature(
    p: Tensor, target: Tensor, mask: Tensor | None = None, *, space: Space | None = None
) -> float:
    """The temperature of lowest log loss (Guo et al. 2017, section 4.2), between 0.25 and 20.

    The log loss of :func:`temper` is convex in b = 1 / T. Its slope is the mean over positions of
    E_b[z] - z[target], with z the logits and E_b the mean under softmax(b z), its curvature the
    mean variance of z: Newton steps find the root, with bisection where one leaves the bracket.

    Args:
        p: probabilities ``(n, *S)``.
        target: the truth ``(n, *S)``, or class numbers ``(n, *P)``.
        mask: ``(n, *P)``, true where a position counts.
        space: what an output is; None stands for :class:`~lossnet.Binary`.

    >>> p, truth = torch.full((4, 1), 0.9), torch.tensor([[1.0], [1.0], [1.0], [0.0]])
    >>> temper(p[0], fit_temperature(p, truth))  # 0.9 of a label that is on in 3 rows of 4
    tensor([0.7500], dtype=torch.float64)
    """
    space = Binary() if space is None else space
    y = as_target(space, p, target, mask).double()
    z = p.double()
    if mask is not None:
        z, y = z[mask], y[mask]
    if not z.numel():
        raise DataError("there is no position to fit a temperature on; the mask leaves none")
    if not ((z >= 0) & (z <= 1)).all():
        raise DataError("p must be probabilities between 0 and 1; take space.relax(logits)")
    if space.coupled:
        z = z.clamp_min(_EPS).log()
    else:  # two classes, the first of logit 0
        z = torch.logit(z, eps=_EPS)
        z, y = torch.stack([torch.zeros_like(z), z], -1), torch.stack([1 - y, y], -1)
    return 1.0 / _root(z.flatten(0, -2), y.flatten(0, -2))


def _root(z: Tensor, y: Tensor) -> float:
    """The b of lowest log loss of softmax(b z) for targets y, both ``(N, C)``."""
    low, high, b = 1.0 / MOST, 1.0 / LEAST, 1.0
    true = (y * z).sum(-1)
    for _ in range(100):
        q = torch.softmax(b * z, -1)
        mean = (q * z).sum(-1)
        slope = float((mean - true).mean())
        curvature = float(((q * z.square()).sum(-1) - mean.square()).mean())
        low, high = (b, high) if slope < 0 else (low, b)
        step = b - slope / curvature if curvature > 0 else math.inf
        before, b = b, step if low <= step <= high else math.sqrt(low * high)
        if slope == 0 or abs(b - before) <= 1e-10 * b:
            return before if slope == 0 else b
    return b
