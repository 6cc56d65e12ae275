"""A small tagger of tokens, and data, that the tests of StructuredTagger share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lossnet import StructuredTagger


def words(**params: Any) -> Any:
    return make_pipeline(DictVectorizer(), LogisticRegression(**params))


def quick(base: Any = None, **params: Any) -> StructuredTagger:
    settings = {"max_epochs": 2, "random_state": 0}
    return StructuredTagger(words() if base is None else base, **{**settings, **params})


def in_pairs() -> tuple[list[Any], list[Any]]:
    """Words of which most tell the tag, and every other tag is the same as the one before."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(40):
        tags = np.repeat(rng.choice(["A", "B", "C"], size=3), 2)[: rng.integers(1, 7)]
        seen = np.where(rng.random(len(tags)) < 0.6, tags, "?")
        X.append([{"word": word} for word in seen.tolist()])
        y.append(tags.tolist())
    return X, y
