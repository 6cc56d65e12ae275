"""What the loss-net is worth on validation rows, for phases that follow it only where it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.method import Phase, Update
from lossnet.precision import Precision
from lossnet.spaces import Space
from lossnet.structure import row_gains
from lossnet.training.predict import over_batches
from lossnet.training.source import Source

#: Samples of the task-net for each row.
_SAMPLES = 20


def held_out_nats(
    meaning: Meaning,
    nets: Mapping[str, nn.Module],
    space: Space,
    source: Source,
    *,
    seed: int = 0,
    precision: Precision = "float32",
) -> float | None:
    """Nats a row that the loss-net knows beyond the task-net, see :mod:`lossnet.structure`.

    It is the mean of the resampled estimate, which is never above log 21. None where no row's truth
    is completely known.
    """

    def gains(context: Context) -> Tensor:
        own = replace(context, shared_noise=False)
        found = row_gains(own, meaning, _SAMPLES, exact=False)[:, 1]
        known = context.batch.known
        return found if known is None else found.where(known.flatten(1).all(1), torch.nan)

    found = over_batches(gains, nets, space, source, seed=seed, precision=precision)
    value = float(found.nanmean())
    return None if value != value else value


def without_energy(phase: Phase) -> tuple[Update, ...]:
    """The phase's updates without the loss-net's opinion, where they have one."""
    found = [
        (update, None if "energy" in update.trained else update.objective.without_energy)
        for update in phase.updates
    ]
    return tuple(replace(update, objective=own) if own else update for update, own in found)
