"""Fits that continue where an earlier process was killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lossnet.errors import LossnetError
from lossnet.tasks.parts import Parts
from lossnet.training import Callback


def fit_or_continue(
    model: Any, parts: Parts[Any], checkpoint: Path, callbacks: Sequence[Callback] = ()
) -> None:
    """Fit an estimator, from its checkpoint if there is one; a damaged one is removed."""
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"validation_data": parts.validation, "checkpoint": checkpoint}
    given["callbacks"] = callbacks
    if checkpoint.exists():
        try:
            model.fit(parts.train, **given, resume_from_checkpoint=True)
        except LossnetError:
            checkpoint.unlink()
    if not hasattr(model, "nets_"):
        model.fit(parts.train, **given)
