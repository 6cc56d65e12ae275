"""Word vectors of which some are trained: the same results as training them all, less work."""

import numpy as np
import torch

from lossnet.data.vectors import WordVectors
from lossnet.nets import CharacterCNN, WordTable
from lossnet.tasks.sequence.tokens import TokenCoder

VECTORS = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
VECTORS[0] = 0.0


def test_a_table_gives_every_words_vector_and_trains_the_first() -> None:
    numbers = torch.tensor([[3, 8, 0], [1, 4, 5]])
    for trained in (None, 0, 4, 9):
        table = WordTable(VECTORS, trained=trained)
        torch.testing.assert_close(table(numbers), VECTORS[numbers])
        assert table.trained.requires_grad == (trained != 0)
        if trained == 0:
            continue
        table(numbers).sum().backward()
        expected = torch.zeros(9, 3)
        expected[[1, 3, 4, 5, 8]] = 1.0
        torch.testing.assert_close(table.trained.grad, expected[: trained or 9])


def test_rows_that_stay_are_shared_and_not_stored() -> None:
    table = WordTable(VECTORS, trained=4)
    assert table.fixed.data_ptr() == VECTORS[4:].data_ptr()
    assert {key: tuple(value.shape) for key, value in table.state_dict().items()} == {
        "trained": (4, 3)
    }


def test_training_some_rows_is_training_all_where_the_others_never_occur() -> None:
    target = torch.randn(4, 3)
    tables = [WordTable(VECTORS), WordTable(VECTORS, trained=5)]
    for table in tables:
        optimiser = torch.optim.AdamW(table.parameters(), lr=0.1, weight_decay=0.0)
        for _ in range(5):
            optimiser.zero_grad()
            ((table(torch.tensor([1, 3, 4, 0])) - target) ** 2).sum().backward()
            optimiser.step()
    every = torch.arange(9)
    torch.testing.assert_close(tables[0](every), tables[1](every))
    assert not tables[1](torch.tensor(0)).any()


def test_words_are_numbered_by_what_training_does_with_them() -> None:
    vectors = WordVectors(["Rome", "dog", "cat", "sea"], np.eye(4, dtype=np.float32))
    coder = TokenCoder.learn(
        [["Rome", "ROME", "new", "New", "Dog"], ["rare"]],
        {},
        others=[["sea"]],
        vectors=vectors,
        lowercase=True,
        case=False,
        chars=False,
        min_count=2,
    )
    # 0 padding, 1 unknown, then words without a vector, words that occur, words that do not.
    assert list(coder.words) == ["new", "Rome", "dog", "sea", "cat"]
    assert (coder.learned, coder.trained) == (3, 6)
    assert coder.code([["Rome", "DOG", "rare", "ROME"]], {})[0].words.tolist() == [3, 4, 1, 1]
    table = coder.table(vectors, 0, seed=0)
    torch.testing.assert_close(table[3:], torch.eye(4)[[0, 1, 3, 2]])
    assert TokenCoder.from_json(coder.to_json()) == coder


def test_a_word_is_coded_once_however_often_it_occurs(monkeypatch) -> None:
    sentences = [["the", "Dog", "saw", "the", "U.S."], ["a" * 40, "the"], ["7"]] * 20
    options = {"others": (), "vectors": None, "lowercase": True, "min_count": 1}
    coder = TokenCoder.learn(sentences, {}, case=True, chars=True, **options)
    asked: list[str] = []
    word = TokenCoder._word
    monkeypatch.setattr(TokenCoder, "_word", lambda self, w: asked.append(w) or word(self, w))
    coded = coder.code(sentences, {})
    assert sorted(asked) == sorted({w for s in sentences for w in s})
    for sentence, one in zip(sentences, coded, strict=True):
        assert one.words.tolist() == [word(coder, w) for w in sentence]
        width = min(30, max(map(len, sentence)))
        rows = [[coder.chars[c] for c in w[:width]] for w in sentence]
        assert one.chars.tolist() == [row + [0] * (width - len(row)) for row in rows]
        alone = coder.code([sentence], {})[0]
        np.testing.assert_array_equal(one.columns["case"], alone.columns["case"])
    assert coded[0].columns["case"].tolist() == [2, 4, 2, 2, 3]


def test_the_character_network_is_a_convolution_gradients_included() -> None:
    net = CharacterCNN(8, width=4, filters=5, reach=4).double()
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([1, 7, 3, 2])
    chars = torch.randint(1, 8, (2, 2, 7), generator=generator)
    chars = chars * (torch.arange(7) < lengths.view(2, 2, 1))
    slopes = torch.randn(2, 2, 5, generator=generator, dtype=torch.double)
    answers = net.convolution(
        torch.nn.functional.pad(net.embedding(chars.flatten(0, 1)), (0, 0, 0, 1)).transpose(1, 2)
    )
    expected = torch.stack([a[:, :n].amax(1) for a, n in zip(answers, lengths, strict=True)])
    torch.testing.assert_close(net(chars).flatten(0, 1), expected)
    parameters = list(net.parameters())
    found = torch.autograd.grad((net(chars) * slopes).sum(), parameters)
    wanted = torch.autograd.grad((expected * slopes.flatten(0, 1)).sum(), parameters)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
