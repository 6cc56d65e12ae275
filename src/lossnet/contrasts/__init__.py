"""Contrasts: what the loss-net learns from, by comparing the energies of candidates."""

from lossnet.contrasts.base import Compared, Contrast
from lossnet.contrasts.margin import Margin, Perceptron
from lossnet.contrasts.ranking import NCE, Ranking
from lossnet.contrasts.regression import Regression

__all__ = ["NCE", "Compared", "Contrast", "Margin", "Perceptron", "Ranking", "Regression"]
