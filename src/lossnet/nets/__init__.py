"""Task-nets: any ``nn.Module`` from x to logits; these are the ones the estimators build."""

from lossnet.nets.base import Derivation, Derived, Headed
from lossnet.nets.derived import SharedHead, Stacked
from lossnet.nets.mlp import Dropout, FeatureMLP, LabelHead, LabelMLP

__all__ = [
    "Derivation",
    "Derived",
    "Dropout",
    "FeatureMLP",
    "Headed",
    "LabelHead",
    "LabelMLP",
    "SharedHead",
    "Stacked",
]
