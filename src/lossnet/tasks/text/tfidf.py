"""The built-in encoder: texts as TF-IDF rows, which needs no download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from lossnet.errors import DataError
from lossnet.files import check_form
from lossnet.tasks.model_folder import VOCABULARY
from lossnet.tasks.standardiser import vector

#: Length of a row: with rows of length 1 the nets start out all but blind to their input.
LENGTH = 20.0
#: What :meth:`Tfidf.facts` gives.
_FORM = {"terms": [str], "longest": int}


class Tfidf:
    """Words and runs of words, weighed by how few texts have them.

    A value is (1 + log tf) (1 + log((1 + n) / (1 + df))), tf times in the text and in df of the n
    texts of training; rows have one length. Words are in lower case, of two characters or more.

    Args:
        terms: what the columns count, in their order.
        idf: the second factor of each column.
        longest: most words of a term.
    """

    def __init__(self, terms: Sequence[str], idf: np.ndarray, longest: int) -> None:
        self.terms, self.idf, self.longest = list(terms), idf, longest

    @classmethod
    def learn(cls, texts: Sequence[str], *, longest: int, least: int, most: int) -> Self:
        """The encoder of these texts.

        Args:
            texts: those to train on.
            longest: most words of a term.
            least: texts that a term must occur in.
            most: number of terms, those that occur most often.
        """
        found = _vectoriser(longest, min_df=min(least, len(texts)), max_features=most)
        try:
            found.fit(texts)
        except ValueError as error:
            remedy = "give texts with words, or lower min_count"
            raise DataError(f"no word occurs in {least} of the texts; {remedy}") from error
        return cls(found.get_feature_names_out().tolist(), found.idf_, longest)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.terms)

    def rows(self, texts: Sequence[str]) -> Any:
        """A CSR matrix ``(n, width)`` of float32."""
        made = _vectoriser(self.longest, vocabulary=self.terms)
        made.idf_ = self.idf
        return made.transform(texts) * np.float32(LENGTH)

    def tensors(self) -> dict[str, Tensor]:
        """What a model folder holds of it besides :meth:`facts`."""
        return {"tfidf/idf": torch.as_tensor(self.idf)}

    def facts(self) -> dict[str, Any]:
        """The terms, for ``vocabulary.json``."""
        return {"terms": self.terms, "longest": self.longest}

    @classmethod
    def restore(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Self:
        """The encoder that :meth:`tensors` and :meth:`facts` describe."""
        check_form(facts, _FORM, VOCABULARY)
        terms = facts["terms"]
        if len(set(terms)) < len(terms):
            raise DataError(f"{VOCABULARY} lists a term twice")
        return cls(terms, vector(tensors, "tfidf/idf", len(terms)), facts["longest"])


def _vectoriser(longest: int, **options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    options |= {"ngram_range": (1, longest), "sublinear_tf": True, "dtype": np.float32}
    return TfidfVectorizer(**options)
