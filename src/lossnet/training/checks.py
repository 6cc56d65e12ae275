"""Whether a method can be trained as asked; checked before training starts."""

from __future__ import annotations

from collections.abc import Mapping

from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.precision import Precision
from lossnet.training.source import Source


def check_rows(method: Method, sources: Mapping[str, Source | None], *, validated: bool) -> None:
    """Raise where a phase lacks the rows it trains on or, if ``validated``, monitors."""
    for phase in method.phases:
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
