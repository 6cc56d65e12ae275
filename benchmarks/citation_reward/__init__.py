"""A reward for the fields of a citation, as an example of rules in place of a truth."""

from citation_reward.reward import CitationReward

__all__ = ["CitationReward"]
