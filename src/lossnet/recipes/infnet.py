"""Inference networks: nets that find the output of lowest energy in one pass.

A cost-augmented net F learns to violate the margin most, so that the energy learns from it; a
test-time net A learns the output of lowest energy and predicts (paper 003). On every batch the
energy takes one step, the nets take ``net_steps``.
"""

from __future__ import annotations

from typing import Literal, get_args

from lossnet.contrasts import Margin, Perceptron
from lossnet.costs import Cost, get_cost
from lossnet.errors import unknown
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.nets import Derivation, SharedHead, Stacked
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.proposals import NetOutput
from lossnet.terms import CrossEntropy, EnergyTerm, Violation, Weighted

Sharing = Literal["separated", "shared", "stacked"]
TuneOn = Literal["train", "validation", "unlabelled"]


def infnet(
    *,
    loss: Literal["margin", "perceptron"] = "margin",
    cost: str = "l1",
    margin: float = 1.0,
    energy_weight: float = 0.1,
    xent_weight: float = 1.0,
    truncate: bool = False,
    net_steps: int = 1,
    tune_on: TuneOn = "train",
    tune_lr: float = 1e-5,
    energy_lr: float = 1e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """InfNet: margin against a cost-augmented net, which is then tuned to the plain energy.

    min_E max_F [Δ(F(x), y*) - E(x, F(x)) + E(x, y*)]_+   (paper 003, Eq. 4), then
    min_A Σ_x E(x, A(x)) with A started as F, on the training inputs, the validation inputs or
    unlabelled ones given to ``fit``. ``loss="perceptron"`` leaves the cost out, so that F is A
    from the start and nothing is to be tuned. ``truncate`` keeps the hinge's cut at zero for the
    net too; the energy always has it.
    """
    if loss not in ("margin", "perceptron"):
        raise unknown("loss", loss, ["margin", "perceptron"])
    if tune_on not in get_args(TuneOn):
        raise unknown("tune_on", tune_on, get_args(TuneOn))
    net = "augmented" if loss == "margin" else "task"
    delta = get_cost(cost) if loss == "margin" else None
    energy = _energy_update([_hinge(net, delta, margin)], lr=energy_lr, weight_decay=weight_decay)
    nets = Update(
        net,
        _follow(net, delta, margin, truncate, energy_weight, xent_weight),
        steps=net_steps,
        optimiser=Optimiser(lr=task_lr, weight_decay=weight_decay, plateau=5),
        watch=True,
    )
    joint = Phase((energy, nets), predict=NetOutput(net), name="infnet")
    if loss == "perceptron":
        return Method("infnet", (joint,))
    plain = Update(
        "task",
        Judge((Weighted(1.0, EnergyTerm()),)),
        optimiser=Optimiser(lr=tune_lr, weight_decay=weight_decay),
    )
    tune = Phase((plain,), rows=tune_on, copies={"task": "augmented"}, name="tune")
    return Method("infnet", (joint, tune))


def infnet_plus(
    *,
    sharing: Sharing = "stacked",
    perceptron_weight: float = 1.0,
    cost: str = "l1",
    margin: float = 1.0,
    energy_weight: float = 0.1,
    xent_weight: float = 1.0,
    augmented_xent_weight: float = 1.0,
    truncate: bool = False,
    net_steps: int = 1,
    energy_lr: float = 1e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """InfNet+: margin on a cost-augmented net plus perceptron on the test-time net, together.

    min_E max_{F,A} [Δ(F, y*) - E(x, F) + E(x, y*)]_+ + λ [E(x, y*) - E(x, A)]_+
    (paper 003, Eq. 6), with λ = ``perceptron_weight``. ``sharing`` says how F is made:
    ``"separated"``, a net of its own; ``"shared"``, a second head on A's features; ``"stacked"``,
    an affine map of A's output and the truth, through which no gradient reaches A. ``truncate``
    keeps the hinges' cut at zero for the nets too; the energy always has it.
    """
    if sharing not in get_args(Sharing):
        raise unknown("sharing", sharing, get_args(Sharing))
    delta = get_cost(cost)
    perceptron = Part("perceptron loss", perceptron_weight, Compare(Perceptron(), NetOutput()))
    energy = _energy_update(
        [_hinge("augmented", delta, margin), perceptron], lr=energy_lr, weight_decay=weight_decay
    )
    augmented = _follow("augmented", delta, margin, truncate, energy_weight, augmented_xent_weight)
    test_time = _follow("task", None, 0.0, truncate, energy_weight * perceptron_weight, xent_weight)
    nets = Update(
        ("task", "augmented"),
        Compound((Part("loss of augmented", 1.0, augmented), Part("loss of task", 1.0, test_time))),
        steps=net_steps,
        optimiser=Optimiser(lr=task_lr, weight_decay=weight_decay, plateau=5),
        watch=True,
    )
    kinds = {"shared": SharedHead, "stacked": Stacked}
    derived = {"augmented": Derivation(kinds[sharing])} if sharing in kinds else {}
    return Method("infnet-plus", (Phase((energy, nets), name="infnet-plus"),), derived=derived)


def _hinge(net: str, cost: Cost | None, margin: float) -> Part:
    """The energy's loss on a net's output: with a cost the margin, without the perceptron."""
    if cost is None:
        return Part("perceptron loss", 1.0, Compare(Perceptron(), NetOutput(net)))
    return Part("hinge loss", 1.0, Compare(Margin(margin), NetOutput(net), cost))


def _follow(
    net: str,
    cost: Cost | None,
    margin: float,
    truncate: bool,
    energy_weight: float,
    xent_weight: float,
) -> Judge:
    """What a net minimises: the energy less its cost, and cross-entropy (section 4.2)."""
    terms = (
        Weighted(energy_weight, Violation(cost, margin, truncate)),
        Weighted(xent_weight, CrossEntropy()),
    )
    return Judge(terms, NetOutput(net))


def _energy_update(parts: list[Part], *, lr: float, weight_decay: float) -> Update:
    return Update(
        "energy",
        Compound(tuple(parts)),
        optimiser=Optimiser(lr=lr, weight_decay=weight_decay, plateau=5),
        watch=True,
    )
