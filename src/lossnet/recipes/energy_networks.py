"""Energy networks that predict by gradient-based inference: SPEN, DVN and NCE."""

from __future__ import annotations

from typing import Literal

from lossnet.contrasts import NCE, Margin, Regression
from lossnet.costs import get_cost
from lossnet.errors import unknown
from lossnet.gradients import Unrolled
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Judge
from lossnet.proposals import GBI, NetOutput, Random, Samples, Several, Target, Zeros
from lossnet.recipes.parts import energy_update, task_update
from lossnet.terms import CrossEntropy, Weighted


def pretrain(net: str, *, lr: float, weight_decay: float) -> Phase:
    """A net trained with cross-entropy, to start inference from or to draw noise from."""
    update = task_update(lr=lr, weight_decay=weight_decay, net=net)
    return Phase((update,), predict=NetOutput(net), name=f"pretrain {net}")


def spen(
    *,
    cost: str = "f1",
    margin: float = 1.0,
    gbi_steps: int = 20,
    gbi_lr: float = 0.01,
    energy_lr: float = 1e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SPEN: margin on cost-augmented inference, started from a pretrained net.

    L_E = max_y [Δ(y, y*) - E(x, y) + E(x, y*)]_+   (paper 000, Eq. 6), the maximum found by
    descending on E - Δ; predicts by descending on E.
    """
    phases = spen_phases(
        "task",
        cost=cost,
        margin=margin,
        gbi_steps=gbi_steps,
        gbi_lr=gbi_lr,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )
    return Method("spen", phases, predict=phases[-1].predict)


def spen_phases(
    net: str,
    *,
    cost: str,
    margin: float,
    gbi_steps: int,
    gbi_lr: float,
    energy_lr: float,
    task_lr: float,
    weight_decay: float,
) -> tuple[Phase, ...]:
    """The two phases of SPEN, inference starting from the net of that name."""
    start = NetOutput(net)
    worst = GBI(gbi_steps, gbi_lr, start=start, cost=get_cost(cost))
    update = energy_update(
        Margin(margin), worst, cost=cost, lr=energy_lr, weight_decay=weight_decay
    )
    return (
        pretrain(net, lr=task_lr, weight_decay=weight_decay),
        Phase((update,), predict=GBI(gbi_steps, gbi_lr, start=start), name="spen"),
    )


def spen_e2e(
    *,
    gbi_steps: int = 5,
    gbi_lr: float = 1.0,
    energy_lr: float = 5e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SPEN trained end to end: cross-entropy of the unrolled inference's result.

    y_T = the T-th entropic step on E from a pretrained net's output, L = xent(y_T, y*), and the
    gradient runs through all T steps (Belanger et al., 2017).
    """
    inference = GBI(gbi_steps, gbi_lr, step="entropic", adam=False, start=NetOutput(), keep="last")
    update = Update(
        "energy",
        Judge((Weighted(1.0, CrossEntropy()),), inference),
        optimiser=Optimiser(lr=energy_lr, weight_decay=weight_decay),
        gradient=Unrolled(),
    )
    phases = (
        pretrain("task", lr=task_lr, weight_decay=weight_decay),
        Phase((update,), predict=inference, name="spen-e2e"),
    )
    return Method("spen-e2e", phases, predict=inference)


def dvn(
    *,
    cost: str = "f1",
    gbi_steps: int = 20,
    predict_steps: int = 30,
    gbi_lr: float = 0.05,
    energy_lr: float = 2e-3,
    weight_decay: float = 6e-2,
) -> Method:
    """DVN: the energy regresses the quality of inferred, adversarial and true outputs.

    L_E of paper 000, Eq. 7, on three candidates: the output of lowest energy, the one of
    highest L_E, and the truth; predicts by descending on E from zeros.
    """
    phase = dvn_phase(
        cost=cost,
        gbi_steps=gbi_steps,
        predict_steps=predict_steps,
        gbi_lr=gbi_lr,
        energy_lr=energy_lr,
        weight_decay=weight_decay,
    )
    return Method("dvn", (phase,), predict=phase.predict)


def dvn_phase(
    *,
    cost: str,
    gbi_steps: int,
    predict_steps: int,
    gbi_lr: float,
    energy_lr: float,
    weight_decay: float,
) -> Phase:
    """The one phase of DVN."""
    contrast, start = Regression(), Zeros()
    inferred = GBI(gbi_steps, gbi_lr, start=start)
    adversarial = GBI(gbi_steps, gbi_lr, start=start, cost=get_cost(cost), contrast=contrast)
    update = energy_update(
        contrast,
        Several((inferred, adversarial, Target())),
        cost=cost,
        lr=energy_lr,
        weight_decay=weight_decay,
    )
    return Phase((update,), predict=GBI(predict_steps, gbi_lr, start=start), name="dvn")


def nce_energy(
    *,
    samples: int = 80,
    gbi_steps: int = 20,
    gbi_lr: float = 0.1,
    start: Literal["net", "random"] = "net",
    energy_lr: float = 5e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """NCE energy network: noise-contrastive ranking against a fixed, pretrained net.

    L_E of paper 000, Eq. 8, with P_N the pretrained net; predicts by descending on E from that
    net's output, or from three random points as the public code does.
    """
    if start not in ("net", "random"):
        raise unknown("start", start, ["net", "random"])
    phases = nce_phases(
        "task",
        samples=samples,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )
    first = Random(3) if start == "random" else NetOutput()
    return Method("nce-energy", phases, predict=GBI(gbi_steps, gbi_lr, start=first))


def nce_phases(
    net: str, *, samples: int, energy_lr: float, task_lr: float, weight_decay: float
) -> tuple[Phase, ...]:
    """Pretrain the noise net, then the energy against its samples.

    The energy phase watches its own validation loss: an energy that is poor at prediction may
    still be a good loss (paper 000, section 4.1).
    """
    update = energy_update(NCE(), Samples(samples, net), lr=energy_lr, weight_decay=weight_decay)
    return (
        pretrain(net, lr=task_lr, weight_decay=weight_decay),
        Phase((update,), predict=NetOutput(net), monitor="loss", name="nce-energy"),
    )
