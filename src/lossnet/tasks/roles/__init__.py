"""Sentences with the roles of each predicate."""

from lossnet._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
