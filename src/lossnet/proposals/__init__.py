"""Proposals: where candidate outputs come from, in training and in prediction."""

from lossnet.proposals.base import Candidates, Proposal
from lossnet.proposals.gbi import GBI
from lossnet.proposals.net import NetOutput, Perturbed, Samples
from lossnet.proposals.plain import Exact, Random, Several, Target, Zeros

__all__ = [
    "GBI",
    "Candidates",
    "Exact",
    "NetOutput",
    "Perturbed",
    "Proposal",
    "Random",
    "Samples",
    "Several",
    "Target",
    "Zeros",
]
