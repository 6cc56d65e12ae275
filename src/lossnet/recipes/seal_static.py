"""SEAL-static: train the loss-net first, then the task-net against it, frozen.

min_Φ L_F(Φ; Θ^) with Θ^ = argmin_Θ L_E   (paper 000, Eq. 3). Where L_E needs a feed-forward
network (as noise, or to start inference), that is a net of its own, trained with cross-entropy;
the task-net starts afresh. The loss-net's phases are those of SPEN, DVN and NCE.
"""

from __future__ import annotations

from dataclasses import replace

from lossnet.contrasts import NCE, Margin, Regression
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.parameters import Count, Weight
from lossnet.proposals import GBI, NetOutput, Samples
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.energy_networks import dvn_phase, nce_phase, spen_phase
from lossnet.recipes.parts import BOTH_SPACE, pretrain, task_update


@searched(BOTH_SPACE | {"margin": Around(5), "inference.lr": Around(5)})
def seal_static_margin(
    *,
    energy_weight: Weight = 0.01,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    margin: Weight = 1.0,
    inference: GBI = GBI(20, 0.01),
    task_steps: Count = 1,
    energy_optimiser: Optimiser = Optimiser(1e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-static with a loss-net trained as SPEN (paper 000, Eq. 3 and 6)."""
    name, contrast = "seal-static-margin", Margin(margin)
    inference = replace(inference, start=NetOutput("noise"))
    energy = spen_phase(energy_optimiser, contrast, inference, cost)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight)
    return Method(
        name, (pretrain("noise", task_optimiser), energy, _task_phase(name, task, task_steps))
    )


@searched(BOTH_SPACE | {"inference.lr": Around(5)})
def seal_static_regression(
    *,
    energy_weight: Weight = 0.1,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    inference: GBI = GBI(20, 0.05),
    task_steps: Count = 1,
    energy_optimiser: Optimiser = Optimiser(2e-3, weight_decay=6e-2, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-static with a loss-net trained as DVN (paper 000, Eq. 3 and 7)."""
    name = "seal-static-regression"
    energy = dvn_phase(energy_optimiser, inference, inference, cost, "adversarial")
    task = task_update(task_optimiser, Regression(), energy_weight, xent_weight)
    return Method(name, (energy, _task_phase(name, task, task_steps)))


@searched(BOTH_SPACE | {"entropy_weight": Range(0.0, 1.0), "samples": Range(20, 160, log=True)})
def seal_static_nce(
    *,
    energy_weight: Weight = 1.0,
    xent_weight: Weight = 1.0,
    entropy_weight: Weight = 1.0,
    samples: Count = 80,
    task_steps: Count = 1,
    energy_optimiser: Optimiser = Optimiser(5e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-static with a loss-net trained by NCE ranking (paper 000, Eq. 3 and 8).

    ``entropy_weight`` as in ``seal-nce``; 0 gives the paper's loss.
    """
    name = "seal-static-nce"
    energy = nce_phase(energy_optimiser, Samples(samples, "noise"))
    task = task_update(task_optimiser, NCE(), energy_weight, xent_weight, entropy_weight)
    return Method(
        name, (pretrain("noise", task_optimiser), energy, _task_phase(name, task, task_steps))
    )


def _task_phase(name: str, task: Update, steps: int) -> Phase:
    """The task-net against the frozen loss-net, ``steps`` times per batch."""
    return Phase((replace(task, steps=steps),), name=name)
