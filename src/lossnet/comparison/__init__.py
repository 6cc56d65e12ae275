"""Methods and outside baselines compared on the same data: measured, stored, reported."""

from lossnet._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
