"""Energy networks (loss-nets): they see input and output together."""

from lossnet.energies.base import Energy
from lossnet.energies.label import LabelEnergy

__all__ = ["Energy", "LabelEnergy"]
