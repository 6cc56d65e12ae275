"""Structured prediction with a learned loss.

Public names are imported when first used, so that ``import lossnet`` stays quick: it loads
neither torch nor scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lossnet.context import Batch, Context
    from lossnet.learned_loss import LearnedLoss
    from lossnet.method import Method, Optimiser, Phase, Update
    from lossnet.objectives import Compare, Compound, Judge, Part
    from lossnet.recipes import build
    from lossnet.spaces import Binary, Categorical
    from lossnet.tasks.image.segmenter import ImageSegmenter
    from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
    from lossnet.tasks.sequence.tagger import SequenceTagger
    from lossnet.training import Trainer

_HOME = {
    "Batch": "context",
    "Binary": "spaces",
    "Categorical": "spaces",
    "Compare": "objectives",
    "Compound": "objectives",
    "Context": "context",
    "ImageSegmenter": "tasks.image",
    "Judge": "objectives",
    "LearnedLoss": "learned_loss",
    "Method": "method",
    "MultiLabelClassifier": "tasks.multilabel",
    "Optimiser": "method",
    "Part": "objectives",
    "Phase": "method",
    "SequenceTagger": "tasks.sequence",
    "Trainer": "training",
    "Update": "method",
    "build": "recipes",
}
_MODULES = frozenset(
    {
        "contrasts",
        "costs",
        "data",
        "energies",
        "gradients",
        "nets",
        "proposals",
        "recipes",
        "reports",
        "spaces",
        "tasks",
        "terms",
        "training",
    }
)

__all__ = [
    "Batch",
    "Binary",
    "Categorical",
    "Compare",
    "Compound",
    "Context",
    "ImageSegmenter",
    "Judge",
    "LearnedLoss",
    "Method",
    "MultiLabelClassifier",
    "Optimiser",
    "Part",
    "Phase",
    "SequenceTagger",
    "Trainer",
    "Update",
    "__version__",
    "build",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"lossnet.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"lossnet.{name}")
    raise AttributeError(f"module 'lossnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
