"""Cross-entropy, and the ranking loss on the task-net itself."""

from __future__ import annotations

from lossnet.contrasts import Ranking
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Compare
from lossnet.proposals import Samples
from lossnet.recipes.parts import task_update


def cross_entropy(*, task_lr: float = 2e-3, weight_decay: float = 1e-5) -> Method:
    """Cross-entropy on every output by itself: the baseline.

    L_F = Σ_i BCE(y_i, F(x)_i)   (paper 000, Eq. 1 with λ1 = 0).
    """
    update = task_update(lr=task_lr, weight_decay=weight_decay)
    return Method("cross-entropy", (Phase((update,), name="cross-entropy"),))


def task_ranking(*, samples: int = 20, task_lr: float = 2e-3, weight_decay: float = 1e-5) -> Method:
    """Ablation: the ranking loss on the task-net itself, no loss-net.

    -log P(y|x) / Σ_k P(y_k|x) with y_k drawn from the task-net (paper 000, section 5: Eq. 8
    with s = Σ_i log P(y_i|x)).
    """
    update = Update(
        "task",
        Compare(Ranking(), Samples(samples), energy="task"),
        optimiser=Optimiser(lr=task_lr, weight_decay=weight_decay),
    )
    return Method("task-ranking", (Phase((update,), name="task-ranking"),))
