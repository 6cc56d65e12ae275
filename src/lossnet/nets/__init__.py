"""Task-nets: any ``nn.Module`` from x to logits; these are the ones the estimators build."""

from lossnet.nets.base import Derivation, Derived, Headed
from lossnet.nets.derived import SharedHead, Stacked
from lossnet.nets.mlp import Dropout, FeatureMLP, LabelHead, LabelMLP
from lossnet.nets.recurrent import BiLSTM, CharacterCNN, Tagger, TokenFeatures
from lossnet.nets.tokens import Tokens
from lossnet.nets.words import WordTable

__all__ = [
    "BiLSTM",
    "CharacterCNN",
    "Derivation",
    "Derived",
    "Dropout",
    "FeatureMLP",
    "Headed",
    "LabelHead",
    "LabelMLP",
    "SharedHead",
    "Stacked",
    "Tagger",
    "TokenFeatures",
    "Tokens",
    "WordTable",
]
