"""Checks of a tagger's settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lossnet.checks import check_choice, check_flag, check_int, check_share, check_weight
from lossnet.data.vectors import WordVectors
from lossnet.errors import SettingError
from lossnet.gradients import Implicit
from lossnet.method import Method
from lossnet.needs import EXACT
from lossnet.ranges import Choice, Dimension, Range
from lossnet.tasks.sequence.features import check_encoder
from lossnet.tasks.sequence.pretraining import GLOBAL_ENERGIES

if TYPE_CHECKING:
    from lossnet.tasks.sequence.tagging import TaggingEstimator

#: What a search tries of a tagger's parameters.
SEARCH_SPACE: dict[str, Dimension] = {
    "batch_size": Choice(8, 16, 32, 64),
    "hidden": Choice(50, 100, 200),
    "dropout": Range(0.0, 0.7),
}
_FLAGS = ("fixed_vectors", "lowercase", "case", "chars", "pretrain_global", "follow_scheme")


def allows_chain(method: Method) -> bool:
    """Whether the method's task-net may be a chain: it has one, and follows it directly.

    An implicit gradient takes the curvature of a loss in the net's logits, which a chain's
    likelihood is no function of.
    """
    implicit = any(isinstance(update.gradient, Implicit) for update in method.updates)
    return bool(method.nets - {"energy"}) and not implicit


def check_tagging(model: TaggingEstimator, method: Method) -> None:
    """Raise on parameters of a tagger that cannot work, before any data is looked at."""
    for name in ("hidden", "word_width", "min_count"):
        check_int(name, getattr(model, name))
    for name in ("dropout", "energy_dropout"):
        if getattr(model, name) is not None:
            check_share(name, getattr(model, name))
    if not isinstance(model.vectors, str | Path | WordVectors | None):
        kind = type(model.vectors).__name__
        raise SettingError(f"vectors is a {kind}; give a file, lossnet.data.WordVectors or None")
    if model.global_energy is not None:
        check_choice("global_energy", model.global_energy, GLOBAL_ENERGIES)
        if method.needs >= EXACT:
            wrong = f"{model.method!r} is exact, which a global energy is not"
            raise SettingError(f"{wrong}; take global_energy=None, or another method")
    for name in ("global_weight", "words_weight"):
        check_weight(name, getattr(model, name))
    for name in _FLAGS:
        check_flag(name, getattr(model, name))
    if model.pretrain_global and model.global_energy is None:
        models = ", ".join(map(repr, GLOBAL_ENERGIES))
        raise SettingError(f"pretrain_global needs a global_energy to train: one of {models}")
    if model.chain is not None:
        check_flag("chain", model.chain)
    if model.chain and not allows_chain(method):
        why = "a task-net, and no implicit gradient"
        raise SettingError(f"chain=True needs {why}; {method.name!r} does not; take chain=None")
    check_encoder(model)
