"""Objectives: compare the energies of candidates, judge one prediction, or sum such parts."""

from lossnet.objectives.compare import Compare
from lossnet.objectives.compound import Compound, Fold, Part
from lossnet.objectives.judge import Judge
from lossnet.objectives.likelihood import Likelihood
from lossnet.objectives.objective import Objective

__all__ = ["Compare", "Compound", "Fold", "Judge", "Likelihood", "Objective", "Part"]
