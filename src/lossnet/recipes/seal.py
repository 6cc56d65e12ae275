"""SEAL-dynamic: the loss-net and the task-net together.

On every batch, ``energy_steps`` updates of the loss-net on candidates that come from the
task-net, then ``task_steps`` updates of the task-net on
L_F = λ1 link(E(x, F(x))) + λ2 Σ cross-entropy   (paper 000, Eq. 1, 4 and 5).
The recipes differ in the contrast and in the candidates. ``energy_weight`` is λ1 and
``xent_weight`` λ2; λ2 = 0 is the papers' ablation without cross-entropy.
"""

from __future__ import annotations

from typing import Literal

from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.contrasts.base import Contrast
from lossnet.errors import unknown
from lossnet.method import Method, Phase
from lossnet.proposals import CorrelatedSamples, NetOutput, Perturbed, Proposal, Samples
from lossnet.recipes.parts import energy_update, task_update


def _seal(
    name: str,
    contrast: Contrast,
    proposal: Proposal,
    *,
    cost: str = "f1",
    local: bool = False,
    energy_weight: float,
    xent_weight: float,
    entropy_weight: float = 0.0,
    energy_steps: int,
    task_steps: int,
    energy_lr: float,
    task_lr: float,
    weight_decay: float,
) -> Method:
    """SEAL-dynamic: both nets in one phase, the energy first."""
    energy = energy_update(
        contrast,
        proposal,
        cost=cost,
        local=local,
        steps=energy_steps,
        lr=energy_lr,
        weight_decay=weight_decay,
    )
    task = task_update(
        contrast,
        local=local,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        steps=task_steps,
        lr=task_lr,
        weight_decay=weight_decay,
    )
    return Method(name, (Phase((energy, task), name=name),))


def _drawn(candidates: str, samples: int, radius: float) -> Proposal:
    """Discrete samples of the task-net, positions independent or correlated."""
    if candidates not in ("samples", "correlated"):
        raise unknown("kind of candidates", candidates, ["samples", "correlated"])
    return Samples(samples) if candidates == "samples" else CorrelatedSamples(samples, radius)


def seal_margin(
    *,
    energy_weight: float = 0.01,
    xent_weight: float = 1.0,
    cost: str = "f1",
    margin: float = 1.0,
    energy_steps: int = 1,
    task_steps: int = 1,
    energy_lr: float = 1e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-dynamic, margin on the task-net's output (paper 000, Eq. 6).

    L_E = [Δ(F(x), y*) - E(x, F(x)) + E(x, y*)]_+.
    """
    return _seal(
        "seal-margin",
        Margin(margin),
        NetOutput(),
        cost=cost,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        energy_steps=energy_steps,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def seal_regression(
    *,
    energy_weight: float = 1.0,
    xent_weight: float = 1.0,
    cost: str = "f1",
    local: bool = False,
    energy_steps: int = 2,
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-dynamic, regression on the task-net's output (paper 000, Eq. 7).

    L_E = cross-entropy between s(F(x), y*) and σ(-E(x, F(x))); the task-net maximises σ(-E).
    With ``local``, for energies that are a mean over positions, both are of every position by
    itself, s being 1 - its error.
    """
    return _seal(
        "seal-regression",
        Regression(),
        NetOutput(),
        cost=cost,
        local=local,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        energy_steps=energy_steps,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def seal_regression_s(
    *,
    energy_weight: float = 3.0,
    xent_weight: float = 1.0,
    cost: str = "f1",
    local: bool = False,
    candidates: Literal["perturbed", "samples", "correlated"] = "perturbed",
    samples: int = 10,
    std: float = 1.0,
    radius: float = 2.0,
    energy_steps: int = 2,
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-dynamic, regression on several candidates around the task-net's output.

    Σ over the candidates of L_E-regression (paper 000, section 2.3): the output and copies with
    Gaussian noise on the logits, or with ``candidates="samples"`` discrete samples; on images
    with ``"correlated"`` samples whose neighbouring pixels go together, within about ``radius``.
    ``local`` is as in :func:`seal_regression`.
    """
    if candidates not in ("perturbed", "samples", "correlated"):
        raise unknown("kind of candidates", candidates, ["perturbed", "samples", "correlated"])
    proposal: Proposal = Perturbed(samples, std)
    if candidates != "perturbed":
        proposal = _drawn(candidates, samples, radius)
    return _seal(
        "seal-regression-s",
        Regression(),
        proposal,
        cost=cost,
        local=local,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        energy_steps=energy_steps,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def seal_nce(
    *,
    energy_weight: float = 1.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 1.0,
    samples: int = 20,
    energy_steps: int = 2,
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-dynamic, noise-contrastive ranking against the task-net's samples.

    L_E = -log exp(s_0) / Σ_k exp(s_k), s = -E(x, y) - Σ_i log P(y_i|x; Φ)   (paper 000, Eq. 8
    and 9): E learns -log p(y|x).

    ``entropy_weight`` is not in the paper: λ1 E less as much of the output's entropy
    stands for λ1 KL(F(x) || p), which keeps the output's probabilities useful; 0 gives the
    paper's loss, which drives the output towards the most probable label set.
    """
    return _seal(
        "seal-nce",
        NCE(),
        Samples(samples),
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        energy_steps=energy_steps,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def seal_ranking(
    *,
    energy_weight: float = 3.0,
    xent_weight: float = 1.0,
    candidates: Literal["samples", "correlated"] = "samples",
    samples: int = 20,
    radius: float = 2.0,
    energy_steps: int = 2,
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-dynamic, plain ranking against the task-net's samples.

    L_E = -log exp(-E_0) / Σ_k exp(-E_k)   (paper 001, Eq. 10): E learns how p(y|x) differs from
    the task-net, -log p(y|x) + log P(y|x; Φ). ``candidates`` and ``radius`` as in
    ``seal-regression-s``.
    """
    return _seal(
        "seal-ranking",
        Ranking(),
        _drawn(candidates, samples, radius),
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        energy_steps=energy_steps,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )
