"""Contracts: what every energy, proposal, contrast and estimator must keep, for tests of your own.

Each ``check_*`` function raises an :class:`AssertionError` that says what is broken. They are
what this package's own parts and estimators are tested with. :func:`write_tiny_encoder` and
:func:`tiny_news` are for tests that need an encoder and texts.
"""

from lossnet.testing.components import check_contrast, check_energy, check_proposal
from lossnet.testing.encoders import write_tiny_encoder
from lossnet.testing.estimators import check_estimator_contract
from lossnet.testing.news import tiny_news

__all__ = [
    "check_contrast",
    "check_energy",
    "check_estimator_contract",
    "check_proposal",
    "tiny_news",
    "write_tiny_encoder",
]
