"""SEAL-dynamic: the loss-net and the task-net together.

On every batch, ``energy_steps`` updates of the loss-net on candidates that come from the
task-net, then ``task_steps`` updates of the task-net on
L_F = λ1 link(E(x, F(x))) + λ2 Σ cross-entropy   (paper 000, Eq. 1, 4 and 5),
and that ``rounds`` times: the nested loops of the public code.
The recipes differ in the contrast and in the candidates. ``energy_weight`` is λ1 and
``xent_weight`` λ2; λ2 = 0 is the papers' ablation without cross-entropy.
"""

from __future__ import annotations

from typing import Literal

from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.method import Method, Optimiser
from lossnet.parameters import Count, Weight
from lossnet.proposals import CorrelatedSamples, NetOutput, Perturbed, Samples
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.parts import BOTH_SPACE, energy_update, task_update, together

#: Samples of the task-net that the truth is ranked against.
_SAMPLES = Range(5, 80, log=True)
_STEPS = Range(1, 3)


@searched(BOTH_SPACE | {"margin": Around(5)})
def seal_margin(
    *,
    energy_weight: Weight = 0.01,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    margin: Weight = 1.0,
    energy_steps: Count = 1,
    task_steps: Count = 1,
    rounds: Count = 1,
    first: Literal["energy", "task"] = "energy",
    energy_optimiser: Optimiser = Optimiser(1e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-dynamic, margin on the task-net's output (paper 000, Eq. 6).

    L_E = [Δ(F(x), y*) - E(x, F(x)) + E(x, y*)]_+. ``first`` is the net whose steps come first on
    a batch; the public code has the task-net there.
    """
    contrast = Margin(margin)
    energy = energy_update(energy_optimiser, contrast, NetOutput(), cost=cost)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight)
    updates, steps = [energy, task], [energy_steps, task_steps]
    if first == "task":
        updates, steps = updates[::-1], steps[::-1]
    return together("seal-margin", *updates, steps=steps, rounds=rounds)


@searched(BOTH_SPACE | {"energy_steps": _STEPS})
def seal_regression(
    *,
    energy_weight: Weight = 1.0,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    local: bool = False,
    energy_steps: Count = 2,
    task_steps: Count = 1,
    rounds: Count = 1,
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-dynamic, regression on the task-net's output (paper 000, Eq. 7).

    L_E = cross-entropy between s(F(x), y*) and σ(-E(x, F(x))); the task-net maximises σ(-E). With
    ``local``, for energies that are a mean over positions, both are of every position by itself,
    s being 1 - its error.
    """
    contrast = Regression()
    energy = energy_update(energy_optimiser, contrast, NetOutput(), cost=cost, local=local)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight, local=local)
    steps = energy_steps, task_steps
    return together("seal-regression", energy, task, steps=steps, rounds=rounds)


@searched(BOTH_SPACE | {"energy_steps": _STEPS, "candidates.k": Range(5, 20)})
def seal_regression_s(
    *,
    energy_weight: Weight = 3.0,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    local: bool = False,
    candidates: Perturbed | Samples | CorrelatedSamples = Perturbed(10, 1.0),
    energy_steps: Count = 2,
    task_steps: Count = 1,
    rounds: Count = 1,
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-dynamic, regression on several candidates around the task-net's output.

    Σ over the candidates of L_E-regression (paper 000, section 2.3): the output and copies with
    Gaussian noise on the logits, or discrete samples; on images ``correlated`` ones, whose
    neighbouring pixels go together. ``local`` is as in ``seal-regression``.
    """
    contrast = Regression()
    energy = energy_update(energy_optimiser, contrast, candidates, cost=cost, local=local)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight, local=local)
    steps = energy_steps, task_steps
    return together("seal-regression-s", energy, task, steps=steps, rounds=rounds)


@searched(
    BOTH_SPACE | {"entropy_weight": Range(0.0, 1.0), "samples": _SAMPLES, "energy_steps": _STEPS}
)
def seal_nce(
    *,
    energy_weight: Weight = 1.0,
    xent_weight: Weight = 1.0,
    entropy_weight: Weight = 1.0,
    samples: Count = 20,
    gated: bool = False,
    energy_steps: Count = 2,
    task_steps: Count = 1,
    rounds: Count = 1,
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-dynamic, noise-contrastive ranking against the task-net's samples.

    L_E = -log exp(s_0) / Σ_k exp(s_k), s = -E(x, y) - Σ_i log P(y_i|x; Φ)   (paper 000, Eq. 8
    and 9): E learns -log p(y|x).

    ``entropy_weight`` is not in the paper: λ1 E less as much of the output's entropy
    stands for λ1 KL(F(x) || p), which keeps the output's probabilities useful; 0 gives the
    paper's loss, which drives the output towards the most probable label set. With ``gated`` the
    task-net follows the loss-net only while it knows more of the validation rows, see
    :mod:`lossnet.training.worth`.
    """
    contrast = NCE()
    energy = energy_update(energy_optimiser, contrast, Samples(samples))
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight, entropy_weight)
    steps = energy_steps, task_steps
    return together("seal-nce", energy, task, steps=steps, rounds=rounds, gated=gated)


@searched(BOTH_SPACE | {"samples": _SAMPLES, "energy_steps": _STEPS})
def seal_ranking(
    *,
    energy_weight: Weight = 3.0,
    xent_weight: Weight = 1.0,
    samples: Count = 20,
    radius: Weight = 0.0,
    gated: bool = False,
    energy_steps: Count = 2,
    task_steps: Count = 1,
    rounds: Count = 1,
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """SEAL-dynamic, plain ranking against the task-net's samples.

    L_E = -log exp(-E_0) / Σ_k exp(-E_k)   (paper 001, Eq. 10): E learns how p(y|x) differs from
    the task-net, -log p(y|x) + log P(y|x; Φ). On images, with a ``radius``, neighbouring pixels
    of a sample go together: see ``CorrelatedSamples``. ``gated`` is as in ``seal-nce``.
    """
    contrast = Ranking()
    sampler = CorrelatedSamples(samples, radius) if radius else Samples(samples)
    energy = energy_update(energy_optimiser, contrast, sampler)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight)
    steps = energy_steps, task_steps
    return together("seal-ranking", energy, task, steps=steps, rounds=rounds, gated=gated)
