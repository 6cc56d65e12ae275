"""Inference networks: nets that find the output of lowest energy in one pass.

A cost-augmented net F learns to violate the margin most, so that the energy learns from it; a
test-time net A learns the output of lowest energy and predicts (paper 003). On every batch the
energy takes one step, the nets take ``net_steps``. ``truncate`` keeps the hinges' cut at zero for
the nets too; the energy always has it.
"""

from __future__ import annotations

from typing import Literal

from lossnet.contrasts import Margin, Perceptron
from lossnet.costs import Cost, get_cost
from lossnet.method import Method, Optimiser, Phase, Rows, Update
from lossnet.nets import Derivation, SharedHead, Stacked
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.parameters import Count, Weight
from lossnet.proposals import NetOutput
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.parts import BOTH_SPACE
from lossnet.terms import CrossEntropy, EnergyTerm, Violation, Weighted

_SPACE = BOTH_SPACE | {"margin": Around(5), "net_steps": Range(1, 3)}


@searched(_SPACE | {"tune_optimiser.lr": Around(5)})
def infnet(
    *,
    loss: Literal["margin", "perceptron"] = "margin",
    cost: str = "l1",
    margin: Weight = 1.0,
    energy_weight: Weight = 0.1,
    xent_weight: Weight = 1.0,
    truncate: bool = False,
    net_steps: Count = 1,
    tune_on: Rows = "train",
    tune_optimiser: Optimiser = Optimiser(1e-5),
    energy_optimiser: Optimiser = Optimiser(1e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """InfNet: margin against a cost-augmented net, which is then tuned to the plain energy.

    min_E max_F [Δ(F(x), y*) - E(x, F(x)) + E(x, y*)]_+   (paper 003, Eq. 4), then
    min_A Σ_x E(x, A(x)) with A started as F, on the training inputs, the validation inputs or
    unlabelled ones given to ``fit``. ``loss="perceptron"`` leaves the cost out, so that F is A
    from the start and nothing is to be tuned.
    """
    net = "augmented" if loss == "margin" else "task"
    delta = get_cost(cost) if loss == "margin" else None
    energy = _energy_update(energy_optimiser, _hinge(net, delta, margin))
    follow = _follow(net, Violation(delta, margin, truncate), energy_weight, xent_weight)
    nets = Update(net, follow, steps=net_steps, optimiser=task_optimiser, record_gradient_norm=True)
    joint = Phase((energy, nets), predict=NetOutput(net), name="infnet")
    if loss == "perceptron":
        return Method("infnet", (joint,))
    plain = Update("task", Judge((Weighted(1.0, EnergyTerm()),)), optimiser=tune_optimiser)
    tune = Phase((plain,), rows=tune_on, copies={"task": "augmented"}, name="tune")
    return Method("infnet", (joint, tune))


@searched(_SPACE | {"perceptron_weight": Around(5)})
def infnet_plus(
    *,
    sharing: Literal["separated", "shared", "stacked"] = "stacked",
    perceptron_weight: Weight = 1.0,
    cost: str = "l1",
    margin: Weight = 1.0,
    energy_weight: Weight = 0.1,
    xent_weight: Weight = 1.0,
    augmented_xent_weight: Weight = 1.0,
    truncate: bool = False,
    net_steps: Count = 1,
    energy_optimiser: Optimiser = Optimiser(1e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """InfNet+: margin on a cost-augmented net plus perceptron on the test-time net, together.

    min_E max_{F,A} [Δ(F, y*) - E(x, F) + E(x, y*)]_+ + λ [E(x, y*) - E(x, A)]_+
    (paper 003, Eq. 6), with λ = ``perceptron_weight``. ``sharing`` says how F is made:
    ``"separated"``, a net of its own; ``"shared"``, a second head on A's features; ``"stacked"``,
    an affine map of A's output and the truth, through which no gradient reaches A.
    """
    delta = get_cost(cost)
    perceptron = Part("perceptron loss", perceptron_weight, Compare(Perceptron(), NetOutput()))
    energy = _energy_update(energy_optimiser, _hinge("augmented", delta, margin), perceptron)
    worst, lowest = Violation(delta, margin, truncate), Violation(None, 0.0, truncate)
    augmented = _follow("augmented", worst, energy_weight, augmented_xent_weight)
    test_time = _follow("task", lowest, energy_weight * perceptron_weight, xent_weight)
    both = Part("loss of augmented", 1.0, augmented), Part("loss of task", 1.0, test_time)
    named = ("task", "augmented")
    nets = Update(named, Compound(both), net_steps, task_optimiser, record_gradient_norm=True)
    kinds = {"shared": SharedHead, "stacked": Stacked}
    derived = {"augmented": Derivation(kinds[sharing])} if sharing in kinds else {}
    return Method("infnet-plus", (Phase((energy, nets), name="infnet-plus"),), derived=derived)


def _hinge(net: str, cost: Cost | None, margin: float) -> Part:
    """The energy's loss on a net's output: with a cost the margin, without the perceptron."""
    if cost is None:
        return Part("perceptron loss", 1.0, Compare(Perceptron(), NetOutput(net)))
    return Part("hinge loss", 1.0, Compare(Margin(margin), NetOutput(net), cost))


def _follow(net: str, violation: Violation, energy_weight: float, xent_weight: float) -> Judge:
    """What a net minimises: the energy less its cost, and cross-entropy (section 4.2)."""
    terms = Weighted(energy_weight, violation), Weighted(xent_weight, CrossEntropy())
    return Judge(terms, NetOutput(net))


def _energy_update(optimiser: Optimiser, *parts: Part) -> Update:
    return Update("energy", Compound(parts), optimiser=optimiser, record_gradient_norm=True)
