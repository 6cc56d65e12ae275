"""Structured prediction with a learned loss.

Public names are imported when first used, so that ``import lossnet`` stays quick: it loads
neither torch nor scikit-learn.
"""

from lossnet._lazy import lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
