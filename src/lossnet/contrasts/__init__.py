"""Contrasts: what the loss-net learns from, by comparing the energies of candidates."""

from lossnet.contrasts.contrast import Compared, Contrast
from lossnet.contrasts.least_squares import LeastSquares
from lossnet.contrasts.margin import Margin, Perceptron
from lossnet.contrasts.meaning import Meaning
from lossnet.contrasts.ranking import NCE, Ranking
from lossnet.contrasts.regression import Regression

__all__ = [
    "NCE",
    "Compared",
    "Contrast",
    "LeastSquares",
    "Margin",
    "Meaning",
    "Perceptron",
    "Ranking",
    "Regression",
]
