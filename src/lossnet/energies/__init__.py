"""Energy networks (loss-nets): they see input and output together."""

from lossnet.energies.attention import TagAttention
from lossnet.energies.chain import ChainEnergy
from lossnet.energies.convolution import ConvolutionalCritic, ScoreMap
from lossnet.energies.energy import Energy
from lossnet.energies.label import LabelEnergy
from lossnet.energies.pairs import TagPairs
from lossnet.energies.tag import TagEnergy
from lossnet.energies.tag_language import TagLanguageModel
from lossnet.energies.total import TotalEnergy

__all__ = [
    "ChainEnergy",
    "ConvolutionalCritic",
    "Energy",
    "LabelEnergy",
    "ScoreMap",
    "TagAttention",
    "TagEnergy",
    "TagLanguageModel",
    "TagPairs",
    "TotalEnergy",
]
