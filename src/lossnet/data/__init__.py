"""File formats that tasks share: text and tables, ARFF, CoNLL, word vectors."""

from lossnet.data.vectors import WordVectors, read_vectors

__all__ = ["WordVectors", "read_vectors"]
