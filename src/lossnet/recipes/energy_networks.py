"""Energy networks that predict by gradient-based inference, SPEN, DVN and NCE, or correct a net.

``inference`` finds outputs of low energy: in training, for contrasts that ask for them, and in
prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.costs import get_cost
from lossnet.gradients import Unrolled
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Judge, Likelihood
from lossnet.parameters import Count, Weight
from lossnet.proposals import GBI, Combined, Either, NetOutput, Random, Samples, Target, Zeros
from lossnet.ranges import Around, Dimension, Range, searched
from lossnet.recipes.parts import ENERGY_SPACE, TASK_SPACE, energy_update, pretrain
from lossnet.terms import CrossEntropy, Weighted

#: Of an energy that predicts by descending on it.
_DESCENT: dict[str, Dimension] = {
    **ENERGY_SPACE,
    "inference.lr": Around(5),
    "inference.steps": Range(5, 40, log=True),
}


@searched(TASK_SPACE | _DESCENT | {"margin": Around(5)})
def spen(
    *,
    cost: str = "f1",
    margin: Weight = 1.0,
    inference: GBI = GBI(20, 0.01),
    energy_optimiser: Optimiser = Optimiser(1e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SPEN: margin on cost-augmented inference, started from a pretrained net.

    L_E = max_y [Δ(y, y*) - E(x, y) + E(x, y*)]_+   (paper 000, Eq. 6), the maximum found by
    descending on E - Δ; predicts by descending on E.
    """
    inference = replace(inference, start=NetOutput())
    phase = spen_phase(energy_optimiser, Margin(margin), inference, cost)
    return Method("spen", (pretrain("task", task_optimiser), phase), predict=inference)


def spen_phase(optimiser: Optimiser, contrast: Margin, inference: GBI, cost: str) -> Phase:
    """The energy against the output that violates the margin most."""
    worst = replace(inference, cost=get_cost(cost))
    update = energy_update(optimiser, contrast, worst, cost=cost)
    return Phase((update,), predict=inference, name="spen")


@searched(TASK_SPACE | ENERGY_SPACE | {"inference.lr": Around(5), "inference.steps": Range(2, 10)})
def spen_e2e(
    *,
    inference: GBI = GBI(5, 1.0, step="entropic", adam=False, keep="last"),
    energy_optimiser: Optimiser = Optimiser(5e-4),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SPEN trained end to end: cross-entropy of the unrolled inference's result.

    y_T = the T-th entropic step on E from a pretrained net's output, L = xent(y_T, y*), and the
    gradient runs through all T steps (Belanger et al., 2017).
    """
    inference = replace(inference, start=NetOutput())
    loss = Judge((Weighted(1.0, CrossEntropy()),), inference)
    update = Update("energy", loss, optimiser=energy_optimiser, gradient=Unrolled())
    end_to_end = Phase((update,), predict=inference, name="spen-e2e")
    return Method("spen-e2e", (pretrain("task", task_optimiser), end_to_end), predict=inference)


@searched(_DESCENT | {"predict_steps": Range(5, 40, log=True)})
def dvn(
    *,
    cost: str = "f1",
    inference: GBI = GBI(20, 0.5, adam=False, keep="last", on="value"),
    others: Literal["near", "adversarial"] = "near",
    predict_steps: Count = 20,
    energy_optimiser: Optimiser = Optimiser(2e-3, weight_decay=0.3, plateau=5, decay="linear"),
) -> Method:
    """DVN: the energy regresses the quality of inferred and of other outputs.

    L_E of paper 000, Eq. 7, on what inference finds from zeros, and on ``others``: ``near``, what
    one of its steps makes of the truth or of zeros, as in the published code of DVN; or
    ``adversarial``, the output of highest L_E, and the truth. Predicts by ``predict_steps`` of
    inference. Plain steps on the value sigmoid(-E), the last kept, are part of what is learned;
    their length should be about a fifth of the labels on.
    """
    predict = replace(inference, steps=predict_steps)
    phase = dvn_phase(energy_optimiser, inference, predict, cost, others)
    return Method("dvn", (phase,), predict=predict)


def dvn_phase(optimiser: Optimiser, inference: GBI, predict: GBI, cost: str, others: str) -> Phase:
    """The energy on what inference finds, and on what is near the truth or fools it most."""
    near = replace(inference, steps=1, start=Either((Target(), Zeros())))
    adversarial = replace(inference, cost=get_cost(cost), contrast=Regression())
    more = (near,) if others == "near" else (adversarial, Target())
    update = energy_update(optimiser, Regression(), Combined((inference, *more)), cost=cost)
    return Phase((update,), predict=predict, name="dvn")


@searched(TASK_SPACE | _DESCENT | {"samples": Range(20, 160, log=True)})
def nce_energy(
    *,
    samples: Count = 80,
    inference: GBI = GBI(20, 0.1),
    start: Literal["net", "random"] = "net",
    energy_optimiser: Optimiser = Optimiser(5e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """NCE energy network: noise-contrastive ranking against a fixed, pretrained net.

    L_E of paper 000, Eq. 8, with P_N the pretrained net; predicts by descending on E from that
    net's output, or from three random points as the public code does.
    """
    predict = replace(inference, start=Random(3) if start == "random" else NetOutput())
    phase = nce_phase(energy_optimiser, Samples(samples, "task"))
    return Method("nce-energy", (pretrain("task", task_optimiser), phase), predict=predict)


def nce_phase(optimiser: Optimiser, noise: Samples) -> Phase:
    """The energy against samples of the noise net.

    It watches its own validation loss: an energy that is poor at prediction may still be a good
    loss (paper 000, section 4.1).
    """
    update = energy_update(optimiser, NCE(), noise)
    return Phase((update,), predict=NetOutput(noise.net), monitor="loss", name="nce-energy")


@searched(ENERGY_SPACE | {"samples": Range(20, 160, log=True)})
def residual(
    *,
    samples: Count | None = 50,
    energy_optimiser: Optimiser = Optimiser(5e-3, weight_decay=1e-2, plateau=5),
) -> Method:
    """What a given net with independent outputs lacks: an energy that knows truth from sample.

    Ranking (paper 001, Eq. 10) against samples of q, the net ``"task"``, which is never trained:
    E learns log q(y|x) - log p(y|x), so that the joint is q exp(-E). ``samples=None`` is the limit
    of many, exactly, for a chain energy. It has no name of its own in ``METHODS``, for the net must
    be given; see :class:`~lossnet.StructuredClassifier` and :class:`~lossnet.StructuredTagger`.
    """
    if samples is None:
        update = Update("energy", Likelihood(q="task"), optimiser=energy_optimiser)
    else:
        update = energy_update(energy_optimiser, Ranking(), Samples(samples, "task"))
    phase = Phase((update,), monitor="loss", name="residual")
    return Method("residual", (phase,), given=frozenset({"task"}))
