"""Readers for the formats users have, and small built-in data sets.

:func:`load` and :func:`load_splits` take a file, a folder or a built-in name.
"""

from lossnet.data.builtin import BUILTIN
from lossnet.data.dataset import MultiLabelData
from lossnet.data.digits import contradicts, digits_attributes, digits_completion
from lossnet.data.ising import Ising, ising
from lossnet.data.load import load, load_files, load_splits
from lossnet.data.splits import Splits

__all__ = [
    "BUILTIN",
    "Ising",
    "MultiLabelData",
    "Splits",
    "contradicts",
    "digits_attributes",
    "digits_completion",
    "ising",
    "load",
    "load_files",
    "load_splits",
]
