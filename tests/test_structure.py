"""Nats beyond the task-net: the three estimates against enumeration, exact sums, and words."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet import structure
from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts.meaning import DENSITY, RATIO, Meaning
from lossnet.energies import ChainEnergy, LabelEnergy, TotalEnergy
from lossnet.errors import DataError
from lossnet.nets import LabelMLP
from lossnet.spaces import Binary, Categorical
from lossnet.structure import StructureGain, row_gains, sampled_gains, summarise

LOGS = st.lists(st.floats(-6, 6), min_size=3, max_size=3)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@settings(deadline=None, max_examples=60)
@given(LOGS, LOGS, LOGS, st.integers(1, 3))
def test_bounds_hold_in_expectation(log_w: list, logits: list, truths: list, k: int) -> None:
    """Expectations over all draws of k samples among three outputs, exact, for any weights."""
    w, truth = torch.tensor(log_w).double(), torch.tensor(truths).double().softmax(0)
    log_q = torch.tensor(logits).double().log_softmax(0)
    gain = w - (w + log_q).logsumexp(0)
    draws = torch.tensor(list(itertools.product(range(3), repeat=k)))
    chance = log_q[draws].sum(1).exp()
    found = [sampled_gains(w[y].expand(len(draws)), w[draws].T) for y in range(3)]
    plain, resampled, linear, _ = torch.stack([chance @ one for one in found], 1)
    assert (plain >= gain - 1e-9).all()
    assert (linear <= gain + 1e-9).all()
    assert (resampled <= math.log(k + 1) + 1e-9).all()
    # Whatever the weights, at most what there is to know; where truths are as they say, the gain.
    assert truth @ resampled <= truth @ (truth.log() - log_q) + 1e-9
    joint = (log_q + gain).exp()
    assert joint @ resampled <= joint @ gain + 1e-9


def test_estimates_by_loops() -> None:
    truth, others = normal(4, seed=1), 2.0 * normal(5, 4, seed=2)
    found = sampled_gains(truth, others)
    for b in range(4):
        w0, ws = math.exp(truth[b]), [math.exp(value) for value in others[:, b]]
        bounds = []
        for k, w in enumerate(ws):
            c = (w0 + sum(ws[:k]) + sum(ws[k + 1 :])) / 5
            bounds.append(w / c + math.log(c) - 1)
        expected = [
            math.log(w0 / (sum(ws) / 5)),
            math.log(w0 / ((w0 + sum(ws)) / 6)),
            math.log(w0) - sum(bounds) / 5,
            sum(ws) ** 2 / sum(w * w for w in ws),
        ]
        assert found[b].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("good", [True, False])
def test_random_energies_within_the_bounds(scale: float, good: bool) -> None:
    """Truths drawn from the joint, or from q, where the loss-net knows less than the task-net."""
    rows, generator = 400, torch.Generator().manual_seed(3)
    y = Binary().enumerate((8,)).double()
    logits, log_w = normal(rows, 8), scale * normal(rows, len(y), seed=1)
    log_q = Binary().log_prob(logits, y.unsqueeze(1).expand(-1, rows, 8)).T
    log_z = (log_q + log_w).logsumexp(1, keepdim=True)
    drawn_from = (log_q + log_w - log_z if good else log_q).exp()
    truth = torch.multinomial(drawn_from, 1, generator=generator)
    samples = torch.multinomial(log_q.exp(), 100, replacement=True, generator=generator)
    gains = sampled_gains(log_w.gather(1, truth)[:, 0], log_w.gather(1, samples).T)
    found = summarise(F.pad(gains, (0, 1), value=math.nan), 100)
    exact = float((log_w.gather(1, truth) - log_z).mean())
    assert found.dependence is None
    assert found.low <= exact <= found.high
    assert found.low <= found.nats <= found.high
    assert found.low <= math.log(101)
    assert 1 <= found.ess <= 100
    assert scale == 3 or ("wide" in found.words) == (scale > 3)


def label_context(seed: int = 0, rows: int = 50) -> Context:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        task, energy = LabelMLP(5, 4, hidden=(6,)), LabelEnergy(5, 4, hidden=(6,), global_hidden=4)
    nets = {"task": task.double(), "energy": energy.double().requires_grad_(False)}
    batch = Batch(normal(rows, 5), (normal(rows, 4, seed=1) > 0).double())
    return Context(nets, batch, Binary(), generator=torch.Generator().manual_seed(seed))


def by_hand(context: Context, meaning: Meaning) -> list[list[float]]:
    """log p - log q of every truth, and log p less its single labels', output by output."""
    logits, target, found = context.logits(), context.target, []
    for b in range(len(target)):
        log_p, log_q = {}, {}
        for y in itertools.product((0.0, 1.0), repeat=target.shape[1]):
            output = torch.tensor(y).double().expand(1, *target.shape)
            log_q[y] = float(Binary().log_prob(logits, output)[0, b])
            log_p[y] = -float(context.energy(output)[0, b])
            log_p[y] += log_q[y] if meaning is RATIO else 0.0
        truth = tuple(target[b].tolist())
        log_z = math.log(sum(map(math.exp, log_p.values())))
        p = {y: math.exp(value - log_z) for y, value in log_p.items()}
        singles = [sum(p[y] for y in p if y[i] == truth[i]) for i in range(len(truth))]
        log_truth = math.log(p[truth])
        found.append([log_truth - log_q[truth], log_truth - sum(map(math.log, singles))])
    return found


@pytest.mark.parametrize("meaning", [DENSITY, RATIO])
def test_exact_where_outputs_can_be_enumerated(meaning: Meaning) -> None:
    context = label_context(rows=10)
    gains = row_gains(context, meaning, 3)
    torch.testing.assert_close(gains[:, [0, 4]], torch.tensor(by_hand(context, meaning)).double())
    found = summarise(gains, 3)
    assert found.exact
    assert found.ess is None
    # The same with an energy whose candidates are one for each row.
    context.nets = {**context.nets, "energy": TotalEnergy([context.nets["energy"]])}
    context.invalidate(["energy"])
    again = row_gains(context, meaning, 3)
    torch.testing.assert_close(again, gains, equal_nan=True)


@pytest.mark.parametrize("meaning", [DENSITY, RATIO])
def test_samples_are_within_their_bounds(meaning: Meaning, monkeypatch) -> None:
    context = label_context(rows=300)
    exact = row_gains(context, meaning, 1)[:, 0].mean()
    monkeypatch.setattr(structure, "ENUMERATED", 8)
    monkeypatch.setattr(structure, "_ENTRIES", 300 * 4 * 7)  # drawn seven at a time
    found = summarise(row_gains(context, meaning, 20), 20)
    assert not found.exact
    assert found.low <= exact <= found.high
    more = summarise(row_gains(context, meaning, 2000), 2000)
    assert more.nats == pytest.approx(float(exact), abs=0.01)
    assert found.nats == pytest.approx(float(exact), abs=0.2)


class Unary(torch.nn.Module):
    """Features that are the input."""

    out_features = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.mark.parametrize("meaning", [DENSITY, RATIO])
def test_chains_are_exact_under_padding(meaning: Meaning) -> None:
    chain = ChainEnergy(Unary(), 3).double()
    chain.pairwise.data = normal(3, 3, seed=5)
    mask = torch.arange(5) < torch.tensor([5, 2, 4]).unsqueeze(1)
    target = F.one_hot(torch.arange(15).view(3, 5) % 3, 3).double() * mask.unsqueeze(2)
    batch = Batch(normal(3, 5, 3), target, mask)
    gains = {}
    for energy in (chain, TotalEnergy([chain])):
        nets = {"task": torch.nn.Linear(3, 3).double(), "energy": energy}
        given = {"task": normal(3, 5, 3, seed=6)}
        context = Context(nets, batch, Categorical(), given=given)
        with torch.no_grad():
            gains[type(energy)] = row_gains(context, meaning, 2)[:, [0, 4]]
    torch.testing.assert_close(gains[ChainEnergy], gains[TotalEnergy])


def gain(
    nats: float,
    low: float,
    high: float,
    ess: float | None = None,
    apart: float = 0.0,
    dependence: float | None = None,
) -> StructureGain:
    return StructureGain(nats, low, high, ess is None, ess, apart, dependence, 1000, 100)


def test_words() -> None:
    assert str(gain(0.38, 0.31, 0.46)) == (
        "Structure pays: the loss-net knows 0.38 nats a row (0.31 to 0.46) beyond the task-net."
    )
    assert "does not pay here: the loss-net knows 0.20 nats a row (0.10 to 0.30) less" in str(
        gain(-0.2, -0.3, -0.1)
    )
    assert "does not pay here: the loss-net knows next to nothing" in str(gain(0.0, -0.02, 0.02))
    assert str(gain(0.38, 0.31, 0.46, dependence=0.5)).endswith(
        "beyond the task-net. How labels depend on each other accounts for 0.50 of them, single "
        "labels for -0.12."
    )
    assert str(gain(0.38, 0.31, 0.46, dependence=0.01)).startswith(
        "Dependence between labels does not pay here:"
    )
    assert gain(0.03, 0.01, 0.05).words.startswith("Structure hardly pays: ")
    assert gain(0.1, -0.1, 0.3, 50.0).words.startswith("Not clear: ")
    assert "wide" not in gain(0.1, -0.1, 0.3, 50.0).words
    assert "100 samples of the task-net are worth 2.1" in gain(1.0, 0.9, 1.1, 2.1).words
    assert "wide" in gain(1.0, 0.2, 2.1, 50.0, apart=0.6).words


def test_bad_input() -> None:
    with pytest.raises(DataError, match="at least 2 rows, got 1"):
        summarise(torch.zeros(1, 5), 5)
    context = label_context(rows=3)
    context.batch.target[0, 0] = math.nan
    with pytest.raises(DataError, match="not finite"):
        row_gains(context, DENSITY, 3)
