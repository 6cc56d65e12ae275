"""Updates that several recipes share, and the words of their parameters.

``energy_weight`` is λ1, the weight of the loss-net's opinion, and ``xent_weight`` λ2, that of
cross-entropy. ``energy_optimiser`` and ``task_optimiser`` are AdamW with a learning rate ``lr``,
halved after ``plateau`` epochs without a better validation metric, as in the public code;
``energy_steps`` and ``task_steps`` are how many steps each takes per batch, or per round where
``rounds`` repeats both on the same batch. ``cost`` names the
task's cost Δ, ``margin`` its weight, ``inference`` is gradient descent on the energy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lossnet.contrasts.contrast import Contrast
from lossnet.costs import Cost, get_cost
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.needs import UNLABELLED
from lossnet.objectives import Compare, Compound, Judge, Objective, Part
from lossnet.proposals.net import NetOutput
from lossnet.proposals.proposal import Proposal
from lossnet.ranges import Around, Dimension, Range
from lossnet.terms import CrossEntropy, EnergyTerm, NegativeEntropy, Weighted

#: What a search tries of the optimisers, the same for every method.
TASK_SPACE: dict[str, Dimension] = {
    "task_optimiser.lr": Around(5),
    "task_optimiser.weight_decay": Range(1e-6, 1e-1, log=True),
}
ENERGY_SPACE: dict[str, Dimension] = {
    "energy_optimiser.lr": Around(5),
    "energy_optimiser.weight_decay": Range(1e-6, 1e-1, log=True),
}
#: Of a loss-net and a task-net that follows it; the loss-net is not what has to generalise.
BOTH_SPACE: dict[str, Dimension] = {
    **TASK_SPACE,
    "energy_optimiser.lr": Around(5),
    "energy_weight": Around(5),
}


def together(
    name: str,
    *updates: Update,
    steps: Sequence[int] | None = None,
    rounds: int = 1,
    gated: bool = False,
) -> Method:
    """One phase: the updates in turn on every batch, and one pass of the task-net predicts.

    ``steps`` has how many steps each update takes at its turn; None leaves theirs. The turns come
    ``rounds`` times per batch. With ``gated`` the nets follow the loss-net only while it knows more
    of validation rows than the task-net.
    """
    if steps is not None:
        updates = tuple(replace(one, steps=own) for one, own in zip(updates, steps, strict=True))
    return Method(name, (Phase(updates, name=name, repeats=rounds, gated=gated),))


def pretrain(net: str, optimiser: Optimiser) -> Phase:
    """A net trained with cross-entropy, to start inference from or to draw noise from."""
    update = task_update(optimiser, net=net)
    return Phase((update,), predict=NetOutput(net), name=f"pretrain {net}")


def task_update(
    optimiser: Optimiser,
    contrast: Contrast | None = None,
    energy_weight: float = 0.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 0.0,
    *,
    local: bool = False,
    net: str = "task",
) -> Update:
    """L_F = λ1 link(E(x, F(x))) + λ2 Σ cross-entropy   (paper 000, Eq. 1).

    With λ1 = 0 this is cross-entropy training. ``entropy_weight`` times the output's entropy is
    taken off, where the energy stands for -log p. ``local`` links every position's energy by
    itself.
    """
    terms = (
        Weighted(energy_weight, EnergyTerm(contrast, local=local)),
        Weighted(xent_weight, CrossEntropy()),
        Weighted(entropy_weight if energy_weight else 0.0, NegativeEntropy()),
    )
    return Update(net, Judge(terms, NetOutput(net)), optimiser=optimiser)


def energy_update(
    optimiser: Optimiser,
    contrast: Contrast,
    proposal: Proposal,
    *,
    cost: str | Cost = "f1",
    local: bool = False,
) -> Update:
    """L_E: a contrast of the energies of a proposal's candidates."""
    objective = Compare(contrast, proposal, get_cost(cost), local=local)
    return Update("energy", objective, optimiser=optimiser)


def with_unlabelled(update: Update, objective: Objective, weight: float) -> Update:
    """The update with ``weight`` times an objective on unlabelled rows added to its own.

    The history has both parts by name. With weight 0 it is the update itself.
    """
    if weight == 0:
        return update
    labelled = Part(f"labelled/{update.name}", 1.0, update.objective)
    unlabelled = Part(f"unlabelled/{update.name}", weight, objective, rows="unlabelled")
    return replace(update, objective=Compound((labelled, unlabelled)))


def following_unlabelled(method: Method, weight: float) -> Method:
    """The method whose nets follow the loss-net on unlabelled rows too, ``weight`` times.

    What a net minimises besides cross-entropy and costs needs no truth: the energy of its output,
    its entropy, violations of a constraint. These terms are added on unlabelled rows; the loss-net
    learns from labelled rows alone. A method without such terms, or one that trains on unlabelled
    rows by itself, is returned as it is.
    """
    if method.needs >= UNLABELLED:
        return method
    phases = []
    for phase in method.phases:
        pairs = [(update, _following(update, weight)) for update in phase.updates]
        updates = tuple(_through(after, pairs) for _, after in pairs)
        phases.append(replace(phase, updates=updates))
    return replace(method, phases=tuple(phases))


def _following(update: Update, weight: float) -> Update:
    free = update.objective.without_target
    return update if free is None else with_unlabelled(update, free, weight)


def _through(update: Update, pairs: Sequence[tuple[Update, Update]]) -> Update:
    """The update with the implicit gradient through what its net is trained on now."""
    inner = getattr(update.gradient, "inner", None)
    found = [after.objective for before, after in pairs if before.objective == inner]
    return replace(update, gradient=update.gradient.through(found[0])) if found else update
