"""Minimum Bayes risk against loops over rows, candidates and samples."""

from __future__ import annotations

import brute
import numpy as np
import pytest
import torch
from torch import Tensor

from lossnet.decisions import best_f, marginals, minimum_risk, of_rows
from lossnet.errors import DataError
from lossnet.spaces import Binary, Categorical


def accuracy(truth: Tensor, prediction: Tensor) -> Tensor:
    """The share of positions with the right class."""
    return (truth & prediction).any(-1).double().mean(-1)


def looped(candidates: Tensor, y: Tensor, w: Tensor, metric) -> Tensor:
    """Mean utilities ``(C, B)``."""
    found = torch.zeros(candidates.shape[:2], dtype=torch.float64)
    for c in range(candidates.shape[0]):
        for b in range(candidates.shape[1]):
            for k in range(len(y)):
                found[c, b] += w[k, b] * float(metric(y[k, b], candidates[c, b]))
    return found


@pytest.mark.parametrize("numbers", [2**23, 100, 7])
def test_equals_loops(monkeypatch, numbers) -> None:
    monkeypatch.setattr("lossnet.decisions.risk._NUMBERS", numbers)
    draw = torch.Generator().manual_seed(0)
    candidates, y = (torch.rand(k, 5, 4, generator=draw) < 0.4 for k in (6, 7))
    w = torch.softmax(torch.randn(7, 5, generator=draw, dtype=torch.float64), 0)
    means = looped(candidates, y, w, brute.f_beta)
    found = minimum_risk(candidates, y, w, brute.f_beta)
    torch.testing.assert_close(means.gather(0, found[None])[0], means.amax(0))
    rows = of_rows(lambda t, p: float(brute.f_beta(torch.tensor(t), torch.tensor(p))))
    assert torch.equal(minimum_risk(candidates, y, w, rows), found)


def test_over_all_sets_it_is_the_best_decision() -> None:
    p = torch.rand(30, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    every, w = brute.all_sets(5).unsqueeze(1).expand(-1, 30, -1), brute.independent(p)
    found = minimum_risk(every, every, w, brute.f_beta)
    assert torch.equal(brute.all_sets(5)[found], best_f(p))


def test_classes_and_token_accuracy() -> None:
    space = Categorical()
    logits = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(0))
    every = space.enumerate((3, 4)).unsqueeze(1).expand(-1, 6, -1, -1)
    found = minimum_risk(every, every, space.log_prob(logits, every).exp(), accuracy)
    assert torch.equal(every[:, 0][found], space.decode(logits))


def test_coupled_classes_and_samples_of_them() -> None:
    """Under any joint, argmax of the marginals is best for tokens; samples converge to it."""
    space, draw = Categorical(), torch.Generator().manual_seed(0)
    every = space.enumerate((3, 3)).unsqueeze(1).expand(-1, 8, -1, -1)
    w = torch.softmax(2 * torch.randn(27, 8, generator=draw, dtype=torch.float64), 0)
    found = minimum_risk(every, every, w, accuracy)
    assert torch.equal(every[:, 0][found], space.decode(marginals(every, w)))
    exact = looped(every, every, w, accuracy)
    lost = []
    for k in (5, 5000):
        drawn = every[:, 0][torch.multinomial(w.T, k, replacement=True, generator=draw).T]
        chosen = minimum_risk(every, drawn, torch.full((k, 8), 1 / k), accuracy)
        lost.append(float((exact.amax(0) - exact.gather(0, chosen[None])[0]).mean()))
    assert lost[0] > lost[1] >= 0
    assert lost[1] < 0.005


def test_sparse_outputs() -> None:
    draw = torch.Generator().manual_seed(0)
    y = Binary().sample(torch.randn(10, 80, generator=draw) - 4, 20, draw)
    assert y.is_sparse
    w = torch.full((20, 10), 0.05)
    dense = y.to_dense().bool()

    def metric(truth: Tensor, prediction: Tensor) -> Tensor:
        return brute.f_beta(truth.bool(), prediction.bool())

    assert torch.equal(minimum_risk(y, y, w, metric), minimum_risk(dense, dense, w, metric))


def test_equal_outputs_are_compared_once() -> None:
    calls = []

    def metric(truth: np.ndarray, prediction: np.ndarray) -> float:
        calls.append(1)
        return float((truth == prediction).all())

    y = torch.tensor([[True, False], [True, False], [False, True]]).unsqueeze(1)
    w = torch.full((3, 1), 1 / 3)
    assert minimum_risk(y, y, w, of_rows(metric)).tolist() == [0]
    assert len(calls) == 4


def test_nan_and_wrong_shapes_are_reported() -> None:
    y, w = torch.ones(2, 3, 4).bool(), torch.full((2, 3), 0.5)
    with pytest.raises(DataError, match="the metric returned NaN"):
        minimum_risk(y, y, w, of_rows(lambda truth, prediction: float("nan")))
    with pytest.raises(DataError, match=r"must have shape \(2, 2, 3\), got \(2, 2, 3, 4\)"):
        minimum_risk(y, y, w, lambda truth, prediction: truth * prediction)
