"""Random splits keep documents together, and leave no tag to validation alone."""

import numpy as np
import pytest

from lossnet import SequenceTagger
from lossnet.errors import DataError
from lossnet.tasks.parts import Parts, cut_rows, divide
from lossnet.tasks.sequence import SequenceData


def sentences(sizes: list[int]) -> SequenceData:
    documents = [number for number, size in enumerate(sizes) for _ in range(size)]
    tokens = [[f"w{k}", "x"] for k in range(len(documents))]
    return SequenceData(tokens, [["A", "B"]] * len(tokens), documents=documents)


@pytest.mark.parametrize("seed", range(5))
def test_documents_stay_together(seed) -> None:
    data = sentences([3, 7, 1, 4, 9, 2, 6, 5, 8, 5])
    parts = [set(part.documents) for _, part in divide(data, seed=seed).items()]
    assert len(parts) == 3
    assert len(set.union(*parts)) == sum(map(len, parts)) == 10
    cut = Parts(data).with_validation(seed=seed)
    assert not set(cut.train.documents) & set(cut.validation.documents)
    model = SequenceTagger(validation_fraction=0.2)
    train, held, _ = model._split(data, None, seed)
    assert not set(train.documents) & set(held.documents)


def test_sizes_come_near_and_nothing_is_lost() -> None:
    documents = np.repeat(np.arange(100), np.random.default_rng(0).integers(1, 20, 100))
    rows = cut_rows(len(documents), [0.2, 0.2], 0, documents.tolist())
    assert sorted(np.concatenate(rows)) == list(range(len(documents)))
    for part in rows[1:]:
        assert abs(len(part) / len(documents) - 0.2) < 0.02


def test_too_few_documents_are_divided() -> None:
    data = sentences([10, 10])
    plain = SequenceData(data.tokens, data.tags)
    for (_, part), (_, other) in zip(divide(data).items(), divide(plain).items(), strict=True):
        assert part.tokens == other.tokens


@pytest.mark.parametrize("seed", range(5))
def test_a_rare_tag_is_trained_not_only_validated(seed) -> None:
    data = sentences([2] * 10)
    for row in range(20):
        tags = [list(row) for row in data.tags]
        tags[row][0] = "RARE"
        marked = SequenceData(data.tokens, tags, documents=data.documents)
        splits = divide(marked, seed=seed)
        assert set(splits.validation.tag_names) <= set(splits.train.tag_names)
        assert not set(splits.train.documents) & set(splits.validation.documents)
        assert sum(len(part) for _, part in splits.items()) == 20
        train, held, _ = SequenceTagger(validation_fraction=0.3)._split(marked, None, seed)
        assert set(held.tag_names) <= set(train.tag_names)


def test_unseen_validation_tags_are_an_error() -> None:
    tagger = SequenceTagger("cross-entropy", hidden=4, max_epochs=1)
    words = [["a", "b"]] * 4
    with pytest.raises(DataError, match="tags absent from the training data: 'C', 'D'; correct"):
        tagger.fit(words, [["A", "B"]] * 4, validation_data=(words[:1], [["C", "D"]]))
