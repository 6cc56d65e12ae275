"""Chains against enumeration of all paths, against pytorch-crf, and under padding."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet import costs
from lossnet.contrasts import Compared, Margin
from lossnet.energies import chain_inference as chains
from lossnet.errors import SettingError
from lossnet.spaces import Categorical


def draw(lengths: list[int], classes: int, seed: int, scale: float = 2.0) -> tuple:
    """Unary and pairwise energies, a mask, start and stop, float64."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return scale * torch.randn(shape, generator=generator, dtype=torch.float64)

    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    ends = {"start": normal(classes), "stop": normal(classes)}
    return normal(*mask.shape, classes), normal(classes, classes), mask, ends


def one_hot(tags: torch.Tensor, classes: int) -> torch.Tensor:
    return F.one_hot(tags, classes).double()


def random_tags(shape: tuple[int, ...], classes: int, seed: int) -> torch.Tensor:
    return torch.randint(classes, shape, generator=torch.Generator().manual_seed(seed))


def random_outputs(like: torch.Tensor, k: int) -> torch.Tensor:
    return Categorical().random(like, k, torch.Generator().manual_seed(0))


def at_ends(unary: torch.Tensor, mask: torch.Tensor, ends: dict) -> torch.Tensor:
    """The unary energies with those of the ends, where there are any."""
    return chains.with_ends(unary, mask, **ends) if ends else unary


def every_path(unary: torch.Tensor, pairwise: torch.Tensor, n: int, start=None, stop=None):
    """All paths (N, n) of one sequence's first n tokens, and their energies (N,), by loops."""
    paths = Categorical().enumerate((n, len(pairwise))).long().argmax(-1)
    energies = []
    for path in paths.tolist():
        e = sum(float(unary[t, tag]) for t, tag in enumerate(path))
        e += sum(float(pairwise[i, j]) for i, j in itertools.pairwise(path))
        e += 0.0 if start is None else float(start[path[0]])
        e += 0.0 if stop is None else float(stop[path[-1]])
        energies.append(e)
    return paths, torch.tensor(energies, dtype=torch.float64)


problems = {
    "lengths": st.lists(st.integers(1, 4), min_size=1, max_size=3),
    "classes": st.integers(1, 3),
    "seed": st.integers(0, 9999),
    "ended": st.booleans(),
    "scale": st.sampled_from([0.5, 3.0, 400.0]),  # the last one has P too wide for products
}


@settings(max_examples=60, deadline=None)
@given(**problems)
def test_everything_equals_enumeration(lengths, classes, seed, ended, scale) -> None:
    unary, pairwise, mask, ends = draw(lengths, classes, seed, scale)
    ends = ends if ended else {}
    log_z = chains.log_partition(at_ends(unary, mask, ends), pairwise, mask)
    p = chains.marginals(at_ends(unary, mask, ends), pairwise, mask)
    tags, least = chains.viterbi(at_ends(unary, mask, ends), pairwise, mask)
    target = one_hot(random_tags(mask.shape, classes, seed), classes)
    loss = chains.nll(at_ends(unary, mask, ends), pairwise, target, mask)
    for b, n in enumerate(lengths):
        paths, e = every_path(unary[b], pairwise, n, **ends)
        padded = F.pad(one_hot(paths, classes), (0, 0, 0, mask.shape[1] - n), value=7.0)
        y = padded.unsqueeze(1).expand(-1, len(lengths), -1, -1)
        torch.testing.assert_close(
            chains.energy(at_ends(unary, mask, ends), pairwise, y, mask)[:, b], e
        )
        torch.testing.assert_close(log_z[b], torch.logsumexp(-e, 0))
        share = torch.softmax(-e, 0)
        torch.testing.assert_close(p[b, :n], torch.einsum("k,ktc->tc", share, padded[:, :n]))
        assert not p[b, n:].any()
        torch.testing.assert_close(least[b], e.min())
        torch.testing.assert_close(e[(paths == tags[b, :n]).all(1)], least[b : b + 1])
        assert not tags[b, n:].any()
        truth = (paths == target[b, :n].argmax(-1)).all(1)
        torch.testing.assert_close(loss[b], -torch.log_softmax(-e, 0)[truth][0])


@settings(max_examples=30, deadline=None)
@given(**problems)
def test_cost_augmented_inference_is_the_enumerated_ssvm(
    lengths, classes, seed, ended, scale
) -> None:
    unary, pairwise, mask, ends = draw(lengths, classes, seed)
    ends = ends if ended else {}
    target = one_hot(random_tags(mask.shape, classes, seed), classes)
    augmented = chains.cost_augmented(unary, target, scale, mask)
    tags, least = chains.viterbi(at_ends(augmented, mask, ends), pairwise, mask)
    truth = chains.energy(at_ends(unary, mask, ends), pairwise, target.unsqueeze(0), mask)[0]
    for b, n in enumerate(lengths):
        paths, e = every_path(unary[b], pairwise, n, **ends)
        y, goal = one_hot(paths, classes).unsqueeze(1), target[b : b + 1, :n]
        compared = Compared(e.unsqueeze(1), e_target=truth[b : b + 1], cost=costs.l1(y, goal))
        margin = Margin(scale=scale)(compared)
        torch.testing.assert_close((truth - least)[b : b + 1].clamp_min(0.0), margin)
        best = (paths == tags[b, :n]).all(1)
        objective = scale * compared.cost.squeeze(1) - e
        torch.testing.assert_close(objective[best][0], objective.max())


def test_a_scale_a_row_makes_the_cost_a_token_error() -> None:
    unary, pairwise, mask, _ = draw([3, 1], 3, seed=4)
    target = one_hot(torch.tensor([[0, 1, 2], [2, 0, 0]]), 3)
    y = one_hot(torch.tensor([[[0, 2, 0], [1, 1, 1]]]), 3)
    augmented = chains.cost_augmented(unary, target, 0.5 / mask.sum(1), mask)
    torch.testing.assert_close(
        chains.energy(augmented, pairwise, y, mask),
        chains.energy(unary, pairwise, y, mask) - costs.token_error(y, target, mask),
    )
    assert torch.equal(augmented[1, 1:], unary[1, 1:])


@pytest.mark.parametrize("shape", [(1, 1, 2), (4, 7, 5), (9, 30, 12)])
def test_equals_pytorch_crf(shape) -> None:
    torchcrf = pytest.importorskip("torchcrf")
    batch, tokens, classes = shape
    lengths = [tokens, *(random_tags((batch - 1,), tokens, seed=1) + 1).tolist()]
    unary, pairwise, mask, ends = draw(lengths, classes, seed=tokens)
    crf = torchcrf.CRF(classes, batch_first=True).double()
    crf.transitions.data = -pairwise
    crf.start_transitions.data, crf.end_transitions.data = -ends["start"], -ends["stop"]
    target = random_tags(mask.shape, classes, seed=0)
    torch.testing.assert_close(
        chains.nll(at_ends(unary, mask, ends), pairwise, one_hot(target, classes), mask),
        -crf(-unary, target, mask, reduction="none"),
    )
    tags, _ = chains.viterbi(at_ends(unary, mask, ends), pairwise, mask)
    assert [row[:n] for row, n in zip(tags.tolist(), lengths, strict=True)] == crf.decode(
        -unary, mask
    )


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("junk", [123.0, math.nan, math.inf])
def test_padding_and_batch_composition_change_nothing(scale, junk) -> None:
    lengths = [5, 1, 3, 5]
    unary, pairwise, mask, ends = draw(lengths, 4, seed=8, scale=scale)
    unary, pairwise = unary.float(), pairwise.float()
    ends = {name: e.float() for name, e in ends.items()}
    y = random_outputs(unary, 3)
    wide, more = F.pad(unary, (0, 0, 0, 2)), F.pad(mask, (0, 2))
    wide = wide.masked_fill(~more.unsqueeze(2), junk)
    y_wide = F.pad(y, (0, 0, 0, 2)).masked_fill(~more.unsqueeze(2), junk)

    def everything(unary, y, mask) -> list[torch.Tensor]:
        unary = unary.clone().requires_grad_()
        tags, least = chains.viterbi(at_ends(unary, mask, ends), pairwise, mask)
        loss = chains.nll(at_ends(unary, mask, ends), pairwise, y[0], mask)
        (slope,) = torch.autograd.grad(loss.sum() + least.sum(), unary)
        e = chains.energy(at_ends(unary, mask, ends), pairwise, y, mask)
        p = chains.marginals(at_ends(unary, mask, ends), pairwise, mask)
        return [value.detach() for value in (tags, least, loss, e.T, p, slope)]

    together = everything(unary, y, mask)
    for value, expected in zip(everything(wide, y_wide, more), together, strict=True):
        if value.dim() == 3 or not value.is_floating_point():
            assert not value[:, 5:].any()
            value = value[:, :5]
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-6)
    for b, n in enumerate(lengths):
        rows = slice(b, b + 1)
        alone = everything(unary[rows, :n], y[:, rows, :n], None)
        for value, expected in zip(alone, together, strict=True):
            expected = expected[rows, :n] if expected.shape[1:2] == (5,) else expected[rows]
            torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("forbidden", [0.0, 1e4])
@pytest.mark.parametrize("lengths", [[3, 1, 2], [1]])
def test_first_and_second_gradients(forbidden, lengths) -> None:
    unary, pairwise, mask, ends = draw(lengths, 3, seed=2, scale=1.0)
    pairwise[0, 2] += forbidden
    inputs = tuple(e.requires_grad_() for e in (unary, pairwise, *ends.values()))
    target = one_hot(torch.zeros(mask.shape, dtype=torch.long), 3)

    def of(function):
        return lambda u, p, start, stop: function(u, p, start=start, stop=stop)

    def loss(u, p, **ends):
        return chains.nll(at_ends(u, mask, ends), p, target, mask)

    def marginals(u, p, **ends):
        return chains.marginals(at_ends(u, mask, ends), p, mask)

    def least(u, p, **ends):
        return chains.viterbi(at_ends(u, mask, ends), p, mask)[1]

    assert torch.autograd.gradcheck(of(loss), inputs)
    assert torch.autograd.gradgradcheck(of(loss), inputs)
    assert torch.autograd.gradcheck(of(marginals), inputs)
    assert torch.autograd.gradcheck(of(least), inputs)
    y = random_outputs(unary.detach(), 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: chains.energy(unary, pairwise, y, mask), (y,))


def test_energy_is_linear_in_each_token_and_takes_bool() -> None:
    unary, pairwise, mask, ends = draw([4, 2], 3, seed=5)
    first, second = random_outputs(unary, 2).split(1)
    for t in range(4):
        other = first.clone()
        other[:, :, t] = second[:, :, t]
        mixed = 0.3 * first + 0.7 * other
        e, e_other, e_mixed = chains.energy(
            at_ends(unary, mask, ends), pairwise, torch.cat([first, other, mixed]), mask
        )
        torch.testing.assert_close(e_mixed, 0.3 * e + 0.7 * e_other)
    y = Categorical().decode(first)
    torch.testing.assert_close(
        chains.energy(unary, pairwise, y, mask), chains.energy(unary, pairwise, y.double(), mask)
    )


def test_marginals_keep_a_graph_only_where_one_is_wanted() -> None:
    unary, pairwise, mask, _ = draw([3, 2], 3, seed=6)
    assert not chains.marginals(unary, pairwise, mask).requires_grad
    assert chains.marginals(unary, pairwise.requires_grad_(), mask).requires_grad
    with torch.no_grad():
        assert not chains.marginals(unary.requires_grad_(), pairwise, mask).requires_grad


@pytest.mark.parametrize("reach", [1.0, 25.0, 30.0, 1e4])
@pytest.mark.parametrize("height", [1.0, 100.0])
def test_single_precision_is_accurate_whatever_the_range_of_energies(reach, height) -> None:
    unary, pairwise, mask, _ = draw([60, 35], 6, seed=3, scale=height)
    unary, pairwise = unary.float(), pairwise.sigmoid().float()
    pairwise[torch.arange(6), torch.tensor([1, 3, 3, 4, 0, 2])] += reach
    exact = chains.log_partition(unary.double(), pairwise.double(), mask)
    single = chains.log_partition(unary, pairwise, mask)
    torch.testing.assert_close(single.double(), exact, rtol=2e-6, atol=1e-4)
    p = chains.marginals(unary.double(), pairwise.double(), mask)
    close = chains.marginals(unary, pairwise, mask)
    torch.testing.assert_close(close.double(), p, rtol=0, atol=1e-6 * max(10.0, height))


def test_forced_through_a_forbidden_transition_log_z_is_the_only_path() -> None:
    unary = torch.tensor([[[0.0, 1e4], [1e4, 0.0]]])
    pairwise = torch.tensor([[0.0, 5e3], [0.0, 0.0]])
    torch.testing.assert_close(chains.log_partition(unary, pairwise), torch.tensor([-5e3]))
    assert chains.viterbi(unary, pairwise)[0].tolist() == [[0, 1]]


def test_a_long_sequence_keeps_its_best_path() -> None:
    unary, pairwise, _, _ = draw([5000], 5, seed=1)
    unary = unary + 100.0  # a sum of half a million leaves single precision a digit or two
    tags, least = chains.viterbi(unary, pairwise)
    single, energy = chains.viterbi(unary.float(), pairwise.float())
    assert torch.equal(single, tags)
    torch.testing.assert_close(energy.double(), least, rtol=1e-6, atol=0)
    log_z = chains.log_partition(unary.float(), pairwise.float()).double()
    torch.testing.assert_close(log_z, chains.log_partition(unary, pairwise), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "mask", [[[1, 1, 0], [0, 0, 0]], [[1, 1, 1], [0, 1, 1]], [[1, 0, 0], [1, 0, 1]]]
)
@pytest.mark.parametrize("function", [chains.log_partition, chains.viterbi, chains.marginals])
def test_an_empty_row_or_padding_on_the_left_is_an_error(function, mask) -> None:
    with pytest.raises(SettingError, match="row 1 of the mask"):
        function(torch.zeros(2, 3, 2), torch.zeros(2, 2), torch.tensor(mask).bool())


def test_a_sequence_of_no_tokens_is_an_error_and_a_batch_of_no_rows_is_not() -> None:
    with pytest.raises(SettingError, match="row 0 of the mask is empty"):
        chains.log_partition(torch.zeros(1, 0, 2), torch.zeros(2, 2))
    nothing = torch.zeros(0, 3, 2)
    assert chains.log_partition(nothing, torch.zeros(2, 2)).shape == (0,)
    assert chains.viterbi(nothing, torch.zeros(2, 2))[0].shape == (0, 3)
