"""Sparse candidates: the same numbers and gradients as dense ones; exact sampling."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet.spaces import sparse


def candidates(k: int, batch: int, labels: int, share: float, seed: int) -> torch.Tensor:
    """Random 0/1 candidates, dense, float64."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(k, batch, labels, generator=generator) < share).double()


def coo(y: torch.Tensor) -> torch.Tensor:
    return y.to_sparse().coalesce()


shapes = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6))


@settings(max_examples=25, deadline=None)
@given(shape=shapes, share=st.sampled_from([0.0, 0.2, 1.0]), seed=st.integers(0, 999))
def test_dot_and_matmul_equal_dense_ones(shape, share, seed) -> None:
    y = candidates(*shape, share, seed)
    h = torch.randn(shape[1:], dtype=torch.float64)
    weight = torch.randn(shape[2], 3, dtype=torch.float64)
    by_hand = torch.stack([torch.stack([row @ h[b] for b, row in enumerate(one)]) for one in y])
    for form in (y, y.bool(), coo(y)):
        torch.testing.assert_close(sparse.dot(form, h), by_hand)
        torch.testing.assert_close(
            sparse.matmul(form, weight), torch.einsum("kbl,lh->kbh", y, weight)
        )
        assert torch.equal(sparse.dense(form, torch.float64), y)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", ["dot", "matmul"])
def test_first_and_second_gradients(name, share) -> None:
    y = coo(candidates(3, 2, 4, share, seed=1))
    shape = (2, 4) if name == "dot" else (4, 3)
    right = torch.randn(shape, dtype=torch.float64, requires_grad=True)

    def product(r: torch.Tensor) -> torch.Tensor:
        return getattr(sparse, name)(y, r).square()  # squared: its second derivatives count

    assert torch.autograd.gradcheck(product, (right,))
    assert torch.autograd.gradgradcheck(product, (right,))


@pytest.mark.parametrize("form", ["float", "sparse"])
def test_a_bias_is_added_with_its_gradient(form) -> None:
    y = candidates(3, 2, 4, 0.4, seed=5)
    form = y if form == "float" else coo(y)
    weight = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(sparse.matmul(form, weight, bias), y @ weight + bias)

    def product(weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return sparse.matmul(form, weight, bias).square()

    assert torch.autograd.gradcheck(product, (weight, bias))
    assert torch.autograd.gradgradcheck(product, (weight, bias))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_transposed_product_equals_a_dense_one(share) -> None:
    y = candidates(3, 2, 4, share, seed=6)
    g = torch.randn(3, 2, 5, dtype=torch.float64)
    for form in (y, y.bool(), coo(y)):
        torch.testing.assert_close(sparse.matmul_t(form, g), torch.einsum("kbl,kbh->lh", y, g))


def test_gradients_equal_dense_ones() -> None:
    y = candidates(5, 3, 7, 0.3, seed=2)
    gradients = []
    for form in (y, coo(y)):
        weight = torch.linspace(-1, 1, 14, dtype=torch.float64).view(7, 2).requires_grad_()
        h = torch.linspace(-1, 1, 21, dtype=torch.float64).view(3, 7).requires_grad_()
        loss = torch.tanh(sparse.matmul(form, weight)).sum() + torch.tanh(sparse.dot(form, h)).sum()
        gradients.append(torch.autograd.grad(loss, (weight, h)))
    for left, right in zip(*gradients, strict=True):
        torch.testing.assert_close(left, right)


def test_candidates_without_any_entry_on() -> None:
    empty = coo(torch.zeros(4, 2, 3))
    weight = torch.ones(3, 5, requires_grad=True)
    product = sparse.matmul(empty, weight)
    assert torch.equal(product, torch.zeros(4, 2, 5))
    assert torch.equal(torch.autograd.grad(product.sum(), weight)[0], torch.zeros(3, 5))
    assert torch.equal(sparse.dot(empty, torch.ones(2, 3)), torch.zeros(4, 2))


def test_equal_candidates_have_equal_products() -> None:
    once = candidates(1, 2, 5, 0.5, seed=3)
    y = coo(once.expand(3, -1, -1).contiguous())
    weight = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    product = sparse.matmul(y, weight)
    assert torch.equal(product[0], product[1])
    assert torch.equal(product[0], product[2])
    (together,) = torch.autograd.grad(product.sum(), weight)
    (alone,) = torch.autograd.grad(sparse.matmul(coo(once), weight).sum(), weight)
    torch.testing.assert_close(together, 3 * alone)


# Sampling. A frequency over n draws is within five standard deviations of its probability,
# which a right sampler misses about once in two million checks; seeds are fixed anyway.


def assert_frequencies(y: torch.Tensor, p: torch.Tensor) -> None:
    """Frequencies over the first axis against probabilities of the rest."""
    n = y.shape[0]
    gap = (y.double().mean(0) - p).abs()
    allowed = 5.0 * (p * (1 - p) / n).sqrt() + 1.0 / n
    assert (gap <= allowed).all(), f"off by {(gap - allowed).max()}"


def drawn(logits: torch.Tensor, n: int, seed: int = 0) -> torch.Tensor:
    return sparse.bernoulli(logits, n, torch.Generator().manual_seed(seed))


def test_sparse_path_draws_the_right_frequencies() -> None:
    logits = torch.tensor([[-3.0, -4.0, -30.0, -2.0], [-8.0, -3.0, -5.0, -200.0]])
    y = drawn(logits, 200_000)
    assert y.is_sparse
    assert y.is_coalesced()
    assert y.shape == (200_000, 2, 4)
    assert (y.values() == 1).all()
    assert_frequencies(y.to_dense(), torch.sigmoid(logits.double()))
    assert y.to_dense()[:, 1, 3].sum() == 0  # softplus(-200) is 0 in float32


def test_dense_path_draws_the_right_frequencies() -> None:
    logits = torch.tensor([[0.0, 1.0, -1.0], [30.0, -30.0, 3.0]])
    y = drawn(logits, 200_000)
    assert not y.is_sparse
    assert y.dtype == torch.bool
    assert_frequencies(y, torch.sigmoid(logits.double()))
    assert y[:, 1, 0].all()
    assert not y[:, 1, 1].any()


def test_a_label_surely_on_among_rare_ones_is_always_drawn() -> None:
    logits = torch.full((2, 400), -30.0)
    logits[0, 3] = logits[1, 399] = 30.0
    y = drawn(logits, 2_000)
    assert y.is_sparse
    expected = (logits > 0).expand(2_000, -1, -1)
    assert torch.equal(y.to_dense().bool(), expected)


def test_likely_labels_among_rare_ones_have_the_right_frequencies() -> None:
    logits = torch.full((2, 40), -6.0)
    logits[0, 0], logits[0, 7], logits[1, 39] = 0.5, -0.5, 3.0
    y = drawn(logits, 20_000)
    assert y.is_sparse
    assert torch.equal(y.indices(), y.to_dense().nonzero().T)  # in order, none twice
    assert_frequencies(y.to_dense(), torch.sigmoid(logits.double()))


def test_rare_labels_are_drawn_as_often_as_they_should_be() -> None:
    """p = 1e-5 on 1,000 labels, 20,000 draws: 200 expected in all, within five deviations."""
    p = 1e-5
    logits = torch.full((1, 1_000), math.log(p / (1 - p)))
    count = drawn(logits, 20_000).values().numel()
    assert abs(count - 200) < 5 * math.sqrt(200)


def test_entries_and_samples_are_independent() -> None:
    """Pairs of entries, and neighbouring samples, have the product of their frequencies."""
    logits = torch.tensor([[-1.5, -2.5, -1.8, -9.0, -9.0, -9.0, -9.0, -9.0]])
    y = drawn(logits, 100_000)
    assert y.is_sparse
    y = y.to_dense()[:, 0, :3].double()
    p = torch.sigmoid(logits[0, :3].double())
    pairs = {(0, 1): y[:, 0] * y[:, 1], (0, 2): y[:, 0] * y[:, 2], (1, 2): y[:, 1] * y[:, 2]}
    for (i, j), both in pairs.items():
        assert_frequencies(both.unsqueeze(1), (p[i] * p[j]).unsqueeze(0))
    assert_frequencies(y[1:] * y[:-1], p * p)


def test_sampling_repeats_with_its_seed_and_leaves_the_global_generator() -> None:
    before = torch.get_rng_state()
    for logits in (torch.full((3, 50), -4.0), torch.zeros(3, 5), torch.zeros(2, 3, 4)):
        first, again, other = drawn(logits, 6, 1), drawn(logits, 6, 1), drawn(logits, 6, 2)
        assert torch.equal(sparse.dense(first, torch.float32), sparse.dense(again, torch.float32))
        assert not torch.equal(
            sparse.dense(first, torch.float32), sparse.dense(other, torch.float32)
        )
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_target_goes_before_candidates_of_any_kind(share) -> None:
    y = candidates(3, 2, 5, share, seed=8)
    target = candidates(1, 2, 5, 0.5, seed=9)[0]
    expected = torch.cat([target.unsqueeze(0), y])
    weight = torch.randn(5, 4, dtype=torch.float64)
    for form in (y, y.bool(), coo(y)):
        joined = sparse.prepend(target, form)
        assert joined.is_sparse == form.is_sparse
        assert torch.equal(sparse.dense(joined, torch.float64), expected)
        torch.testing.assert_close(sparse.matmul(joined, weight), expected @ weight)
    relaxed = y.clone().requires_grad_()
    assert sparse.prepend(target, relaxed).requires_grad
