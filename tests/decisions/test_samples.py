"""The F-beta rule on weighted samples, against every label set."""

from __future__ import annotations

from functools import partial

import brute
import pytest
import torch
from torch import Tensor

from lossnet.decisions import best_f, best_f_of_samples, self_normalised
from lossnet.errors import SettingError
from lossnet.spaces import Binary


def joint(labels: int, rows: int, seed: int, scale: float) -> Tensor:
    """Weights of every label set ``(2^L, B)``: any joint distribution, with some sets left out."""
    draw = torch.Generator().manual_seed(seed)
    log_w = scale * torch.randn(2**labels, rows, generator=draw, dtype=torch.float64)
    log_w[torch.rand(log_w.shape, generator=draw) < 0.3] = -torch.inf
    log_w[0] = torch.where(torch.rand(rows, generator=draw) < 0.3, 3.0 * scale, log_w[0])
    log_w[-1] = 0.0
    return self_normalised(log_w)[0]


def expand(labels: int, rows: int) -> Tensor:
    return brute.all_sets(labels).unsqueeze(1).expand(-1, rows, -1)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("labels", range(1, 8))
def test_no_set_is_better(labels, beta) -> None:
    metric = partial(brute.f_beta, beta=beta)
    for scale in (0.0, 1.0, 4.0, 30.0):
        w = joint(labels, 40, labels, scale)
        found = brute.expected(metric, best_f_of_samples(expand(labels, 40), w, beta), w)
        torch.testing.assert_close(found, brute.best(metric, labels, w), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_random_samples_with_repeats(seed) -> None:
    draw = torch.Generator().manual_seed(seed)
    y = torch.rand(12, 50, 6, generator=draw) < torch.rand(50, 6, generator=draw)
    w = torch.softmax(2 * torch.randn(12, 50, generator=draw, dtype=torch.float64), 0)
    w[3:5] = 0.0
    w /= w.sum(0)
    found = brute.expected(brute.f_beta, best_f_of_samples(y, w), w, y)
    torch.testing.assert_close(found, brute.best(brute.f_beta, 6, w, y), rtol=0, atol=1e-12)


def test_independent_weights_give_the_independent_rule() -> None:
    p = torch.rand(200, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w = brute.independent(p)
    assert torch.equal(best_f_of_samples(expand(7, 200), w), best_f(p))


def test_samples_converge_to_the_exact_decision() -> None:
    labels, rows = 5, 30
    w = joint(labels, rows, 1, 1.5)
    exact = brute.best(brute.f_beta, labels, w)
    draw = torch.Generator().manual_seed(0)
    lost = []
    for k in (10, 100, 10_000):
        drawn = torch.multinomial(w.T, k, replacement=True, generator=draw).T
        chosen = best_f_of_samples(brute.all_sets(labels)[drawn], torch.full((k, rows), 1 / k))
        lost.append(float((exact - brute.expected(brute.f_beta, chosen, w)).mean()))
    assert lost[0] > lost[1] > lost[2] >= -1e-12
    assert lost[2] < 2e-3


def test_weights_of_a_proposal_converge_too() -> None:
    labels, rows, k = 5, 30, 20_000
    w = joint(labels, rows, 2, 1.0)
    logits = torch.randn(rows, labels, generator=torch.Generator().manual_seed(1))
    y = Binary().sample(logits, k, torch.Generator().manual_seed(2))
    number = (y.long() * 2 ** torch.arange(labels - 1, -1, -1)).sum(-1)
    log_w = w.log().gather(0, number) - Binary().log_prob(logits, y)
    chosen = best_f_of_samples(y, self_normalised(log_w)[0])
    exact = brute.best(brute.f_beta, labels, w)
    assert float((exact - brute.expected(brute.f_beta, chosen, w)).max()) < 0.02


def test_sparse_samples_decide_as_dense_ones(monkeypatch) -> None:
    draw = torch.Generator().manual_seed(0)
    y = Binary().sample(torch.randn(40, 60, generator=draw) - 4, 30, draw)
    assert y.is_sparse
    w = torch.softmax(torch.randn(30, 40, generator=draw), 0)
    whole = best_f_of_samples(y, w)
    assert torch.equal(whole, best_f_of_samples(y.to_dense().bool(), w))
    monkeypatch.setattr("lossnet.decisions.samples._NUMBERS", 30 * 60 * 7)  # seven rows a part
    assert torch.equal(whole, best_f_of_samples(y, w))
    assert torch.equal(whole, best_f_of_samples(y.to_dense(), w))


def test_all_samples_empty() -> None:
    w = torch.full((3, 2), 1 / 3)
    assert not best_f_of_samples(torch.zeros(3, 2, 4, dtype=torch.bool), w).any()


def test_bad_beta() -> None:
    with pytest.raises(SettingError, match="beta must be above 0, got 0"):
        best_f_of_samples(torch.ones(1, 1, 1), torch.ones(1, 1), 0)
