"""Which labels a loss-net ties together (paper 000, Figure 2), next to their co-occurrence.

∂E_global/∂y_k at y = t e_i, as t goes from 0 to 1 with all other labels at 0 (the paper leaves open
where they are). Below its value at t = 0, label i draws label k along; cross-entropy's gradient for
k does not depend on i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

#: Rows that a label must have at least for its pairs to be compared.
FEWEST = 10


def global_gradients(energy: Any, y: Tensor) -> Tensor:
    """∂E_global/∂y at outputs ``(n, L)``: the energy of inputs that say nothing."""
    with torch.enable_grad():
        y = y.detach().requires_grad_(True)
        (found,) = torch.autograd.grad(energy(torch.zeros_like(y), y.unsqueeze(0)).sum(), y)
    return found.detach()


def changes(energy: Any, labels: int) -> np.ndarray:
    """How the gradient for label k changes as label i goes from 0 to 1: row i, column k."""
    at = global_gradients(energy, torch.cat([torch.zeros(1, labels), torch.eye(labels)]))
    return np.asarray((at[1:] - at[:1]).numpy())


def association(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p(k on | i on) - p(k on) by training rows, row i, column k; and which pairs are frequent."""
    Y = np.nan_to_num(np.asarray(Y, dtype=np.float64))
    both, count = Y.T @ Y, Y.sum(0)
    given = both / np.maximum(count, 1.0)[:, None]
    frequent = (count >= FEWEST)[:, None] & (count >= FEWEST)[None, :]
    # A label that is nearly always on has nothing to learn from others.
    known = frequent & ~np.eye(len(count), dtype=bool) & (count <= 0.9 * len(Y))[None, :]
    return given - count / len(Y), known


def kinship(parents: Mapping[int, Sequence[int]], labels: int) -> np.ndarray:
    """Pairs of labels in a hierarchy: 1 for parent and child, -1 without a common ancestor, else 0.

    A label that all others descend from is nobody's ancestor here.
    """
    direct = np.zeros((labels, labels), dtype=bool)
    for child, above in parents.items():
        direct[child, list(above)] = True
    line = direct | np.eye(labels, dtype=bool)  # a label and its ancestors
    while (longer := line | (line.astype(np.float32) @ line > 0)).sum() > line.sum():
        line = longer
    line = line & ~(line.all(axis=0) & (labels > 1))
    strangers = (line.astype(np.float32) @ line.T) == 0
    found = np.where(direct | direct.T, 1, np.where(strangers, -1, 0))
    alone = ~line.any(axis=1)
    found[alone], found[:, alone] = 0, 0
    return found.astype(np.int8)


def kinship_auc(strength: np.ndarray, kin: np.ndarray, known: np.ndarray) -> float | None:
    """How well the strength of a tie tells parent and child from labels of separate branches.

    The share of pairs of such pairs in which parent and child have the higher strength; None
    without pairs of both kinds.
    """
    from scipy.stats import rankdata

    pairs = known & (kin != 0) & np.isfinite(strength)
    ranks, related = rankdata(strength[pairs]), kin[pairs] > 0
    positive, negative = int(related.sum()), int((~related).sum())
    if not positive or not negative:
        return None
    above = ranks[related].sum() - positive * (positive + 1) / 2
    return float(above / (positive * negative))
