"""ALEN: an energy learned around a net's output, which then refines that output."""

from __future__ import annotations

from typing import Literal

from lossnet.contrasts import LeastSquares
from lossnet.errors import unknown
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Judge
from lossnet.proposals import GBI, NetOutput, Perturbed, Proposal, Several, Target
from lossnet.recipes.parts import energy_update
from lossnet.terms import CrossEntropy, EnergyTerm, Weighted


def alen(
    *,
    cost: str = "f1",
    output_weight: float = 1.0,
    refined_weight: float = 1.0,
    energy_weight: float = 0.1,
    xent_weight: float = 1.0,
    refine_steps: int = 5,
    predict_steps: int = 6,
    step_size: float = 0.3,
    predict: Literal["refined", "net"] = "refined",
    noise: float = 0.0,
    radius: float = 0.0,
    local: bool = False,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    beta1: float = 0.5,
    weight_decay: float = 1e-5,
) -> Method:
    """ALEN: regress the quality of the truth, the net's output and its refinement.

    L_v = ½ (v(y*) - 1)² + λ_v/2 (v(y') - h(y'))² + β_v/2 (v(y'') - h(y''))²   (paper 004, Eq. 6)
    with v = -E, h = 1 - cost, y' = F(x) and y'' that output after ``refine_steps`` normalised
    gradient steps on E (Eq. 12); L_F = cross-entropy + λ_g ½ (v(F(x)) - 1)² (Eq. 11). Predicts
    with y'' after ``predict_steps``, or with ``predict="net"`` with F(x) alone.

    λ_v is ``output_weight``, β_v ``refined_weight`` (0 gives AEN), λ_g ``energy_weight``;
    ``xent_weight=0`` is the paper's ablation without the task loss. One L2 step of ``step_size``
    over all of an output's entries: 1 turns one label round.

    With ``noise`` an output with so much noise on its logits (see
    :class:`~lossnet.proposals.Perturbed`, also for ``radius``) is refined too and judged with the
    same weight: a net that knows its training rows by heart shows the energy no mistakes. With
    ``local``, for energies that are a mean over positions, every position's value is regressed on
    what is right there, in place of the output's on 1 - cost: paper 004's "score matrices", where
    one number an image would be little to learn from.
    """
    if predict not in ("refined", "net"):
        raise unknown("predict", predict, ["refined", "net"])

    def refined(steps: int, start: Proposal) -> GBI:
        return GBI(steps, step_size, step="normalised", adam=False, start=start, keep="last")

    candidates: tuple[Proposal, ...] = (Target(), NetOutput())
    weights: tuple[float, ...] = (1.0, output_weight)
    if refined_weight:
        start = Perturbed(2, noise, radius) if noise else NetOutput()
        candidates += (refined(refine_steps, start),)
        weights += (refined_weight,) * (2 if noise else 1)
    contrast = LeastSquares(weights)
    energy = energy_update(
        contrast,
        Several(candidates),
        cost=cost,
        lr=energy_lr,
        weight_decay=weight_decay,
        beta1=beta1,
        local=local,
    )
    terms = (
        Weighted(xent_weight, CrossEntropy()),
        Weighted(energy_weight, EnergyTerm(contrast, local=local)),
    )
    task = Update(
        "task",
        Judge(terms),
        optimiser=Optimiser(lr=task_lr, weight_decay=weight_decay, plateau=5, beta1=beta1),
    )
    answer = refined(predict_steps, NetOutput()) if predict == "refined" else NetOutput()
    name = "alen" if refined_weight else "aen"
    return Method(name, (Phase((energy, task), predict=answer, name=name),), predict=answer)


def aen(
    *,
    cost: str = "f1",
    output_weight: float = 1.0,
    energy_weight: float = 0.1,
    xent_weight: float = 1.0,
    predict_steps: int = 6,
    step_size: float = 0.3,
    local: bool = False,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    beta1: float = 0.5,
    weight_decay: float = 1e-5,
) -> Method:
    """AEN, ALEN's ablation: trained without the refined output, still refined at prediction.

    Paper 004, Eq. 6 without its third term (6c).
    """
    return alen(
        cost=cost,
        output_weight=output_weight,
        refined_weight=0.0,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        predict_steps=predict_steps,
        step_size=step_size,
        local=local,
        energy_lr=energy_lr,
        task_lr=task_lr,
        beta1=beta1,
        weight_decay=weight_decay,
    )
