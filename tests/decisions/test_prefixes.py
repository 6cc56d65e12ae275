"""Decisions from independent labels, against every label set."""

from __future__ import annotations

from functools import partial

import brute
import numpy as np
import pytest
import torch
from torch import Tensor

from lossnet.decisions import best_f, best_jaccard, temper
from lossnet.errors import DataError, SettingError

RULES = [
    pytest.param(partial(best_f, beta=beta), partial(brute.f_beta, beta=beta), id=f"F{beta}")
    for beta in (0.5, 1.0, 2.0)
]
RULES.append(pytest.param(best_jaccard, brute.jaccard, id="Jaccard"))


def awkward(labels: int, rows: int, seed: int) -> Tensor:
    """Rows of many kinds: spread, confident, rare, tied, with zeros and ones, all of one value."""
    draw = torch.Generator().manual_seed(seed)
    uniform = torch.rand(rows, labels, generator=draw, dtype=torch.float64)
    kinds = [
        uniform,
        uniform**6,
        1 - uniform**6,
        torch.sigmoid(12 * (uniform - 0.5)),
        (uniform * 3).round() / 3,
        (uniform * 2).round() / 2,
        uniform.round(),
        uniform[:, :1].expand(-1, labels),
        torch.zeros_like(uniform),
        torch.ones_like(uniform),
        torch.full_like(uniform, 0.5),
        uniform * 1e-9,
        1 - uniform * 1e-9,
    ]
    return torch.cat(kinds)


@pytest.mark.parametrize(("rule", "metric"), RULES)
@pytest.mark.parametrize("labels", range(1, 8))
def test_no_set_is_better(rule, metric, labels) -> None:
    p = awkward(labels, 25, seed=labels)
    weights = brute.independent(p)
    found = brute.expected(metric, rule(p), weights)
    torch.testing.assert_close(found, brute.best(metric, labels, weights), rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", [brute.f_beta, brute.jaccard])
def test_the_most_probable_labels_are_the_best_set_of_their_size(metric) -> None:
    p = awkward(6, 5, seed=0)
    weights, sets = brute.independent(p), brute.all_sets(6)
    means = torch.stack([brute.expected(metric, one.expand(len(p), -1), weights) for one in sets])
    order = p.argsort(dim=1, descending=True)
    for k in range(7):
        prefix = torch.zeros_like(p).bool().scatter_(1, order[:, :k], True)
        best = means[sets.sum(1) == k].amax(0)
        torch.testing.assert_close(brute.expected(metric, prefix, weights), best)


@pytest.mark.parametrize(("rule", "metric"), RULES)
def test_float32_is_enough(rule, metric) -> None:
    p = awkward(5, 20, seed=3).float()
    weights = brute.independent(p)
    found = brute.expected(metric, rule(p), weights)
    torch.testing.assert_close(found, brute.best(metric, 5, weights), rtol=0, atol=1e-12)


def counts(p: np.ndarray) -> list[np.ndarray]:
    """The distributions of the number of labels on among the first 0, 1, ... labels."""
    found = [np.ones(1)]
    for one in p:
        found.append(np.convolve(found[-1], [1 - one, one]))
    return found


def prefix_scores(p: np.ndarray, beta: float | None) -> list[float]:
    """The expected F-beta, or without beta Jaccard, of every prefix, by two long sums."""
    inside, outside = counts(p), counts(p[::-1])[::-1]
    scores = [float(outside[0][0])]
    for k in range(1, len(p) + 1):
        a, c = np.arange(k + 1)[:, None], np.arange(len(p) - k + 1)
        score = a / (k + c) if beta is None else (1 + beta**2) * a / (k + beta**2 * (a + c))
        scores.append(float(inside[k] @ score @ outside[k]))
    return scores


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0, None])
@pytest.mark.parametrize("labels", [40, 120])
def test_no_prefix_is_better_with_many_labels(beta, labels) -> None:
    p = awkward(labels, 2, seed=labels)
    chosen = best_jaccard(p) if beta is None else best_f(p, beta)
    for row, own in zip(p, chosen, strict=True):
        ordered = row.sort(descending=True).values
        k = int(own.sum())
        assert torch.equal(row[own].sort(descending=True).values, ordered[:k])
        scores = prefix_scores(ordered.numpy(), beta)
        assert scores[k] >= max(scores) - 1e-12


@pytest.mark.parametrize("rule", [best_f, best_jaccard])
def test_rows_are_decided_alone(rule) -> None:
    p = awkward(30, 60, seed=0)
    whole = rule(p)
    assert torch.equal(whole[100:140], rule(p[100:140]))
    shuffled = torch.randperm(len(p), generator=torch.Generator().manual_seed(0))
    assert torch.equal(rule(p[shuffled]), whole[shuffled])


@pytest.mark.parametrize("rule", [best_f, best_jaccard])
def test_no_rows(rule) -> None:
    assert rule(torch.zeros(0, 4)).shape == (0, 4)


def test_bad_probabilities_and_beta() -> None:
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(DataError, match="from 0 to 1"):
            best_f(torch.tensor([[0.5, bad]]))
    for beta in (0, -1.0, float("nan")):
        with pytest.raises(SettingError, match="beta must be"):
            best_f(torch.tensor([[0.5]]), beta)


def test_temper_divides_logits() -> None:
    logits = torch.linspace(-8, 8, 9, dtype=torch.float64)
    torch.testing.assert_close(temper(logits.sigmoid(), 2.5), (logits / 2.5).sigmoid())
    assert temper(torch.tensor([0.0, 1.0]), 0.1).isfinite().all()
    with pytest.raises(SettingError, match="temperature must be above 0, got 0"):
        temper(torch.tensor([0.5]), 0)
