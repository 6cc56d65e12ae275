"""Decoding: the best valid tags, with V at the predicate, against all sequences."""

from __future__ import annotations

import itertools
import math

import torch

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.energies import ChainEnergy
from lossnet.spaces import Categorical
from lossnet.tasks.roles.role_decoding import (
    begin_of,
    best_tags,
    chain_decoder,
    forbidden,
    role_decoder,
)

TAGS = ["B-ARG0", "B-V", "I-ARG0", "I-R-ARG0", "I-V", "O"]


def valid(path: tuple[int, ...], predicate: int) -> bool:
    names = [TAGS[k] for k in path]
    for t, name in enumerate(names):
        if (name == "B-V") != (t == predicate):
            return False
        before = names[t - 1] if t else "O"
        if name.startswith("I-") and before not in (f"B-{name[2:]}", f"I-{name[2:]}"):
            return False
    return True


def best(score, length: int, predicate: int) -> list[int]:
    paths = itertools.product(range(len(TAGS)), repeat=length)
    return list(max((p for p in paths if valid(p, predicate)), key=score))


def batch_of(lengths: list[int], predicates: list[int]):
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    marks = torch.arange(max(lengths)) == torch.tensor(predicates).unsqueeze(1)
    return mask, marks


def test_best_tags_are_the_best_of_all() -> None:
    torch.manual_seed(0)
    lengths, predicates = [4, 1, 3, 2], [2, 0, 0, 1]
    mask, marks = batch_of(lengths, predicates)
    y = torch.randn(4, 4, len(TAGS)).mul(3).softmax(-1)
    context = Context({}, Batch(torch.zeros(4), None, mask), Categorical())
    decode = role_decoder(lambda _: y, lambda _: marks, TAGS, follow=True)
    found = decode(context)
    for row, (length, predicate) in enumerate(zip(lengths, predicates, strict=True)):
        scores = y[row].log()
        expected = best(
            lambda path, s=scores: sum(s[t, k].item() for t, k in enumerate(path)),
            length,
            predicate,
        )
        assert found[row, :length].tolist() == expected
        assert not found[row, length:].any()


def test_certain_outputs_do_not_move_the_predicate() -> None:
    """A one-hot span across the predicate gives way to it, however long it is."""
    tags = ["B-ARG0", "B-V", "I-ARG0", "O"]
    y = torch.zeros(1, 30, 4)
    y[0, :, 2], y[0, 0] = 1.0, torch.tensor([1.0, 0, 0, 0])
    mask, marks = batch_of([30], [1])
    context = Context({}, Batch(torch.zeros(1), None, mask), Categorical())
    found = role_decoder(lambda _: y, lambda _: marks, tags, follow=True)(context)[0].tolist()
    assert found[:3] == [0, 1, 0]
    assert found[3:] == [2] * 27
    plain = role_decoder(lambda _: y, lambda _: marks, tags, follow=False)(context)[0].tolist()
    assert plain == [0, 1, *[2] * 28]


def test_the_chain_decodes_exactly() -> None:
    class Given(torch.nn.Module):
        out_features = len(TAGS)

        def forward(self, x):
            return x

    torch.manual_seed(1)
    energy = ChainEnergy(Given(), len(TAGS))
    energy.pairwise.data.normal_()
    x = 2 * torch.randn(2, 4, len(TAGS))
    mask, marks = batch_of([4, 3], [1, 2])
    with torch.no_grad():
        context = Context({"energy": energy}, Batch(x, None, mask), Categorical())
        found = chain_decoder(lambda _: marks, TAGS, follow=True)(context)
        h = energy.encode(x)
        for row, (length, predicate) in enumerate([(4, 1), (3, 2)]):

            def score(path, row=row):
                unary = sum(h[row, t, k].item() for t, k in enumerate(path))
                pairs = sum(energy.pairwise[a, b].item() for a, b in itertools.pairwise(path))
                return -(unary + pairs)

            assert found[row, :length].tolist() == best(score, length, predicate)


def test_forbidden_tags() -> None:
    wrong = forbidden(torch.tensor([[True, False]]), 3, 1)
    assert wrong.tolist() == [[[True, False, True], [False, True, False]]]


def test_an_inside_tag_without_a_beginning_is_never_chosen() -> None:
    scores = torch.full((1, 2, 2), -1.0)
    scores[..., 1] = 0.0
    found = best_tags(scores, begin_of(["O", "I-X"]), torch.ones(1, 2, dtype=torch.bool))
    assert found.tolist() == [[0, 0]]
    assert math.isfinite(scores.sum())
