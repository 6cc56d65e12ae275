"""Proposals: where candidate outputs come from, in training and in prediction."""

from lossnet.proposals.gbi import GBI
from lossnet.proposals.minimiser import Minimiser
from lossnet.proposals.net import NetOutput, Perturbed
from lossnet.proposals.plain import Combined, Either, Exact, Random, Target, Zeros
from lossnet.proposals.proposal import Candidates, Proposal
from lossnet.proposals.samples import CorrelatedSamples, RelaxedSamples, Samples

__all__ = [
    "GBI",
    "Candidates",
    "Combined",
    "CorrelatedSamples",
    "Either",
    "Exact",
    "Minimiser",
    "NetOutput",
    "Perturbed",
    "Proposal",
    "Random",
    "RelaxedSamples",
    "Samples",
    "Target",
    "Zeros",
]
