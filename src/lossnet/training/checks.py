"""Whether a method can be trained as asked; checked before training starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from torch import Tensor

from lossnet.errors import SettingError, TrainingError
from lossnet.method import Method, Update
from lossnet.precision import Precision
from lossnet.training.source import Source


def check_rows(method: Method, sources: Mapping[str, Source | None], *, validated: bool) -> None:
    """Raise where a phase lacks the rows it trains on or, if ``validated``, monitors."""
    for phase in method.phases:
        if phase.gated and method.meaning.joint is None:
            rule = "is gated, which takes a loss-net that gives probabilities, as NCE does"
            raise SettingError(f"phase {phase.name!r} {rule}; take gated=False")
        if phase.monitor == "loss" and validated and sources["validation"] is None:
            raise SettingError(f"phase {phase.name!r} monitors its loss: it needs validation rows")
        for rows in (phase.rows, "unlabelled" if phase.uses_unlabelled else phase.rows):
            if sources[rows] is None:
                raise SettingError(
                    f"phase {phase.name!r} trains on {rows} rows, and none are given"
                )


def check_gradients(method: Method, accumulate: int, precision: Precision) -> None:
    """Raise where a method's gradients cannot be found piece by piece, or in that precision."""
    for update in method.updates:
        if precision != "float32" and update.gradient.needs_float32:
            raise SettingError(
                f"precision must be 'float32' for {method.name} with product='finite-differences', "
                f"got {precision!r}: they would be lost in rounding; take product='double-backward'"
            )
        if accumulate > 1 and not update.gradient.in_pieces:
            raise SettingError(
                f"accumulate must be 1 for {method.name}, got {accumulate}: the "
                f"{type(update.gradient).__name__.lower()} gradient of {update.name!r} is that of "
                "a complete batch; lower batch_size instead"
            )


def check_finite(
    updates: Sequence[Update], parameters: Iterable[Sequence[Tensor]], where: str
) -> None:
    """Raise on weights that an infinite gradient of a finite loss made non-finite.

    The next batch's loss would show it, but a checkpoint may be written before.
    """
    for update, weights in zip(updates, parameters, strict=True):
        # A sum is finite only where every weight is, and takes one quick pass.
        if not all(math.isfinite(weight.sum().item()) for weight in weights):
            raise TrainingError(
                f"the {update.name!r} update left weights that are not finite {where}; lower its "
                "learning rate, or set a gradient clip. The last good checkpoint is kept"
            )
