"""Task-nets: any ``nn.Module`` from x to logits; these are the ones the estimators build."""

from lossnet.nets.base import Derivation, Derived, Headed, JointNet, SharedFeatures, WithFeatures
from lossnet.nets.chain import ChainTagger
from lossnet.nets.convolution import FCN, FCNFeatures, FCNHead
from lossnet.nets.derived import SharedHead, Stacked
from lossnet.nets.forest import Forest
from lossnet.nets.members import HeldOut, LabelMLPs
from lossnet.nets.mlp import Dropout, FeatureMLP, LabelHead, LabelMLP
from lossnet.nets.recurrent import BiLSTM, CharacterCNN, EncoderFeatures, Tagger, TokenFeatures
from lossnet.nets.tokens import Tokens
from lossnet.nets.unet import UNet, UNetFeatures
from lossnet.nets.wide import WideLinear
from lossnet.nets.words import WordTable

__all__ = [
    "FCN",
    "BiLSTM",
    "ChainTagger",
    "CharacterCNN",
    "Derivation",
    "Derived",
    "Dropout",
    "EncoderFeatures",
    "FCNFeatures",
    "FCNHead",
    "FeatureMLP",
    "Forest",
    "Headed",
    "HeldOut",
    "JointNet",
    "LabelHead",
    "LabelMLP",
    "LabelMLPs",
    "SharedFeatures",
    "SharedHead",
    "Stacked",
    "Tagger",
    "TokenFeatures",
    "Tokens",
    "UNet",
    "UNetFeatures",
    "WideLinear",
    "WithFeatures",
    "WordTable",
]
