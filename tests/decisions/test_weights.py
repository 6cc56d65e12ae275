"""Weights of candidates, their mean, and the most probable one."""

from __future__ import annotations

import pytest
import torch

from lossnet.decisions import marginals, most_probable, self_normalised
from lossnet.errors import DataError
from lossnet.spaces import Binary, Categorical


def test_weights_and_effective_sample_size() -> None:
    log_w = torch.randn(50, 7, dtype=torch.float64) * torch.arange(7) + 700.0
    w, size = self_normalised(log_w)
    torch.testing.assert_close(w.sum(0), torch.ones(7, dtype=torch.float64))
    torch.testing.assert_close(size, w.sum(0) ** 2 / (w**2).sum(0))
    assert float(size[0]) == pytest.approx(50.0)
    torch.testing.assert_close((w[0] / w[1]).log(), log_w[0] - log_w[1])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_weights(bad) -> None:
    with pytest.raises(DataError, match="log-weights"):
        self_normalised(torch.full((2, 1), bad))


def test_marginals_are_the_weighted_mean() -> None:
    w = torch.softmax(torch.randn(9, 4), 0)
    for shape in ((5,), (3, 2), ()):
        y = torch.rand(9, 4, *shape) < 0.5
        expected = torch.einsum("kb,kb...->b...", w, y.float())
        torch.testing.assert_close(marginals(y, w), expected)


def test_sparse_candidates_as_dense_ones() -> None:
    draw = torch.Generator().manual_seed(0)
    y = Binary().sample(torch.randn(10, 80, generator=draw) - 4, 20, draw)
    assert y.is_sparse
    w = torch.softmax(torch.randn(20, 10, generator=draw, dtype=torch.float64), 0)
    torch.testing.assert_close(marginals(y, w), marginals(y.to_dense(), w))
    assert torch.equal(most_probable(y, w.log()), most_probable(y.to_dense().bool(), w.log()))


def test_marginals_and_mode_of_samples_converge() -> None:
    """Labels that exclude each other: the best set for hamming is empty, the mode is not."""
    draw = torch.Generator().manual_seed(0)
    sets = torch.eye(3).bool()
    p = torch.tensor([0.4, 0.3, 0.3], dtype=torch.float64)
    drawn = torch.multinomial(p, 20_000, replacement=True, generator=draw)
    y = sets[drawn].unsqueeze(1)
    w, size = self_normalised(torch.zeros(20_000, 1, dtype=torch.float64))
    assert float(size) == pytest.approx(20_000)
    torch.testing.assert_close(marginals(y, w)[0], p, rtol=0, atol=0.02)
    assert torch.equal(most_probable(y, p[drawn].unsqueeze(1)), sets[:1])


def test_most_probable_over_classes() -> None:
    logits = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(0))
    space = Categorical()
    y = space.enumerate((3, 5)).unsqueeze(1).expand(-1, 4, -1, -1)
    found = most_probable(y, space.log_prob(logits, y))
    assert torch.equal(found, space.decode(logits))


def test_nan_is_reported() -> None:
    with pytest.raises(DataError, match="NaN"):
        most_probable(torch.ones(2, 1, 3), torch.tensor([[0.0], [float("nan")]]))
