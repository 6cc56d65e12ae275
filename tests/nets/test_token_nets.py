"""Networks and energies on tokens: padding and neighbours change nothing, equations hold."""

import math

import pytest
import torch

from lossnet.energies import ChainEnergy, TagLanguageModel, TotalEnergy
from lossnet.errors import SettingError
from lossnet.nets import BiLSTM, CharacterCNN, Tagger, TokenFeatures, Tokens
from lossnet.spaces import Categorical
from lossnet.testing import check_energy

TAGS, WORDS = 4, 12


def tokens(lengths=(5, 3, 1), time=None, seed=0, chars=True) -> Tokens:
    generator = torch.Generator().manual_seed(seed)
    time = time or max(lengths)
    mask = torch.arange(time) < torch.tensor(lengths).unsqueeze(1)
    words = torch.randint(2, WORDS, mask.shape, generator=generator) * mask
    case = torch.randint(1, 5, mask.shape, generator=generator) * mask
    letters = torch.randint(0, 7, (*mask.shape, 6), generator=generator) * mask.unsqueeze(-1)
    # A word's characters stand at its beginning.
    letters = letters.sort(-1, descending=True).values
    return Tokens(words, mask, letters if chars else None, {"case": case})


def features(seed=0, dropout=0.0) -> TokenFeatures:
    torch.manual_seed(seed)
    table = torch.randn(WORDS, 6)
    table[0] = 0.0
    return TokenFeatures(
        table, hidden=5, characters=7, columns={"case": 5}, column_width=3, dropout=dropout
    )


def take(x: Tokens, rows: slice) -> Tokens:
    columns = {name: values[rows] for name, values in x.columns.items()}
    return Tokens(x.words[rows], x.mask[rows], None if x.chars is None else x.chars[rows], columns)


def longer(x: Tokens, more: int) -> Tokens:
    def pad(values: torch.Tensor) -> torch.Tensor:
        empty = values.new_zeros((len(values), more, *values.shape[2:]))
        return torch.cat([values, empty], 1)

    assert x.chars is not None
    return Tokens(pad(x.words), pad(x.mask), pad(x.chars), {"case": pad(x.columns["case"])})


def test_reversal_turns_every_sentence_round_its_own_middle() -> None:
    x = tokens((4, 2))
    turned = x.words.gather(1, x.reversal)
    assert turned[0].tolist() == x.words[0].flip(0).tolist()
    assert turned[1, :2].tolist() == x.words[1, :2].flip(0).tolist()
    assert turned[1, 2:].tolist() == [0, 0]
    assert torch.equal(turned.gather(1, x.reversal), x.words)


def test_bilstm_equals_torchs_on_a_sentence_by_itself() -> None:
    net = BiLSTM(3, 4)
    both = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    state = net.forwards.state_dict()
    state |= {f"{key}_reverse": value for key, value in net.backwards.state_dict().items()}
    both.load_state_dict(state)
    x = tokens((6, 2, 3))
    values = torch.randn(3, 6, 3)
    for row, length in enumerate((6, 2, 3)):
        alone = both(values[row : row + 1, :length])[0][0]
        torch.testing.assert_close(net(values, x)[row, :length], alone)


def test_character_vector_is_the_highest_answer_within_the_word() -> None:
    net = CharacterCNN(7, width=4, filters=3)
    word = torch.tensor([3, 1, 2])
    answers = net.convolution(net.embedding(word).T.unsqueeze(0))[0]
    for room in (3, 5, 9):
        chars = torch.zeros(1, 1, room, dtype=torch.long)
        chars[0, 0, :3] = word
        torch.testing.assert_close(net(chars)[0, 0], answers.amax(1))
    assert not net(torch.zeros(1, 1, 4, dtype=torch.long)).any()


@pytest.mark.parametrize("net", ["tagger", "chain", "forward", "backward", "words"])
def test_padding_and_neighbours_change_nothing(net) -> None:
    x = tokens()
    run = runner(net)
    whole = run(x)
    padded = run(longer(x, 4))
    for row, length in enumerate((5, 3, 1)):
        alone = run(take(x, slice(row, row + 1)))
        torch.testing.assert_close(alone[0, :length], whole[row, :length], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(padded[row, :length], whole[row, :length], rtol=1e-5, atol=1e-6)


def runner(net):
    """Logits of a tagger, or the energies of single tags, of a batch."""
    torch.manual_seed(3)
    if net == "tagger":
        return Tagger(features(), TAGS).eval()
    energy = energies()[net].eval()
    target = torch.randint(0, TAGS, (3, 20), generator=torch.Generator().manual_seed(1))

    def run(x: Tokens) -> torch.Tensor:
        rows = [int(row) for row in x.lengths.apply_(lambda n: (5, 3, 1).index(n))]
        y = torch.nn.functional.one_hot(target[rows, : x.words.shape[1]], TAGS).float()
        e = energy(energy.encode(x, x.mask), y.unsqueeze(0), x.mask)[0]
        return e.unsqueeze(1).expand(-1, 5)

    return run


def energies() -> dict[str, torch.nn.Module]:
    torch.manual_seed(2)
    chain = ChainEnergy(features(), TAGS)
    torch.nn.init.normal_(chain.pairwise)
    table = torch.randn(WORDS, 6)
    return {
        "chain": chain,
        "forward": TagLanguageModel(TAGS, hidden=5),
        "backward": TagLanguageModel(TAGS, hidden=5, backward=True),
        "words": TagLanguageModel(TAGS, hidden=5, words=table, backward=True),
        "total": TotalEnergy(
            [chain, TagLanguageModel(TAGS, hidden=5), TagLanguageModel(TAGS, words=table)],
            [1.0, 0.5, 2.0],
        ),
    }


@pytest.mark.parametrize("name", ["chain", "forward", "backward", "words", "total"])
def test_energies_keep_the_contract(name) -> None:
    x = tokens((4, 4, 4))
    check_energy(energies()[name], x, Categorical(), (4, TAGS), take=take, masks=False)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_a_language_models_energies_are_those_of_a_distribution(words, backward) -> None:
    """exp(-E) of all sequences up to a length, and what goes on beyond it, sum to 1."""
    torch.manual_seed(4)
    table = torch.randn(WORDS, 6) if words else None
    model = TagLanguageModel(2, hidden=4, words=table, backward=backward).double().eval()
    longest = 6
    x = tokens((longest,))
    if backward:  # the shorter sentence that is read backwards is the end of the longer
        x = Tokens(x.words.flip(1), x.mask)
    total = float(exp_energies(model, Tokens(x.words[:, :1], x.mask[:, :1] & False), 1)[0])
    for length in range(1, longest + 1):
        part = slice(longest - length, longest) if backward else slice(0, length)
        shorter = Tokens(x.words[:, part], x.mask[:, part])
        total += float(exp_energies(model, shorter, length).sum())
    states = paths(longest)
    h = model.encode(x, x.mask)
    read = states.flip(2) if backward else states
    following = model._next(h["words"], read).softmax(-1).detach()
    steps = (following[:, :longest, :2] * read[:, 0]).sum(-1).prod(-1)
    total += float((steps * (1 - following[:, longest, 2])).sum())
    assert total == pytest.approx(1.0, abs=1e-9)
    assert not model.log_partition(h, x.mask).any()


def paths(length: int) -> torch.Tensor:
    return Categorical().enumerate((length, 2)).double().unsqueeze(1)


def exp_energies(model: TagLanguageModel, x: Tokens, length: int) -> torch.Tensor:
    return torch.exp(-model(model.encode(x, x.mask), paths(length), x.mask).detach())


def test_frozen_parts_of_a_sum_stay_in_eval_mode() -> None:
    total = energies()["total"]
    total.parts[1].requires_grad_(False)
    total.train()
    assert total.training
    assert [part.training for part in total.parts] == [True, False, True]
    total.eval()
    assert not any(part.training for part in total.parts)


def test_a_backward_model_reads_the_reversed_sequence() -> None:
    ahead = TagLanguageModel(TAGS, hidden=5)
    back = TagLanguageModel(TAGS, hidden=5, backward=True)
    back.load_state_dict(ahead.state_dict())
    x = tokens((5,))
    y = torch.softmax(torch.randn(2, 1, 5, TAGS), -1)
    torch.testing.assert_close(
        back(back.encode(x), y, x.mask), ahead(ahead.encode(x), y.flip(2), x.mask)
    )


def test_the_sum_is_weighted() -> None:
    parts = energies()
    x = tokens((4, 2))
    y = torch.softmax(torch.randn(3, 2, 4, TAGS), -1)
    total = TotalEnergy([parts["chain"], parts["forward"]], [2.0, 0.25])
    expected = 2.0 * parts["chain"](parts["chain"].encode(x), y, x.mask)
    expected = expected + 0.25 * parts["forward"](parts["forward"].encode(x), y, x.mask)
    torch.testing.assert_close(total(total.encode(x), y, x.mask), expected)
    with pytest.raises(SettingError, match="one value per energy, got 3 for 2"):
        TotalEnergy([parts["chain"], parts["forward"]], [1.0, 1.0, 1.0])
    with pytest.raises(SettingError, match="at least one energy, got none"):
        TotalEnergy([])


def test_the_chain_finds_its_lowest_path_and_its_partition() -> None:
    energy = energies()["chain"]
    x = tokens((4, 4))
    h = energy.encode(x)
    paths = Categorical().enumerate((4, TAGS)).float().unsqueeze(1).expand(-1, 2, -1, -1)
    e = energy(h, paths)
    best = energy.minimise(h)
    for row in range(2):
        assert torch.equal(paths[e[:, row].argmin(), row].argmax(-1), best[row])
    torch.testing.assert_close(energy.log_partition(h), torch.logsumexp(-e, 0))
    assert math.isfinite(e.sum().item())
