"""SEAL-static: train the loss-net first, then the task-net against it, frozen.

min_Φ L_F(Φ; Θ^) with Θ^ = argmin_Θ L_E   (paper 000, Eq. 3). Where L_E needs a feed-forward
network (as noise, or to start inference), that is a net of its own, trained with cross-entropy;
the task-net starts afresh.
"""

from __future__ import annotations

from lossnet.contrasts import NCE, Margin, Regression
from lossnet.contrasts.base import Contrast
from lossnet.method import Method, Phase
from lossnet.recipes.energy_networks import dvn_phase, nce_phases, spen_phases
from lossnet.recipes.parts import task_update


def _static(
    name: str,
    energy_phases: tuple[Phase, ...],
    contrast: Contrast,
    *,
    energy_weight: float,
    xent_weight: float,
    entropy_weight: float = 0.0,
    task_lr: float,
    weight_decay: float,
) -> Method:
    update = task_update(
        contrast,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        lr=task_lr,
        weight_decay=weight_decay,
    )
    return Method(name, (*energy_phases, Phase((update,), name=name)))


def seal_static_margin(
    *,
    energy_weight: float = 0.01,
    xent_weight: float = 1.0,
    cost: str = "f1",
    margin: float = 1.0,
    gbi_steps: int = 20,
    gbi_lr: float = 0.01,
    energy_lr: float = 1e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-static with a loss-net trained as SPEN (paper 000, Eq. 3 and 6)."""
    phases = spen_phases(
        "noise",
        cost=cost,
        margin=margin,
        gbi_steps=gbi_steps,
        gbi_lr=gbi_lr,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )
    return _static(
        "seal-static-margin",
        phases,
        Margin(margin),
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def seal_static_regression(
    *,
    energy_weight: float = 0.1,
    xent_weight: float = 1.0,
    cost: str = "f1",
    gbi_steps: int = 20,
    gbi_lr: float = 0.05,
    energy_lr: float = 2e-3,
    energy_weight_decay: float = 6e-2,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-static with a loss-net trained as DVN (paper 000, Eq. 3 and 7)."""
    phase = dvn_phase(
        cost=cost,
        gbi_steps=gbi_steps,
        predict_steps=gbi_steps,
        gbi_lr=gbi_lr,
        energy_lr=energy_lr,
        weight_decay=energy_weight_decay,
    )
    return _static(
        "seal-static-regression",
        (phase,),
        Regression(),
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def seal_static_nce(
    *,
    energy_weight: float = 1.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 1.0,
    samples: int = 80,
    energy_lr: float = 5e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-static with a loss-net trained by NCE ranking (paper 000, Eq. 3 and 8).

    ``entropy_weight`` as in ``seal-nce``; 0 gives the paper's loss.
    """
    phases = nce_phases(
        "noise", samples=samples, energy_lr=energy_lr, task_lr=task_lr, weight_decay=weight_decay
    )
    return _static(
        "seal-static-nce",
        phases,
        NCE(),
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )
