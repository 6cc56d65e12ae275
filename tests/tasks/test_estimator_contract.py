"""Every estimator keeps the same contract, on arrays, sentences, images and on its task's data."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger
from lossnet.tasks.image import ImageData
from lossnet.tasks.multilabel import MultiLabelData
from lossnet.tasks.sequence import SequenceData
from lossnet.testing import check_estimator_contract

METHODS = ["cross-entropy", "seal-nce", "dvn"]
RNG = np.random.default_rng(0)

X = RNG.normal(size=(24, 3))
Y = (X[:, [0, 1, 1]] > 0).astype(int)
WORDS = ["the", "cat", "sees", "Ann", "and", "Bob"]
SENTENCES = [list(RNG.choice(WORDS, size=RNG.integers(1, 6))) for _ in range(20)]
TAGS = [["B-PER" if word[0].isupper() else "O" for word in words] for words in SENTENCES]
IMAGES = RNG.uniform(size=(10, 16, 16, 3)).astype(np.float32)
MASKS = (IMAGES[..., 0] > 0.5).astype(int)


def classifier(method: str) -> MultiLabelClassifier:
    return MultiLabelClassifier(method, hidden=(8,), max_epochs=2, random_state=0)


def tagger(method: str) -> SequenceTagger:
    return SequenceTagger(method, hidden=8, word_width=8, chars=False, max_epochs=2, random_state=0)


def segmenter(method: str) -> ImageSegmenter:
    return ImageSegmenter(method, width=4, max_epochs=1, random_state=0)


@pytest.mark.parametrize("method", METHODS)
def test_labels(method: str) -> None:
    check_estimator_contract(classifier(method), X, Y)


@pytest.mark.parametrize("method", METHODS)
def test_sentences(method: str) -> None:
    check_estimator_contract(tagger(method), SENTENCES, TAGS)


@pytest.mark.parametrize("method", METHODS[:2])  # a descent on images takes its time
def test_images(method: str) -> None:
    check_estimator_contract(segmenter(method), IMAGES, MASKS)


def test_data() -> None:
    check_estimator_contract(classifier("cross-entropy"), MultiLabelData(X, Y))
    check_estimator_contract(tagger("cross-entropy"), SequenceData(SENTENCES, TAGS))
    check_estimator_contract(segmenter("cross-entropy"), ImageData(IMAGES, MASKS))
