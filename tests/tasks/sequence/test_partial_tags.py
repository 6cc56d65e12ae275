"""None among the tags: tokens whose tag is not known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lossnet import SequenceTagger
from lossnet.context import Context
from lossnet.errors import DataError, SettingError
from lossnet.objectives import Judge
from lossnet.spaces import Categorical
from lossnet.tasks.roles.predicates import RoleData
from lossnet.tasks.sequence import SequenceData, span_scores, token_accuracy
from lossnet.tasks.sequence.conll import conll_blocks
from lossnet.tasks.sequence.inputs import scheme_of
from lossnet.terms import CrossEntropy, Weighted

WORDS = [["the", "dog", "runs"], ["dogs", "run"], ["a", "cat", "sleeps", "long"]] * 8
TAGS = [["D", "N", "V"], ["N", "V"], ["D", "N", "V", "A"]] * 8


FAST = {"method_params": {"task_optimiser": {"lr": 0.02}}}


def partial(seed: int = 0) -> list[list[str | None]]:
    rng = np.random.default_rng(seed)
    found = [[None if rng.random() < 0.3 else tag for tag in tags] for tags in TAGS]
    found[0] = [None] * 3
    return found


def tagger(method: str = "cross-entropy", **params) -> SequenceTagger:
    quick = {"hidden": 8, "chars": False, "max_epochs": 2, "random_state": 0, "min_count": 1}
    return SequenceTagger(method, **{**quick, **params})


def test_metrics_count_known_tokens() -> None:
    true = [["B-X", "I-X", None, "I-X", "O"], [None, "B-Y"]]
    guess = [["B-X", "I-X", "I-X", "I-X", "B-Y"], ["O", "B-Y"]]
    assert token_accuracy(true, guess) == 4 / 5
    found = span_scores(true, guess)
    # Cut where a tag is not known: X at 0-2 and 3-4, Y in the second sentence; one Y too many.
    assert (found.true, found.predicted, found.correct) == (3, 4, 3)
    cut = [["B-X", "I-X"], ["I-X", "O"], ["B-Y"]], [["B-X", "I-X"], ["I-X", "B-Y"], ["B-Y"]]
    assert span_scores(*cut).overall == found.overall
    with pytest.raises(DataError, match="no known tags"):
        token_accuracy([[None]], [["N"]])


def test_data_with_unknown_tags() -> None:
    data = SequenceData(WORDS, partial())
    assert data.tag_names == ["A", "D", "N", "V"]
    assert data.n_unknown == sum(tags.count(None) for tags in partial())
    assert SequenceData(WORDS, TAGS).known is None
    with_nan = [[float("nan") if tag is None else tag for tag in tags] for tags in partial()]
    assert SequenceData(WORDS, with_nan).tags == data.tags
    assert data.checksum() != SequenceData(WORDS, TAGS).checksum()
    with pytest.raises(DataError, match="which CoNLL cannot say"):
        conll_blocks(data)
    spans = SequenceData([["a", "b", "c"]] * 2, [["B-X", None, "O"], ["B-X", "I-X", "E-X"]])
    assert scheme_of(spans) == "BIOES"
    with pytest.raises(DataError, match="is None; expected a non-empty string"):
        RoleData.of([["dogs", "bark"]], [1], [[None, "B-V"]])
    with pytest.raises(DataError, match="is None; expected a non-empty string"):
        SequenceData([["a", None]])


def test_the_loss_is_that_of_known_tokens() -> None:
    model = tagger(chain=False, validation_fraction=0.0).fit(WORDS, partial())
    source = model._source(SequenceData(WORDS, partial()))
    batch = source.batch(torch.arange(1, 7))
    context = Context(model.nets_, batch, Categorical())
    losses = Judge((Weighted(1.0, CrossEntropy()),))(context)
    logits = context.logits()
    for b, row in enumerate(range(1, 7)):
        own = [(t, tag) for t, tag in enumerate(partial()[row]) if tag is not None]
        each = [
            F.cross_entropy(logits[b, t], torch.tensor(model.tags_.index(tag))) for t, tag in own
        ]
        assert float(losses[b]) == pytest.approx(float(sum(each)), rel=1e-5)


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "infnet-plus", "infnet", "alen"])
def test_taggers_learn_from_known_tags(method) -> None:
    model = tagger(method, max_epochs=3).fit(WORDS, partial())
    assert [len(tags) for tags in model.predict(WORDS)] == [len(words) for words in WORDS]
    assert 0.0 <= model.score(WORDS, partial()) <= 1.0
    whole = WORDS[1:], partial()[1:]
    assert model.score(*whole) == model.score(WORDS, partial())


def test_sentences_of_which_nothing_is_known_contribute_nothing() -> None:
    one = tagger(validation_fraction=0.0).fit(WORDS, partial())
    kept = [k for k, tags in enumerate(partial()) if any(tags)]
    given = [WORDS[k] for k in kept], [partial()[k] for k in kept]
    other = tagger(validation_fraction=0.0).fit(*given)
    for key, value in other.nets_["task"].state_dict().items():
        assert torch.equal(one.nets_["task"].state_dict()[key], value)


def test_a_tagger_that_knows_half_of_the_tags() -> None:
    model = tagger(max_epochs=30, batch_size=4, dropout=0.0, validation_fraction=0.0, **FAST)
    model.fit(WORDS, partial())
    assert token_accuracy(TAGS, model.predict(WORDS)) > 0.9
    model.calibrate(WORDS, partial())
    assert model.temperature_ > 0


def test_spans_with_unknown_tags() -> None:
    tags = [["B-X", None, "O"], ["O", "B-X"], ["O", "B-X", "I-X", None]] * 8
    model = tagger("seal-nce", metric="span-f1").fit(WORDS, tags)
    assert 0.0 <= model.score(WORDS, tags) <= 1.0
    complete = sum(None not in row for row in tags)
    assert model.structure_gain(WORDS, tags, samples=5).rows == complete


def test_what_needs_complete_sentences_says_so() -> None:
    with pytest.raises(SettingError, match="'crf' has no task-net to fill them in"):
        tagger("crf").fit(WORDS, partial())
    with pytest.raises(DataError, match="pretrain_global=True learns from complete sentences"):
        tagger("infnet-plus", global_energy="forward", pretrain_global=True).fit(WORDS, partial())
    with pytest.raises(DataError, match="no row with known tags"):
        tagger().fit(WORDS, [[None] * len(words) for words in WORDS])
