"""Task-nets: any ``nn.Module`` from x to logits; these are the ones the estimators build."""

from lossnet.nets.mlp import Dropout, FeatureMLP, LabelMLP

__all__ = ["Dropout", "FeatureMLP", "LabelMLP"]
