"""Losses on the task-net alone: cross-entropy, with a constraint, and the ranking loss."""

from __future__ import annotations

from lossnet.contrasts import Ranking
from lossnet.method import Method, Optimiser, Update
from lossnet.objectives import Compare, Judge
from lossnet.parameters import Count, Weight
from lossnet.proposals import Samples
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.parts import TASK_SPACE, task_update, together
from lossnet.terms import ConstraintTerm, CrossEntropy, Weighted


@searched(TASK_SPACE)
def cross_entropy(*, task_optimiser: Optimiser = Optimiser(2e-3, plateau=5)) -> Method:
    """Cross-entropy on every output by itself: the baseline.

    L_F = Σ_i BCE(y_i, F(x)_i)   (paper 000, Eq. 1 with λ1 = 0).
    """
    return together("cross-entropy", task_update(task_optimiser))


@searched(TASK_SPACE | {"constraint_weight": Around(5)})
def structured_tuning(
    *,
    constraint_weight: Weight = 1.0,
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """Cross-entropy and a term for the violations of a known constraint; no loss-net.

    L_F = Σ_i cross-entropy of y_i + λ times the expected violations of F(x), after the structured
    tuning of Li et al. (2020), a row of paper 000, section 4.3. They relax the constraint with
    t-norms (see :class:`~lossnet.constraints.UniqueSpans`), and in paper 000 the net has a CRF
    layer; here it has none.
    """
    terms = Weighted(1.0, CrossEntropy()), Weighted(constraint_weight, ConstraintTerm())
    return together("structured-tuning", Update("task", Judge(terms), optimiser=task_optimiser))


@searched(TASK_SPACE | {"samples": Range(5, 80, log=True)})
def task_ranking(*, samples: Count = 20, task_optimiser: Optimiser = Optimiser(2e-3)) -> Method:
    """Ablation: the ranking loss on the task-net itself, no loss-net.

    -log P(y|x) / Σ_k P(y_k|x) with y_k drawn from the task-net (paper 000, section 5: Eq. 8
    with s = Σ_i log P(y_i|x)).
    """
    ranking = Compare(Ranking(), Samples(samples), energy="task")
    return together("task-ranking", Update("task", ranking, optimiser=task_optimiser))
