"""Texts with a set of labels each."""

from lossnet._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
