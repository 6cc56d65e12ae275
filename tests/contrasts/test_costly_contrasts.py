"""Least squares, and ranking and NCE with the cost inside, against loops."""

import math
from dataclasses import replace

import pytest
import torch

from lossnet.contrasts import NCE, Compared, LeastSquares, Ranking
from lossnet.errors import SettingError
from lossnet.testing import check_contrast

K, B = 4, 12


def compared(k: int = K, seed: int = 0) -> Compared:
    generator = torch.Generator().manual_seed(seed)
    e, cost, log_q = torch.randn(3, k, B, generator=generator, dtype=torch.float64)
    e0, log_q0 = torch.randn(2, B, generator=generator, dtype=torch.float64)
    return Compared(e, e0, cost.sigmoid(), -log_q.exp(), -log_q0.exp())


def test_least_squares_against_a_loop() -> None:
    """Σ w/2 (v - h)² with v = -E and h = 1 - cost   (paper 004, Eq. 6)."""
    given = compared()
    weights = (1.0, 0.5, 0.0, 3.0)
    for contrast, of in ((LeastSquares(), (1.0,) * K), (LeastSquares(weights), weights)):
        loss = contrast(given)
        assert loss.shape == (B,)
        for b in range(B):
            expected = 0.0
            for k in range(K):
                value, quality = -float(given.e[k, b]), 1.0 - float(given.cost[k, b])
                expected += of[k] / 2 * (value - quality) ** 2
            assert float(loss[b]) == pytest.approx(expected, abs=1e-12)


def test_least_squares_is_zero_where_the_value_is_the_quality() -> None:
    cost = torch.tensor([[0.0, 0.25], [1.0, 0.5]])
    assert torch.equal(LeastSquares()(Compared(cost - 1.0, cost=cost)), torch.zeros(2))


def test_the_link_of_least_squares_pulls_the_value_to_1() -> None:
    """½ (v - 1)² with v = -E   (paper 004, Eq. 7)."""
    e = torch.linspace(-3.0, 2.0, 11, dtype=torch.float64)
    expected = [0.5 * (-float(v) - 1.0) ** 2 for v in e]
    assert LeastSquares().link(e).tolist() == pytest.approx(expected, abs=1e-14)
    assert float(LeastSquares().link(torch.tensor(-1.0))) == 0.0


@pytest.mark.parametrize("weights", [None, (0.5, 2.0, 0.0, 1.0)])
def test_gradients_of_least_squares(weights) -> None:
    """In the energies and in the costs, which an implicit gradient follows."""
    given = compared()
    e, cost = given.e.clone().requires_grad_(), given.cost.clone().requires_grad_()
    contrast = LeastSquares(weights)
    assert torch.autograd.gradcheck(lambda e, cost: contrast(Compared(e, cost=cost)), (e, cost))


def test_errors_of_least_squares() -> None:
    with pytest.raises(SettingError, match=r"weights must be at least 0, got \(1.0, -0.5\)"):
        LeastSquares((1.0, -0.5))
    with pytest.raises(SettingError, match="weights must be at least 0"):
        LeastSquares((math.nan,))
    with pytest.raises(SettingError, match="one per candidate, got 3 for 4"):
        LeastSquares((1.0, 1.0, 1.0))(compared())
    with pytest.raises(TypeError, match="LeastSquares needs costs"):
        LeastSquares()(replace(compared(), cost=None))


@pytest.mark.parametrize("scale", [0.0, 0.7, 5.0])
@pytest.mark.parametrize("kind", [Ranking, NCE])
@pytest.mark.parametrize("k", [1, 5])
def test_ranking_with_a_cost_against_a_loop(kind, scale, k) -> None:
    """-log exp(s_0) / Σ exp(s_k + scale cost_k), the truth's cost being 0   (paper 002)."""
    given = compared(k)
    loss = kind(scale)(given)
    for b in range(B):
        e = [float(given.e_target[b]), *given.e[:, b].tolist()]
        cost = [0.0, *given.cost[:, b].tolist()]
        log_q = [0.0] * (k + 1)
        if kind is NCE:
            log_q = [float(given.log_q_target[b]), *given.log_q[:, b].tolist()]
        terms = [math.exp(-e[n] - log_q[n] + scale * cost[n]) for n in range(k + 1)]
        assert float(loss[b]) == pytest.approx(-math.log(terms[0] / sum(terms)), abs=1e-12)


@pytest.mark.parametrize("kind", [Ranking, NCE])
def test_a_cost_is_asked_for_only_where_it_counts(kind) -> None:
    assert kind(0.5).requires == kind().requires | {"cost"}
    without = replace(compared(), cost=None)
    kind()(without)
    with pytest.raises(TypeError, match=f"{kind.__name__} needs costs"):
        kind(0.5)(without)
    for scale in (-0.1, math.nan):
        with pytest.raises(SettingError, match=f"scale must be at least 0, got {scale}"):
            kind(scale)


@pytest.mark.parametrize(
    "contrast",
    [LeastSquares(), LeastSquares((2.0,) * 4), Ranking(0.7), Ranking(3.0), NCE(0.7), NCE(3.0)],
    ids=str,
)
def test_contract(contrast) -> None:
    check_contrast(contrast, k=4)
