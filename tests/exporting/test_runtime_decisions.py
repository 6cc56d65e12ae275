"""The numpy of exported folders against the library's own algorithms in torch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from lossnet.constraints import Implies, bind
from lossnet.decisions import best_f, best_jaccard, temper
from lossnet.energies import chain_inference as chains
from lossnet.exporting.runtime import best_sets
from lossnet.exporting.runtime.base import tempered
from lossnet.exporting.runtime.chains import Chain, Rules, tags_of_spans, viterbi
from lossnet.exporting.runtime.columns import encoded_rows, rows_of_table
from lossnet.exporting.runtime.label_sets import in_hierarchy
from lossnet.spaces import Categorical
from lossnet.tasks.multilabel.encoding import Encoding
from lossnet.tasks.multilabel.formats.coding import YES_NO
from lossnet.tasks.sequence import chain_marginals
from lossnet.tasks.sequence.decoding import tag_rules
from lossnet.tasks.sequence.tags import Span, from_spans

TAGS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


@pytest.mark.parametrize("labels", [1, 4, 60])
@pytest.mark.parametrize("power", [1, 6])
def test_best_sets(labels: int, power: int) -> None:
    p = np.random.default_rng(labels).random((300, labels)) ** power
    p[0], p[1, : labels // 2] = 0.0, 1.0
    for beta in (0.5, 1.0, 2.0):
        expected = best_f(torch.as_tensor(p), beta).numpy()
        assert (best_sets.best_f(p, beta) == expected).all()
    assert (best_sets.best_jaccard(p) == best_jaccard(torch.as_tensor(p)).numpy()).all()


def test_tempered() -> None:
    p = np.array([[0.0, 1.0, 0.3], [0.2, 0.5, 0.3]], dtype=np.float32)
    expected = temper(torch.as_tensor(p), 1.7, offset=0.3).numpy()
    assert np.allclose(tempered(p, 1.7, offset=0.3), expected, atol=1e-12)
    expected = temper(torch.as_tensor(p), 1.7, space=Categorical()).numpy()
    assert np.allclose(tempered(p, 1.7, coupled=True), expected, atol=1e-12)


def test_hierarchies() -> None:
    names = [str(k) for k in range(9)]
    edges = [(3, 0), (4, 0), (5, 3), (6, 3), (7, 6), (8, 1)]
    bound = bind([Implies(str(child), str(parent)) for child, parent in edges], names)
    scores = np.random.default_rng(0).normal(size=(500, 9)).round(1)
    assert bound.hierarchy is not None
    assert (in_hierarchy(scores, bound.hierarchy) == bound.nearest(scores)).all()
    assert bind([Implies("1", "0"), Implies("1", "2")], names).hierarchy is None


def chain(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    mask = np.arange(7) < np.array([7, 1, 4, 2, 6])[:, None]
    return rng.normal(size=(5, 7, 5)) * 2, rng.normal(size=(5, 5)), mask


def rules() -> Rules:
    found = tag_rules(TAGS, "IOB2")
    assert found is not None
    return Rules(*found)


def test_viterbi() -> None:
    unary, pairwise, mask = chain()
    expected, _ = chains.viterbi(*map(torch.as_tensor, (unary, pairwise, mask)))
    assert (viterbi(unary, pairwise, mask) == expected.numpy()).all()
    never = np.random.default_rng(1).random(unary.shape) < 0.2
    never[..., -1] = False
    own = chain_marginals.Chain(
        *map(torch.as_tensor, (unary, pairwise, mask)), tag_rules(TAGS, "IOB2"),
        torch.as_tensor(never),
    )  # fmt: skip
    assert (viterbi(unary, pairwise, mask, rules(), never) == own.best().numpy()).all()


def test_marginals_and_spans() -> None:
    unary, pairwise, mask = chain(2)
    tensors = tuple(map(torch.as_tensor, (unary, pairwise, mask)))
    expected = chains.marginals(*tensors).numpy()
    assert np.allclose(Chain(unary, pairwise, mask).marginals(), expected, atol=1e-12)
    never = np.random.default_rng(3).random(unary.shape) < 0.1
    never[..., -1] = False
    own = chain_marginals.Chain(*tensors, tag_rules(TAGS, "IOB2"), torch.as_tensor(never))
    found = Chain(unary, pairwise, mask, rules(), never)
    assert np.allclose(found.marginals(), own.marginals().numpy(), atol=1e-12)
    for one, other in zip(
        found.spans(TAGS, 0.05, "PER"), own.spans(TAGS, 0.05, "PER"), strict=True
    ):
        assert [span for _, span in one] == [tuple(span) for _, span in other]
        assert np.allclose([p for p, _ in one], [p for p, _ in other], atol=1e-12)


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_tags_of_spans(scheme: str) -> None:
    spans = [Span("A", 0, 1), Span("A", 1, 3), Span("B", 4, 8)]
    assert tags_of_spans(spans, 9, scheme) == from_spans(spans, 9, scheme)


def test_columns_of_words_and_codes() -> None:
    """As the estimator encodes a frame of numbers, words, codes and yes or no."""
    kinds = {"size": [0.5, 1.0, np.nan] * 4, "colour": ["red", "blue", None] * 4}
    kinds |= {"code": [3, 10, 3] * 4, "open": ["yes", "no", "no"] * 4}
    frame = pd.DataFrame(kinds)
    encoding = Encoding.of(frame, ["code"])
    unseen = pd.DataFrame({**kinds, "colour": ["green", "red", "blue"] * 4})
    with pytest.warns(UserWarning, match="green"):
        numbers = encoding.numbers(unseen)
    expected = encoding.expanded(numbers.to_numpy(np.float32))
    facts = {"features": 4, "feature_names": list(kinds), "categories": encoding.to_json()}
    found = encoded_rows(unseen.to_numpy(object), facts, 0)
    assert np.array_equal(found, expected, equal_nan=True)
    table = [["open", "code", "colour", "size"], ["yes", "3", "green", "0.5"]]
    table += [["no", "10", "red", ""]]
    rows = rows_of_table(table, {**facts, "yes_no": YES_NO}, "a.csv")
    found = encoded_rows(rows, facts, 0)
    expected[1, 0] = np.nan
    assert np.array_equal(found, expected[:2], equal_nan=True)
