"""Every estimator keeps the same contract, on arrays, sentences and images."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger
from lossnet.testing import check_estimator_contract

METHODS = ["cross-entropy", "seal-nce", "dvn"]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("method", METHODS)
def test_labels(method: str) -> None:
    X = RNG.normal(size=(24, 3))
    Y = (X[:, [0, 1, 1]] > 0).astype(int)
    model = MultiLabelClassifier(method, hidden=(8,), max_epochs=2, random_state=0)
    check_estimator_contract(model, X, Y)


@pytest.mark.parametrize("method", METHODS)
def test_sentences(method: str) -> None:
    words = ["the", "cat", "sees", "Ann", "and", "Bob"]
    sentences = [list(RNG.choice(words, size=RNG.integers(1, 6))) for _ in range(20)]
    tags = [["B-PER" if word[0].isupper() else "O" for word in words] for words in sentences]
    model = SequenceTagger(
        method, hidden=8, word_width=8, chars=False, max_epochs=2, random_state=0
    )
    check_estimator_contract(model, sentences, tags)


@pytest.mark.parametrize("method", METHODS[:2])  # a descent on images takes its time
def test_images(method: str) -> None:
    images = RNG.uniform(size=(10, 16, 16, 3)).astype(np.float32)
    masks = (images[..., 0] > 0.5).astype(int)
    model = ImageSegmenter(method, width=4, max_epochs=1, random_state=0)
    check_estimator_contract(model, images, masks)
