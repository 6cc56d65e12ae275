"""Local search and enumeration, on spaces where the best output is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lossnet.decisions import (
    best_f_of_samples,
    enumerated,
    local_search,
    marginals,
    minimum_risk,
    most_probable,
)
from lossnet.errors import DataError
from lossnet.spaces import Binary, Categorical


def pairwise(labels: int, rows: int, strength: float, seed: int):
    """A random pairwise model of each row as a log joint, and its fields ``(rows, labels)``."""
    draw = torch.Generator().manual_seed(seed)
    theta = torch.randn(rows, labels, generator=draw, dtype=torch.float64)
    couple = strength * torch.randn(rows, labels, labels, generator=draw, dtype=torch.float64)

    def log_joint(y: Tensor) -> Tensor:
        y = y.double()
        pairs = torch.einsum("kbi,bij,kbj->kb", y, couple.triu(1), y)
        return (y * theta).sum(-1) + pairs

    return log_joint, theta


def gap(log_joint, shape, y: Tensor, space=None) -> Tensor:
    """How far the log-probability of outputs is from the highest, ``(B,)``."""
    space = space or Binary()
    every, log_p = enumerated(space, shape, log_joint)
    best = most_probable(every, log_p)
    return (log_joint(best[None]) - log_joint(y[None]))[0]


def test_independent_labels_reach_the_optimum() -> None:
    logits = torch.randn(20, 9, generator=torch.Generator().manual_seed(0))
    found = local_search(lambda y: Binary().log_prob(logits, y), torch.zeros(20, 9).bool())
    assert torch.equal(found, logits > 0)


def test_result_is_optimal_under_single_flips_and_never_worse() -> None:
    log_joint, _ = pairwise(7, 40, 1.5, seed=1)
    start = torch.rand(40, 7, generator=torch.Generator().manual_seed(2)) < 0.5
    found = local_search(log_joint, start)
    assert (log_joint(found[None]) >= log_joint(start[None])).all()
    flips = found ^ torch.eye(7).bool().unsqueeze(1)
    assert (log_joint(flips) <= log_joint(found[None]) + 1e-9).all()
    lost = gap(log_joint, (40, 7), found)
    assert (lost >= -1e-9).all()
    assert (lost < 1e-9).double().mean() > 0.8
    assert lost.mean() < gap(log_joint, (40, 7), start).mean() / 10


def test_a_row_does_not_depend_on_the_others() -> None:
    log_joint, _ = pairwise(8, 30, 1.0, seed=5)
    start = torch.zeros(30, 8).bool()
    together = local_search(log_joint, start)
    for row in range(0, 30, 7):

        def alone(y: Tensor, row: int = row) -> Tensor:
            return log_joint(y.expand(-1, 30, -1))[:, row : row + 1]

        assert torch.equal(local_search(alone, start[row : row + 1])[0], together[row])


def test_rows_that_are_done_are_left_out() -> None:
    log_joint, theta = pairwise(8, 30, 1.0, seed=5)
    start, scored = torch.zeros(30, 8).bool(), []

    def of_rows(rows: Tensor):
        def some(y: Tensor) -> Tensor:
            scored.append(len(rows))
            every = torch.zeros(len(y), 30, 8).bool()
            every[:, rows] = y
            return log_joint(every)[:, rows]

        return some

    whole = local_search(log_joint, start, logits=theta)
    assert torch.equal(local_search(log_joint, start, logits=theta, of_rows=of_rows), whole)
    assert scored
    assert max(scored) < 30


def test_only_the_likeliest_changes_are_scored() -> None:
    log_joint, theta = pairwise(12, 20, 0.2, seed=4)
    scored: list[int] = []

    def counted(y: Tensor) -> Tensor:
        scored.append(len(y))
        return log_joint(y)

    start = theta > 0
    found = local_search(counted, start, logits=theta, changes=4)
    assert max(scored) <= max(4, 28)  # four changes, or pairs of at most eight
    assert (log_joint(found[None]) >= log_joint(start[None])).all()
    least = torch.where(found, -theta, theta).topk(4).indices
    flips = found ^ torch.nn.functional.one_hot(least, 12).bool().transpose(0, 1)
    assert (log_joint(flips) <= log_joint(found[None]) + 1e-9).all()
    assert torch.equal(local_search(log_joint, start, logits=theta), local_search(log_joint, start))


def test_classes_without_a_position_stay_as_they_are() -> None:
    logits = torch.randn(6, 5, 3, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(5) < torch.tensor([[1], [2], [3], [4], [5], [5]])
    space, best = Categorical(), Categorical().decode(logits) & mask.unsqueeze(-1)
    start = Categorical().decode(-logits) & mask.unsqueeze(-1)
    masked = logits.masked_fill(~mask.unsqueeze(-1), -torch.inf)
    log_q = lambda y: space.log_prob(logits, y, mask)  # noqa: E731
    found = local_search(log_q, start, space, logits=masked, changes=6)
    assert torch.equal(found, best)


def test_a_label_replaces_another() -> None:
    def exactly_one(y: Tensor) -> Tensor:
        score = (y * torch.tensor([1.0, 2.0, 3.0])).sum(-1)
        return torch.where(y.sum(-1) == 1, score, -torch.inf)

    start = torch.tensor([[True, False, False]])
    assert local_search(exactly_one, start).tolist() == [[False, False, True]]


def test_leaves_outputs_of_probability_zero() -> None:
    def log_joint(y: Tensor) -> Tensor:
        return torch.where(y.sum(-1) >= 1, 0.0, -torch.inf)

    assert local_search(log_joint, torch.zeros(1, 3).bool()).sum() == 1


def test_parts_of_bounded_memory_change_nothing(monkeypatch) -> None:
    log_joint, _ = pairwise(7, 10, 1.0, seed=3)
    start = torch.zeros(10, 7).bool()
    whole, log_p = local_search(log_joint, start), enumerated(Binary(), (10, 7), log_joint)[1]
    monkeypatch.setattr("lossnet.decisions.search._NUMBERS", 10 * 7 * 3)
    assert torch.equal(local_search(log_joint, start), whole)
    torch.testing.assert_close(enumerated(Binary(), (10, 7), log_joint)[1], log_p)


def test_classes_of_a_chain() -> None:
    draw = torch.Generator().manual_seed(0)
    unary = torch.randn(25, 5, 3, generator=draw)
    follow = torch.randn(3, 3, generator=draw)

    def log_joint(y: Tensor) -> Tensor:
        y = y.float()
        pairs = torch.einsum("kbti,ij,kbtj->kb", y[:, :, :-1], follow, y[:, :, 1:])
        return (y * unary).sum((-1, -2)) + pairs

    space = Categorical()
    start = space.decode(unary)
    found = local_search(log_joint, start, space=space)
    assert (found.sum(-1) == 1).all()
    lost = gap(log_joint, (25, 5, 3), found, space)
    assert lost.mean() < gap(log_joint, (25, 5, 3), start, space).mean() / 2
    # There are ten changes of five positions, so every pair of changes was tried.
    every = space.enumerate((5, 3)).unsqueeze(1)
    near = (every & found).any(-1).sum(-1) >= 3
    scores = log_joint(every.expand(-1, 25, -1, -1)).where(near, -torch.inf)
    torch.testing.assert_close(scores.amax(0), log_joint(found[None])[0])


def test_enumerated_probabilities() -> None:
    logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y, log_p = enumerated(Binary(), (6, 5), lambda y: Binary().log_prob(logits, y) + 3.0)
    assert y.shape == (32, 6, 5)
    torch.testing.assert_close(log_p, Binary().log_prob(logits, y))
    torch.testing.assert_close(marginals(y, log_p.exp()), logits.sigmoid())
    assert best_f_of_samples(y, log_p.exp()).shape == (6, 5)
    agree = minimum_risk(y, y, log_p.exp(), lambda t, p: (t == p).all(-1).double())
    assert torch.equal(agree, log_p.argmax(0))


def test_enumerated_classes() -> None:
    logits = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    y, log_p = enumerated(Categorical(), (2, 4, 3), lambda y: Categorical().log_prob(logits, y))
    assert len(y) == 81
    torch.testing.assert_close(marginals(y, log_p.exp()), logits.softmax(-1))


@pytest.mark.parametrize(
    ("space", "shape"), [(Binary(), (1, 15)), (Categorical(), (1, 9, 3)), (Binary(), (1, 9, 9))]
)
def test_large_spaces_are_not_enumerated(space, shape) -> None:
    with pytest.raises(DataError, match="at most 16,384 can be enumerated"):
        enumerated(space, shape, lambda y: y.flatten(2).sum(-1))


def test_the_largest_spaces_are() -> None:
    assert len(enumerated(Binary(), (1, 14), lambda y: y.double().sum(-1))[0]) == 2**14


def test_bad_log_joints() -> None:
    start = torch.zeros(2, 3).bool()
    with pytest.raises(DataError, match=r"must have shape \(1, 2\), got \(2,\)"):
        local_search(lambda y: y.double().sum((0, 2)), start)
    with pytest.raises(DataError, match="NaN"):
        local_search(lambda y: y.double().sum(-1) * torch.nan, start)
