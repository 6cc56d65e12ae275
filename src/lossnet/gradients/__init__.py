"""Gradient rules: how an update's gradient is found."""

from lossnet.gradients.base import GradientRule
from lossnet.gradients.rules import Direct, Unrolled

__all__ = ["Direct", "GradientRule", "Unrolled"]
