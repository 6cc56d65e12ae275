"""ALEN: an energy learned around a net's output, which then refines that output.

The energy regresses the quality of the truth, of the net's output and of that output refined by
``inference``, normalised gradient steps on E: one L2 step over all of an output's entries, where a
size of 1 flips one label (paper 004, Eq. 12). The net follows cross-entropy and the energy.

With ``local``, for energies that are a mean over positions, the value of each position is regressed
on whether it is right, in place of the output's on 1 - cost: paper 004's "score matrices", as one
number per image is little to learn from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from lossnet.contrasts import LeastSquares
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Judge
from lossnet.parameters import Count, Positive, Weight
from lossnet.proposals import GBI, Combined, NetOutput, Perturbed, Proposal, Target
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.parts import BOTH_SPACE, energy_update, pretrain
from lossnet.terms import CrossEntropy, EnergyTerm, Weighted

_SPACE = BOTH_SPACE | {"output_weight": Around(5), "inference.lr": Around(5)}


@searched(_SPACE | {"refined_weight": Around(5), "predict_steps": Range(1, 15)})
def alen(
    *,
    cost: str = "f1",
    output_weight: Weight = 1.0,
    refined_weight: Weight = 1.0,
    energy_weight: Weight = 0.1,
    xent_weight: Weight = 1.0,
    inference: GBI = GBI(5, 0.3, step="normalised", adam=False, keep="last"),
    predict_steps: Count = 6,
    predict: Literal["refined", "net"] = "refined",
    noise: Weight = 0.0,
    radius: Weight = 0.0,
    local: bool = False,
    share: Positive = 1.0,
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5, beta1=0.5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5, beta1=0.5),
) -> Method:
    """ALEN: regress the quality of the truth, the net's output and its refinement.

    L_v = ½ (v(y*) - 1)² + λ_v/2 (v(y') - h(y'))² + β_v/2 (v(y'') - h(y''))²   (paper 004, Eq. 6)
    with v = -E, h = 1 - cost, y' = F(x), y'' = y' refined by ``inference``; λ_v is
    ``output_weight``, β_v ``refined_weight``. L_F = cross-entropy + λ_g ½ (v(F(x)) - 1)² (Eq. 11),
    λ_g ``energy_weight``. Predicts with y'' after ``predict_steps``, or with F(x) alone. With
    ``noise`` an output with noisy logits (see ``Perturbed``) is refined as well: a net that has
    memorised its training rows shows the energy no mistakes.

    With a ``share`` below 1 the net starts from a phase of cross-entropy; see ``_phases``.
    """
    start: Proposal = Perturbed(2, noise, radius) if noise else NetOutput()
    candidates = (Target(), NetOutput(), replace(inference, start=start))
    contrast = LeastSquares((1.0, output_weight) + (refined_weight,) * (2 if noise else 1))
    energy = energy_update(energy_optimiser, contrast, Combined(candidates), cost=cost, local=local)
    value = Weighted(energy_weight, EnergyTerm(contrast, local=local))
    task = _task_update(task_optimiser, value, xent_weight)
    refined = replace(inference, steps=predict_steps, start=NetOutput())
    by = refined if predict == "refined" else NetOutput()
    return Method("alen", _phases(energy, task, by, share), predict=by)


@searched(_SPACE | {"inference.steps": Range(1, 15)})
def aen(
    *,
    cost: str = "f1",
    output_weight: Weight = 1.0,
    energy_weight: Weight = 0.1,
    xent_weight: Weight = 1.0,
    inference: GBI = GBI(6, 0.3, step="normalised", adam=False, keep="last"),
    local: bool = False,
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5, beta1=0.5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5, beta1=0.5),
) -> Method:
    """AEN, ALEN's ablation: trained without the refined output, still refined at prediction.

    Paper 004, Eq. 6 without its third term (6c).
    """
    contrast, candidates = LeastSquares((1.0, output_weight)), Combined((Target(), NetOutput()))
    energy = energy_update(energy_optimiser, contrast, candidates, cost=cost, local=local)
    value = Weighted(energy_weight, EnergyTerm(contrast, local=local))
    task = _task_update(task_optimiser, value, xent_weight)
    by = replace(inference, start=NetOutput())
    return Method("aen", (Phase((energy, task), predict=by, name="aen"),), predict=by)


def _phases(energy: Update, task: Update, predict: Proposal, share: float) -> tuple[Phase, ...]:
    """Both nets together; with a ``share`` below 1 the task-net alone comes first.

    It is then trained by cross-entropy, and after that both have the share of the epochs and of the
    patience, the task-net at a quarter of its learning rate: an epoch of both takes several times
    as long.
    """
    if share >= 1:
        return (Phase((energy, task), predict=predict, name="alen", share=share),)
    settings = task.optimiser
    # Less momentum is for nets that train against each other.
    alone = pretrain("task", replace(settings, beta1=0.9))
    task = replace(task, optimiser=replace(settings, lr=settings.lr / 4))
    return alone, Phase((energy, task), predict=predict, name="alen", share=share)


def _task_update(optimiser: Optimiser, value: Weighted, xent_weight: float) -> Update:
    terms = Weighted(xent_weight, CrossEntropy()), value
    return Update("task", Judge(terms), optimiser=optimiser)
