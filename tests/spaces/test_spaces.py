"""Spaces against enumeration, naive loops and optimality conditions."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lossnet import costs
from lossnet.spaces import Binary, Categorical, sum_positions

SPACES = {"binary": (Binary(), (3,)), "categorical": (Categorical(), (2, 3))}
both_spaces = pytest.mark.parametrize(("space", "shape"), SPACES.values(), ids=SPACES)


def random_logits(batch: int, shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(batch, *shape, generator=generator, dtype=torch.float64)


def every_output(space, shape, batch: int) -> torch.Tensor:
    """(N, B, *S)"""
    return space.enumerate(shape).unsqueeze(1).expand(-1, batch, *shape)


# Relaxing and projecting -------------------------------------------------------------------------


@both_spaces
def test_relax_undoes_unrelax(space, shape) -> None:
    y = space.relax(random_logits(50, shape))
    torch.testing.assert_close(space.relax(space.unrelax(y)), y, rtol=0, atol=1e-12)
    corners = space.enumerate(shape).double()
    assert torch.isfinite(space.unrelax(corners)).all()
    torch.testing.assert_close(space.relax(space.unrelax(corners)), corners, rtol=0, atol=5e-6)


def test_binary_projection_is_the_nearest_point_of_the_box() -> None:
    y = torch.tensor([-2.0, 0.0, 0.3, 1.0, 7.0])
    assert torch.equal(Binary().project(y), torch.tensor([0.0, 0.0, 0.3, 1.0, 1.0]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6))
def test_categorical_projection_meets_the_optimality_conditions(values) -> None:
    """p is nearest to y on the simplex iff p = max(y - t, 0) for one number t, and sums to 1."""
    y = torch.tensor(values, dtype=torch.float64)
    p = Categorical().project(y)
    assert (p >= 0).all()
    assert float(p.sum()) == pytest.approx(1.0, abs=1e-12)
    shift = (y - p)[p > 0]
    torch.testing.assert_close(shift, shift[0].expand_as(shift), rtol=0, atol=1e-12)
    assert (y[p == 0] <= shift[0] + 1e-12).all()


def test_categorical_projection_against_a_solver() -> None:
    for y in random_logits(5, (4,), seed=3).numpy():
        found = minimize(
            lambda p, y=y: ((p - y) ** 2).sum(),
            np.full(4, 0.25),
            method="SLSQP",
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        )
        projected = Categorical().project(torch.from_numpy(y)).numpy()
        np.testing.assert_allclose(projected, found.x, atol=1e-6)


@both_spaces
def test_projection_leaves_outputs_alone(space, shape) -> None:
    inside = space.relax(random_logits(20, shape))
    torch.testing.assert_close(space.project(inside), inside, rtol=0, atol=1e-12)
    corners = space.enumerate(shape).double()
    torch.testing.assert_close(space.project(corners), corners, rtol=0, atol=1e-12)


@both_spaces
def test_random_points_are_relaxed_outputs(space, shape) -> None:
    like = torch.empty(4, *shape, dtype=torch.float64)
    y = space.random(like, 2_000, torch.Generator().manual_seed(0))
    assert y.shape == (2_000, 4, *shape)
    assert y.dtype == torch.float64
    torch.testing.assert_close(space.project(y), y, rtol=0, atol=1e-12)
    mean = 0.5 if isinstance(space, Binary) else 1 / shape[-1]
    assert (y.mean(0) - mean).abs().max() < 5 * y.std() / math.sqrt(2_000)


# Probabilities -----------------------------------------------------------------------------------


def naive_log_prob(space, logits, y) -> float:
    """Of one output, with loops over its positions."""
    total = 0.0
    if isinstance(space, Binary):
        for u, on in zip(logits.flatten().tolist(), y.flatten().tolist(), strict=True):
            p = 1 / (1 + math.exp(-u))
            total += math.log(p if on else 1 - p)
        return total
    for u, chosen in zip(
        logits.flatten(0, -2).tolist(), y.int().argmax(-1).flatten().tolist(), strict=True
    ):
        total += u[chosen] - math.log(sum(math.exp(v) for v in u))
    return total


@both_spaces
def test_log_prob_equals_loops_and_sums_to_one(space, shape) -> None:
    logits = random_logits(3, shape)
    outputs = every_output(space, shape, 3)
    log_p = space.log_prob(logits, outputs)
    assert log_p.shape == (len(outputs), 3)
    for n, b in itertools.product(range(len(outputs)), range(3)):
        expected = naive_log_prob(space, logits[b], outputs[n, b])
        assert float(log_p[n, b]) == pytest.approx(expected, abs=1e-12)
    torch.testing.assert_close(log_p.exp().sum(0), torch.ones(3, dtype=torch.float64))


@both_spaces
def test_enumeration_holds_every_output_once(space, shape) -> None:
    outputs = space.enumerate(shape)
    count = 2 ** math.prod(shape) if isinstance(space, Binary) else shape[-1] ** shape[0]
    assert outputs.shape == (count, *shape)
    assert outputs.dtype == torch.bool
    assert len(outputs.unique(dim=0)) == count
    assert torch.equal(space.decode(outputs.double()), outputs)


def test_sparse_and_dense_candidates_have_the_same_log_prob() -> None:
    logits = random_logits(2, (5,))
    y = (torch.rand(7, 2, 5, generator=torch.Generator().manual_seed(1)) < 0.3).double()
    dense = Binary().log_prob(logits, y)
    torch.testing.assert_close(Binary().log_prob(logits, y.to_sparse().coalesce()), dense)
    torch.testing.assert_close(Binary().log_prob(logits, y.bool()), dense)


@both_spaces
def test_cross_entropy_is_minus_the_log_probability_of_the_target(space, shape) -> None:
    logits = random_logits(6, shape)
    target = space.enumerate(shape)[torch.arange(6)].double()
    torch.testing.assert_close(
        space.cross_entropy(logits, target), -space.log_prob(logits, target.unsqueeze(0))[0]
    )


@both_spaces
def test_entropy_against_enumeration(space, shape) -> None:
    logits = random_logits(4, shape)
    log_p = space.log_prob(logits, every_output(space, shape, 4))
    torch.testing.assert_close(space.entropy(logits), -(log_p.exp() * log_p).sum(0))


def test_saturated_logits_stay_finite() -> None:
    logits = torch.tensor([[30.0, -30.0], [-30.0, 30.0], [300.0, -300.0]])
    target = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    expected = torch.tensor([0.0, 60.0, 600.0])
    for value in (
        Binary().cross_entropy(logits, target),
        -Binary().log_prob(logits, target.unsqueeze(0))[0],
    ):
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(Binary().entropy(logits), torch.zeros(3), rtol=0, atol=1e-5)
    torch.testing.assert_close(Categorical().entropy(logits), torch.zeros(3), rtol=0, atol=1e-5)


@both_spaces
def test_gradients(space, shape) -> None:
    logits = random_logits(2, shape).requires_grad_()
    y = every_output(space, shape, 2)
    target = y[1].double()
    assert torch.autograd.gradcheck(space.relax, (logits,))
    assert torch.autograd.gradcheck(lambda u: space.log_prob(u, y), (logits,))
    assert torch.autograd.gradcheck(lambda u: space.cross_entropy(u, target), (logits,))
    assert torch.autograd.gradcheck(space.entropy, (logits,))


# Sampling: frequencies within five standard deviations, which a right sampler misses about once
# in two million checks; the seeds are fixed.


@both_spaces
@pytest.mark.parametrize("k", [1, 40])
def test_samples_have_the_right_frequencies(space, shape, k) -> None:
    """The frequency of every whole output, over many rows of the same logits."""
    rows = 60_000 // k
    logits = random_logits(1, shape, seed=5)
    generator = torch.Generator().manual_seed(6)
    y = space.sample(logits.expand(rows, *shape), k, generator)
    assert y.shape == (k, rows, *shape)
    outputs = space.enumerate(shape)
    drawn = y.bool().reshape(-1, *shape)
    p = space.log_prob(logits, outputs.unsqueeze(1)).exp()[:, 0]
    for output, expected in zip(outputs, p.tolist(), strict=True):
        count = int((drawn == output).flatten(1).all(1).sum())
        spread = math.sqrt(len(drawn) * expected * (1 - expected))
        assert abs(count - len(drawn) * expected) <= 5 * spread + 1


def test_categorical_samples_of_saturated_and_rare_classes() -> None:
    logits = torch.tensor([[30.0, -30.0, 0.0], [math.log(1e-3), 0.0, -math.inf]])
    y = Categorical().sample(logits, 50_000, torch.Generator().manual_seed(0))
    assert torch.equal(y.sum(-1), torch.ones(50_000, 2, dtype=torch.long))
    assert y[:, 0, 0].all()
    assert not y[:, 1, 2].any()
    assert abs(int(y[:, 1, 0].sum()) - 50) < 5 * math.sqrt(50)


# Decoding ----------------------------------------------------------------------------------------


def test_decoding() -> None:
    y = torch.tensor([0.2, 0.5, 0.51])
    assert Binary().decode(y).tolist() == [False, True, True]
    assert Binary().decode(y, 0.2).tolist() == [True, True, True]
    classes = torch.tensor([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]])
    assert Categorical().decode(classes).tolist() == [[False, True, False], [True, False, False]]


@both_spaces
def test_decoding_a_relaxed_output_gives_the_likeliest_one(space, shape) -> None:
    logits = random_logits(8, shape, seed=9)
    outputs = every_output(space, shape, 8)
    likeliest = outputs[space.log_prob(logits, outputs).argmax(0), torch.arange(8)]
    assert torch.equal(space.decode(space.relax(logits)), likeliest)


# Masks: whatever lies under padding changes nothing ----------------------------------------------


def padded(space, shape, seed):
    """Logits, targets, candidates and a mask; the same with other garbage; and only what counts."""
    generator = torch.Generator().manual_seed(seed)
    batch, length = 3, 4
    full = (length, *shape[1:]) if isinstance(space, Categorical) else (length,)
    counts = torch.tensor([4, 2, 1])
    mask = torch.arange(length) < counts.unsqueeze(1)
    wide = mask.unsqueeze(-1).expand(batch, *full) if len(full) > 1 else mask

    def draw(lead: tuple[int, ...]) -> torch.Tensor:
        raw = torch.randn(*lead, *full, generator=generator, dtype=torch.float64)
        return space.relax(raw)

    logits = torch.randn(batch, *full, generator=generator, dtype=torch.float64)
    target, y = space.decode(draw((batch,))).double(), draw((5, batch))
    clean = (logits, target, y)
    garbage = tuple(
        torch.where(wide, value, value.new_tensor(junk))
        for value, junk in zip(clean, (1e4, -7.0, 55.0), strict=True)
    )
    return clean, garbage, mask, counts


FUNCTIONS = {
    "log_prob": lambda space, u, t, y, m: space.log_prob(u, y, m),
    "cross_entropy": lambda space, u, t, y, m: space.cross_entropy(u, t, m).unsqueeze(0),
    "entropy": lambda space, u, t, y, m: space.entropy(u, m).unsqueeze(0),
    **{
        name: (lambda space, u, t, y, m, cost=cost: cost(y, t, m))
        for name, cost in costs.COSTS.items()
        if name not in ("token-error", "class-iou", "pixel-iou")  # of classes, or of images
    },
}


@both_spaces
@pytest.mark.parametrize("name", FUNCTIONS)
def test_padding_changes_nothing(space, shape, name) -> None:
    function = FUNCTIONS[name]
    clean, garbage, mask, counts = padded(space, shape, seed=11)
    value = function(space, *clean, mask)
    assert torch.equal(function(space, *garbage, mask), value)
    for b, count in enumerate(counts.tolist()):  # the same as without the padding
        u, t, y = clean
        alone = function(
            space, u[b : b + 1, :count], t[b : b + 1, :count], y[:, b : b + 1, :count], None
        )
        torch.testing.assert_close(value[:, b : b + 1], alone)


@both_spaces
@pytest.mark.parametrize("name", FUNCTIONS)
def test_padding_gets_no_gradient(space, shape, name) -> None:
    _, garbage, mask, _ = padded(space, shape, seed=12)
    logits, target, y = (value.clone().requires_grad_() for value in garbage)
    value = FUNCTIONS[name](space, logits, target, y, mask).sum()
    gradients = torch.autograd.grad(value, (logits, y), allow_unused=True)
    reached = [g for g in gradients if g is not None]
    assert reached
    for g in reached:
        flat = g.sum(0) if g.dim() > logits.dim() else g
        assert (flat[~mask] == 0).all()
        assert (flat[mask] != 0).any()


def test_sum_positions_counts_only_where_the_mask_is_true() -> None:
    values = torch.arange(24.0).view(2, 3, 4)
    mask = torch.tensor([[True, False, True], [False, False, True]])
    expected = [[0 + 1 + 2 + 3 + 8 + 9 + 10 + 11], [20 + 21 + 22 + 23]]
    assert sum_positions(values, mask, lead=1).tolist() == [float(v) for (v,) in expected]
    twice = sum_positions(torch.stack([values, 2 * values]), mask, lead=2)
    assert twice.tolist() == [[44.0, 86.0], [88.0, 172.0]]
