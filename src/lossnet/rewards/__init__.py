"""Rewards: how good an output is, told by rules in place of a truth."""

from lossnet.rewards.base import Reward, Rewarded, RewardFunction
from lossnet.rewards.citations import CitationReward

__all__ = ["CitationReward", "Reward", "RewardFunction", "Rewarded"]
