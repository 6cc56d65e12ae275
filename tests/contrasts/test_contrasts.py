"""Contrasts against loops, enumeration, and the minimisers of their exact expectations."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from lossnet import costs
from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import NCE, Compared, Margin, Perceptron, Ranking, Regression
from lossnet.energies import LabelEnergy
from lossnet.objectives import Compare
from lossnet.proposals import Candidates, Exact
from lossnet.spaces import Binary
from lossnet.testing import check_contrast

CONTRASTS = [Margin(), Margin(2.5), Perceptron(), Regression(), Ranking(), NCE()]


def naive(contrast, e, e0, cost, log_q, log_q0) -> float:
    """The loss of one example, by its definition, in plain Python."""
    if isinstance(contrast, Margin):
        worst = max(contrast.scale * c - v + e0 for v, c in zip(e, cost, strict=True))
        return max(worst, 0.0)
    if isinstance(contrast, Perceptron):
        return max(0.0, *(e0 - v for v in e))
    if isinstance(contrast, Regression):
        value = [1 / (1 + math.exp(v)) for v in e]
        return sum(
            -(1 - c) * math.log(s) - c * math.log(1 - s) for s, c in zip(value, cost, strict=True)
        )
    noise = [log_q0, *log_q] if isinstance(contrast, NCE) else [0.0] * (len(e) + 1)
    scores = [math.exp(-v - q) for v, q in zip([e0, *e], noise, strict=True)]
    return -math.log(scores[0] / sum(scores))


@pytest.mark.parametrize("contrast", CONTRASTS, ids=str)
@pytest.mark.parametrize("k", [1, 6])
def test_against_a_loop(contrast, k) -> None:
    generator = torch.Generator().manual_seed(k)
    e, cost, log_q = torch.randn(3, k, 20, generator=generator, dtype=torch.float64)
    e0, log_q0 = torch.randn(2, 20, generator=generator, dtype=torch.float64)
    given = Compared(e, e0, cost.sigmoid(), -log_q.exp(), -log_q0.exp())
    loss = contrast(given)
    for b in range(20):
        expected = naive(
            contrast,
            given.e[:, b].tolist(),
            float(given.e_target[b]),
            given.cost[:, b].tolist(),
            given.log_q[:, b].tolist(),
            float(given.log_q_target[b]),
        )
        assert float(loss[b]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("contrast", CONTRASTS, ids=str)
def test_contract(contrast) -> None:
    check_contrast(contrast)
    check_contrast(contrast, k=1, batch=1)


@pytest.mark.parametrize("contrast", CONTRASTS, ids=str)
def test_large_energies_stay_finite(contrast) -> None:
    e = torch.tensor([[-500.0, 500.0]]).requires_grad_()
    e0 = torch.tensor([500.0, -500.0])
    cost, log_q = torch.tensor([[0.0, 1.0]]), torch.zeros(1, 2)
    loss = contrast(Compared(e, e0, cost, log_q, log_q[0]))
    assert torch.isfinite(loss).all()
    assert torch.isfinite(torch.autograd.grad(loss.sum(), e)[0]).all()


@pytest.mark.parametrize("contrast", [Margin(), Perceptron(), Ranking(), NCE()], ids=str)
def test_link_is_the_energy_itself(contrast) -> None:
    e = torch.tensor([-3.0, 0.0, 40.0])
    assert torch.equal(contrast.link(e), e)


def test_link_of_regression_is_minus_the_predicted_quality() -> None:
    values = Regression().link(torch.tensor([-2.0, 0.0, 1.0])).tolist()
    expected = [-1 / (1 + math.exp(v)) for v in (-2.0, 0.0, 1.0)]
    assert values == pytest.approx(expected)
    assert values == sorted(values)  # a lower energy is a better output


@dataclass(frozen=True)
class Faulty:
    """Minus the truth's energy share, with one promise broken."""

    fault: str = ""
    requires = frozenset({"target"})

    def __call__(self, compared: Compared) -> torch.Tensor:
        e, e0 = compared.e, compared.e_target
        if self.fault == "silent" and e0 is None:
            e0 = torch.zeros_like(e[0])
        if e0 is None:
            raise TypeError("no truth")
        loss = (e0 - e).square().mean(0)
        if self.fault == "order":
            loss = loss + e[0]
        if self.fault == "batch":
            loss = loss - loss.mean()
        if self.fault == "gradient":
            loss = loss.detach() + (loss - loss.detach()) / 2
        return loss.mean() if self.fault == "reduced" else loss

    def link(self, e: torch.Tensor) -> torch.Tensor:
        return e.sum(0) if self.fault == "link" else e


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("silent", "e_target is missing and no TypeError says so"),
        ("order", "the order of candidates matters"),
        ("batch", "the other examples matter"),
        ("gradient", "(?i)jacobian"),
        ("reduced", "the loss is"),
        ("link", "link changes the shape"),
    ],
)
def test_contract_finds_faults(fault, message) -> None:
    check_contrast(Faulty())
    with pytest.raises((AssertionError, RuntimeError), match=message):
        check_contrast(Faulty(fault))


# Over the whole space ----------------------------------------------------------------------------


def small_problem() -> tuple[Context, torch.Tensor]:
    """A random energy of 3 labels on 4 examples; the energies of all 8 outputs, (8, 4)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        energy = LabelEnergy(5, 3, hidden=(6,), global_hidden=4).double().eval()
        x = torch.randn(4, 5, dtype=torch.float64)
    target = Binary().enumerate((3,))[[0, 3, 5, 6]].double()
    context = Context({"energy": energy}, Batch(x, target), Binary())
    states = Binary().enumerate((3,)).double()
    with context.updating(["energy"]):
        return context, context.energy(states.unsqueeze(1).expand(-1, 4, -1))


@dataclass(frozen=True)
class Others:
    """Every output but the truth: a proposal as a user may write one."""

    provides = frozenset()
    nets = frozenset()
    needs = frozenset({"target"})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        states = Exact()(context).y
        other = (states != context.target.bool()).any(-1)  # (N, B), N - 1 a column
        n = len(states) - 1
        return Candidates(states.transpose(0, 1)[other.T].view(-1, n, 3).transpose(0, 1))


@pytest.mark.parametrize("name", ["f1", "hamming", "l1"])
def test_margin_over_the_space_is_the_structured_hinge(name) -> None:
    """max over all outputs y' of [cost(y', y) - E(y') + E(y)], which is never below 0: y' = y."""
    context, energies = small_problem()
    loss = Compare(Margin(), Exact(), costs.COSTS[name])(context).detach()
    energies = energies.detach()
    states = Binary().enumerate((3,)).double()
    for b, truth in enumerate(context.target):
        e_truth = next(float(energies[n, b]) for n, y in enumerate(states) if torch.equal(y, truth))
        worst = max(
            float(costs.COSTS[name](y.view(1, 1, 3), truth.view(1, 3), None))
            - float(energies[n, b])
            + e_truth
            for n, y in enumerate(states)
        )
        assert float(loss[b]) == pytest.approx(worst, abs=1e-12)
        assert worst >= 0


def exact_likelihood(context: Context, energies: torch.Tensor) -> torch.Tensor:
    states = Binary().enumerate((3,))
    truth = (states.unsqueeze(1) == context.target.bool()).all(-1)
    log_p = torch.log_softmax(-energies, 0)
    return -(log_p * truth).sum(0)


def test_ranking_over_all_other_outputs_is_the_exact_likelihood() -> None:
    """Ranking counts the truth as candidate 0, so the candidates are the outputs but the truth.

    The same holds for NCE when q is uniform, for then log q is a constant that cancels.
    """
    context, energies = small_problem()
    expected = exact_likelihood(context, energies)
    with context.updating(["energy"]):
        loss = Compare(Ranking(), Others())(context)
    torch.testing.assert_close(loss, expected)
    parameters = list(context.nets["energy"].parameters())
    for left, right in zip(
        torch.autograd.grad(loss.sum(), parameters, retain_graph=True),
        torch.autograd.grad(expected.sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(left, right)


def test_nce_with_a_uniform_q_is_ranking() -> None:
    context, _ = small_problem()
    ranking = Compare(Ranking(), Exact())(context)
    torch.testing.assert_close(Compare(NCE(), Exact())(context), ranking)


def test_over_the_whole_enumeration_ranking_counts_the_truth_twice() -> None:
    """With Exact the truth is candidate 0 and in the enumeration: log(Z + exp(-E_0)) + E_0."""
    context, energies = small_problem()
    likelihood = exact_likelihood(context, energies)
    loss = Compare(Ranking(), Exact())(context)
    torch.testing.assert_close(loss, torch.log1p(torch.exp(-likelihood)) + likelihood)
    assert (loss > likelihood).all()


# Minimisers of the expected objective ------------------------------------------------------------


def expected_loss(contrast, e, p, q, k) -> torch.Tensor:
    """The exact expectation over the truth y ~ p and k candidates ~ q, by enumeration."""
    n = len(p)
    tuples = torch.tensor(list(itertools.product(range(n), repeat=k + 1)))
    truth, drawn = tuples[:, 0], tuples[:, 1:].T
    weight = p[truth] * q[drawn].prod(0)
    log_q = q.log()
    loss = contrast(Compared(e[drawn], e[truth], None, log_q[drawn], log_q[truth]))
    return (weight * loss).sum()


def minimiser(contrast, p, q, k) -> torch.Tensor:
    """softmax(-E) of the table of energies E that minimises the expectation."""

    def value_and_gradient(e: np.ndarray) -> tuple[float, np.ndarray]:
        table = torch.tensor(e, requires_grad=True)
        value = expected_loss(contrast, table, p, q, k)
        return value.item(), torch.autograd.grad(value, table)[0].numpy()

    found = minimize(
        value_and_gradient,
        np.zeros(len(p)),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-12, "ftol": 1e-18, "maxiter": 2_000, "maxcor": 20},
    )
    return torch.softmax(-torch.tensor(found.x), 0)


def table(n: int, scale: float, seed: int) -> torch.Tensor:
    """A random distribution over n outputs; the larger the scale, the more skewed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(scale * torch.randn(n, generator=generator, dtype=torch.float64), 0)


NOISES = {
    "uniform": lambda n: torch.full((n,), 1 / n, dtype=torch.float64),
    "random": lambda n: table(n, 1.0, seed=1),
    "skewed": lambda n: table(n, 3.0, seed=2),
    "one output in a thousand": lambda n: torch.tensor(
        [1 - (n - 1) * 1e-3, *[1e-3] * (n - 1)], dtype=torch.float64
    ),
}
# The tables of 8 outputs have 8^4 tuples at k = 3.
SIZES = [(4, 1), (4, 2), (4, 3), (8, 1), (8, 2), (8, 3)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_the_minimiser_of_expected_nce_is_the_true_distribution(n, k, noise) -> None:
    p, q = table(n, 1.0, seed=7), NOISES[noise](n)
    torch.testing.assert_close(minimiser(NCE(), p, q, k), p, rtol=0, atol=1e-4)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("n", "k"), [(4, 2), (8, 1)])
def test_the_minimiser_of_expected_ranking_is_the_ratio_to_the_noise(n, k, noise) -> None:
    """exp(-E) is proportional to p / q, so not to p (paper 001, appendix A)."""
    p, q = table(n, 1.0, seed=7), NOISES[noise](n)
    ratio = p / q
    expected = ratio / ratio.sum()
    torch.testing.assert_close(minimiser(Ranking(), p, q, k), expected, rtol=0, atol=1e-4)
    if noise != "uniform":
        assert (expected - p).abs().max() > 0.05


def test_missing_fields_are_named() -> None:
    e = torch.zeros(2, 3)
    full = Compared(e, e[0], e, e, e[0])
    with pytest.raises(TypeError, match="NCE needs log q of the truth"):
        NCE()(replace(full, log_q_target=None))
    with pytest.raises(TypeError, match="Margin needs costs"):
        Margin()(replace(full, cost=None))
    with pytest.raises(TypeError, match="Ranking needs the truth's energy"):
        Ranking()(replace(full, e_target=None))
