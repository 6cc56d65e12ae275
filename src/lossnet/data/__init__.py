"""Readers for the formats users have, and small built-in data sets.

:func:`load` and :func:`load_splits` take a file, a folder or a built-in name;
:func:`load_sequences` and :func:`load_sequence_splits` read tagged sentences,
:func:`load_images` and :func:`load_image_splits` images and their masks, and
:func:`read_vectors` word vectors.
"""

from lossnet.data.builtin import BUILTIN
from lossnet.data.conll import ConllFormat, read_conll, write_conll
from lossnet.data.cora import read_references, tokenise_reference
from lossnet.data.dataset import MultiLabelData
from lossnet.data.digits import contradicts, digits_attributes, digits_completion
from lossnet.data.image_folders import ImageSplits, load_image_splits, load_images
from lossnet.data.images import ImageData
from lossnet.data.ising import Ising, ising
from lossnet.data.load import load, load_files, load_splits
from lossnet.data.pictures import DamagedImageWarning, MissingPillowError, write_masks
from lossnet.data.sequence_folders import SequenceSplits, load_sequence_splits, load_sequences
from lossnet.data.sequences import SequenceData
from lossnet.data.splits import Splits
from lossnet.data.tags import Span, detect_scheme, from_spans, spans, to_scheme
from lossnet.data.vectors import WordVectors, read_vectors

__all__ = [
    "BUILTIN",
    "ConllFormat",
    "DamagedImageWarning",
    "ImageData",
    "ImageSplits",
    "Ising",
    "MissingPillowError",
    "MultiLabelData",
    "SequenceData",
    "SequenceSplits",
    "Span",
    "Splits",
    "WordVectors",
    "contradicts",
    "detect_scheme",
    "digits_attributes",
    "digits_completion",
    "from_spans",
    "ising",
    "load",
    "load_files",
    "load_image_splits",
    "load_images",
    "load_sequence_splits",
    "load_sequences",
    "load_splits",
    "read_conll",
    "read_references",
    "read_vectors",
    "spans",
    "to_scheme",
    "tokenise_reference",
    "write_conll",
    "write_masks",
]
