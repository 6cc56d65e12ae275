"""Tags of relaxed outputs: alone, and by the rules of a scheme."""

from itertools import product

import numpy as np
import pytest
import torch

from lossnet import SequenceTagger
from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.spaces import Categorical
from lossnet.tasks.sequence import SequenceData
from lossnet.tasks.sequence.decoding import decoder, tag_rules
from lossnet.tasks.sequence.tags import from_spans, spans

NAMES = ["B-A", "E-A", "I-A", "O", "S-A"]


def decoded(y: torch.Tensor, mask: torch.Tensor, rules) -> torch.Tensor:
    context = Context({}, Batch(None, None, mask), Categorical())
    return decoder(lambda _: y, rules)(context)


def test_is_the_likeliest_sequence_that_keeps_the_rules() -> None:
    """Against every sequence, with padding, and outputs that are certain of what is forbidden."""
    generator = torch.Generator().manual_seed(0)
    y = torch.rand(6, 4, len(NAMES), generator=generator).softmax(-1)
    y[0] = torch.eye(len(NAMES))[[2, 2, 2, 0]]  # I I I B, each with certainty
    mask = torch.ones(6, 4, dtype=torch.bool)
    mask[1, 2:] = False
    found = decoded(y, mask, tag_rules(NAMES, "BIOES"))
    for row in range(6):
        length = int(mask[row].sum())
        logs = y[row, :length].clamp_min(torch.finfo(y.dtype).tiny).log().double()
        best = max(
            (
                numbers
                for numbers in product(range(len(NAMES)), repeat=length)
                if _valid([NAMES[n] for n in numbers])
            ),
            key=lambda numbers: float(logs[range(length), list(numbers)].sum()),
        )
        tags = found[row, :length]
        assert _valid([NAMES[n] for n in tags.tolist()])
        torch.testing.assert_close(
            logs[range(length), tags.tolist()].sum(), logs[range(length), list(best)].sum()
        )


def _valid(tags: list[str]) -> bool:
    return from_spans(spans(tags, "BIOES"), len(tags), "BIOES") == tags


def test_without_rules_every_token_has_its_own_likeliest_tag() -> None:
    y = torch.rand(3, 4, 5, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(3, 4, dtype=torch.bool)
    assert torch.equal(decoded(y, mask, None), y.argmax(-1))


@pytest.fixture(scope="module")
def tagged() -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(0)
    words = np.array(["new", "york", "the", "city", "of", "rome"])
    sentences = [list(map(str, rng.choice(words, 6))) for _ in range(40)]
    tags = []
    for sentence in sentences:
        row, before = [], "O"
        for word in sentence:
            inside = word in ("new", "york", "rome")
            before = ("I-LOC" if before != "O" else "B-LOC") if inside else "O"
            row.append(before)
        tags.append(row)
    return sentences, tags


def tagger(**settings) -> SequenceTagger:
    common = {"hidden": 4, "max_epochs": 1, "random_state": 0, "validation_fraction": 0.0}
    return SequenceTagger("cross-entropy", **common, **settings)


def test_predictions_of_a_poor_tagger_keep_the_scheme(tagged, tmp_path) -> None:
    sentences, tags = tagged
    free = tagger(follow_scheme=False).fit(sentences, tags)
    kept = tagger().fit(sentences, tags)
    assert kept.scheme_ == "IOB2"
    for model in (free, kept):  # rather I-LOC than anything, at a sentence's beginning too
        model.nets_["task"].output.bias.data[model.tags_.index("I-LOC")] += 5.0

    def whole(rows) -> bool:
        return all(from_spans(spans(r), len(r), "IOB2") == r for r in rows)

    assert not whole(free.predict(sentences))
    assert whole(kept.predict(sentences))
    for a, b in zip(free.predict_proba(sentences), kept.predict_proba(sentences), strict=True):
        np.testing.assert_array_equal(a, b)
    kept.save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model").predict(sentences) == kept.predict(sentences)


def test_a_path_of_refinement_and_its_best_step(tagged) -> None:
    sentences, tags = tagged
    model = SequenceTagger("dvn", hidden=4, max_epochs=1, random_state=0).fit(sentences, tags)
    path = model.refinement_path(sentences[:3], steps=4)
    assert [y.shape for y in path] == [(5, 6, len(model.tags_))] * 3
    alone = model.refinement_path(sentences[:3], steps=2)
    np.testing.assert_allclose(path[1][:3], alone[1], atol=1e-6)
    model.tune_refinement(sentences, tags, most=4)
    assert 0 <= model.refine_steps_ <= 4
    data = SequenceData(sentences, tags)
    scores = [model._measure(data, outputs) for outputs in model._path(model._descent(4), data)]
    assert model.score(sentences, tags) == max(scores)
    with pytest.raises(SettingError, match="predicts without descending on the energy"):
        tagger().fit(sentences, tags).refinement_path(sentences)


@pytest.mark.parametrize("names", [["N", "V"], ["I-A", "N"]], ids=["plain", "mixed"])
def test_tags_without_a_scheme_are_free(names) -> None:
    sentences = [["a", "b"]] * 8
    model = tagger().fit(sentences, [names] * 8)
    assert model.scheme_ == "plain"
    assert len(model.predict(sentences)[0]) == 2
