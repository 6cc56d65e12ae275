"""Objectives: compare the energies of candidates, judge one prediction, or sum such parts."""

from lossnet.objectives.compare import Compare
from lossnet.objectives.compound import Compound, Part
from lossnet.objectives.judge import Judge
from lossnet.objectives.likelihood import Likelihood

Objective = Compare | Judge | Likelihood | Compound

__all__ = ["Compare", "Compound", "Judge", "Likelihood", "Objective", "Part"]
