"""Sentences in batches of similar length, and the exact objective and proposal of a chain."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import Margin, Ranking
from lossnet.costs import l1
from lossnet.energies import ChainEnergy, LabelEnergy
from lossnet.errors import SettingError
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.nets import TokenFeatures, Tokens
from lossnet.objectives import Compare, Likelihood
from lossnet.proposals import Minimiser, Samples
from lossnet.spaces import Binary, Categorical
from lossnet.tasks.sequence.batches import SentenceSource
from lossnet.training import Trainer, predict
from lossnet.training.predict import over_batches

TAGS = 3
RNG = np.random.default_rng(0)
SENTENCES = [RNG.integers(2, 9, size=int(n)) for n in RNG.integers(1, 12, size=70)]
TARGETS = [(words % TAGS + np.r_[0, words[:-1] % 2]) % TAGS for words in SENTENCES]


def collate(sentences) -> Tokens:
    time = max(len(words) for words in sentences)
    words = np.stack([np.pad(words, (0, time - len(words))) for words in sentences])
    return Tokens(torch.from_numpy(words), torch.from_numpy(words > 0))


def source(targets=TARGETS) -> SentenceSource:
    return SentenceSource(SENTENCES, collate, targets, tags=TAGS)


def chain() -> ChainEnergy:
    torch.manual_seed(0)
    return ChainEnergy(TokenFeatures(torch.randn(9, 8), hidden=12, dropout=0.0), TAGS)


def test_a_batch_is_padded_and_one_hot_under_its_mask() -> None:
    batch = source().batch(torch.tensor([4, 0, 9]))
    assert batch.target is not None
    assert batch.mask is not None
    assert batch.target.sum(-1).bool().equal(batch.mask)
    for row, number in enumerate((4, 0, 9)):
        length = len(SENTENCES[number])
        assert batch.x.words[row, :length].tolist() == SENTENCES[number].tolist()
        assert batch.target[row, :length].argmax(-1).tolist() == TARGETS[number].tolist()
    assert source(None).batch(slice(0, 2)).target is None


def test_an_epoch_has_every_sentence_once_beside_others_of_its_length() -> None:
    batches = source().shuffled(8, torch.Generator().manual_seed(0))
    assert sorted(torch.cat(list(batches)).tolist()) == list(range(70))
    waste = sum(padding([SENTENCES[i] for i in rows.tolist()]) for rows in batches)
    order = torch.randperm(70, generator=torch.Generator().manual_seed(0)).split(8)
    assert waste < 0.3 * sum(padding([SENTENCES[i] for i in rows.tolist()]) for rows in order)
    again = source().shuffled(8, torch.Generator().manual_seed(1))
    assert [rows.tolist() for rows in again] != [rows.tolist() for rows in batches]


def test_sentences_are_read_once_from_the_shortest_to_the_longest() -> None:
    rows = source().in_order(16)
    lengths = [len(SENTENCES[number]) for batch in rows for number in batch.tolist()]
    assert lengths == sorted(lengths)
    assert sorted(torch.cat(list(rows)).tolist()) == list(range(70))


def test_a_very_long_sentence_has_a_batch_of_its_own() -> None:
    words = [np.full(n, 3) for n in (5, 40_000, 6, 7, 9_000, 9_000, 9_000, 9_000)]
    long = SentenceSource(words, collate, tags=TAGS)
    batches = [rows.tolist() for rows in long.in_order(8)]
    assert batches == [[1], [5, 6, 7], [2, 3, 4], [0]]
    assert max(len(b) * max(len(words[n]) for n in b) for b in batches if len(b) > 1) <= 1 << 15


def test_outputs_stand_in_the_order_of_the_sentences() -> None:
    def lengths(context: Context) -> torch.Tensor:
        return context.batch.x.mask.float()

    found = over_batches(lengths, {}, Categorical(), source(None), batch_size=8)
    assert found.sum(1).tolist() == [len(words) for words in SENTENCES]


def padding(sentences) -> int:
    longest = max(len(words) for words in sentences)
    return sum(longest - len(words) for words in sentences)


def test_the_likelihood_is_the_enumerated_one() -> None:
    batch = source().batch(torch.tensor([i for i, w in enumerate(SENTENCES) if len(w) == 4]))
    context = Context({"energy": chain()}, batch, Categorical())
    paths = Categorical().enumerate((4, TAGS)).float().unsqueeze(1)
    e = context.energy(paths.expand(-1, len(batch.x.words), -1, -1))
    assert batch.target is not None
    e_target = context.energy(batch.target.unsqueeze(0))[0]
    torch.testing.assert_close(Likelihood()(context), e_target + torch.logsumexp(-e, 0))
    y = Minimiser()(context).y
    torch.testing.assert_close(context.energy(y)[0], e.amin(0))


def test_the_likelihood_next_to_a_net_is_the_enumerated_one_and_the_limit_of_ranking() -> None:
    """log q(y*) - log p(y*) with p ∝ q exp(-E), in a batch with padding."""
    rows = [i for i, w in enumerate(SENTENCES) if len(w) in (3, 4)][:8]
    batch = source().batch(torch.tensor(rows))
    q = torch.randn(len(rows), 4, TAGS, generator=torch.Generator().manual_seed(0))
    nets = {"energy": chain(), "task": torch.nn.Identity()}
    context = Context(nets, batch, Categorical(), given={"task": q})
    found = Likelihood(q="task")(context)
    assert batch.target is not None
    e_target = context.energy(batch.target.unsqueeze(0))[0]
    for row, number in enumerate(rows):
        paths = Categorical().enumerate((len(SENTENCES[number]), TAGS)).float()
        paths = F.pad(paths, (0, 0, 0, 4 - paths.shape[1])).unsqueeze(1)
        paths = paths.expand(-1, len(rows), -1, -1)
        log_q = Categorical().log_prob(q, paths, batch.mask)[:, row]
        z = torch.logsumexp(log_q - context.energy(paths)[:, row], 0)
        torch.testing.assert_close(found[row], e_target[row] + z)
    many = replace(context, generator=torch.Generator().manual_seed(0))
    ranked = Compare(Ranking(), Samples(20_000))(many) - math.log(20_000)
    torch.testing.assert_close(found, ranked, atol=0.02, rtol=0)


@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_the_exact_margin_is_the_enumerated_one(margin) -> None:
    """max_y [margin Δ(y, y*) - E(x, y) + E(x, y*)] over all paths, in a batch with padding."""
    rows = [i for i, w in enumerate(SENTENCES) if len(w) in (3, 4)][:8]
    batch = source().batch(torch.tensor(rows))
    context = Context({"energy": chain()}, batch, Categorical())
    assert batch.target is not None
    assert batch.mask is not None
    found = Compare(Margin(margin), Minimiser(margin=margin), l1)(context)
    paths = Categorical().enumerate((4, TAGS)).float().unsqueeze(1).expand(-1, len(rows), -1, -1)
    violation = margin * l1(paths, batch.target, batch.mask) - context.energy(paths)
    e_target = context.energy(batch.target.unsqueeze(0))[0]
    torch.testing.assert_close(found, violation.amax(0) + e_target)
    assert (found > 0).all()
    with pytest.raises(SettingError, match="margin must be at least 0, got -1"):
        Minimiser(margin=-1)


def test_a_random_field_learns_what_depends_on_the_neighbour() -> None:
    update = Update("energy", Likelihood(), optimiser=Optimiser(lr=1e-2))
    method = Method("crf", (Phase((update,), predict=Minimiser()),), predict=Minimiser())
    nets = {"energy": chain()}
    Trainer(method, nets, Categorical(), source(), max_epochs=40, batch_size=8).run()
    y = predict(method.predict, nets, Categorical(), source(None), batch_size=16)
    right = [
        (y[row, : len(tags)].argmax(-1).numpy() == tags).mean() for row, tags in enumerate(TARGETS)
    ]
    assert y.shape == (70, max(map(len, SENTENCES)), TAGS)
    assert np.mean(right) > 0.9


def test_an_energy_without_a_partition_function_is_refused() -> None:
    context = Context(
        {"energy": LabelEnergy(4, 3)}, Batch(torch.zeros(2, 4), torch.zeros(2, 3)), Binary()
    )
    with pytest.raises(SettingError, match="log_partition, as ChainEnergy, got LabelEnergy"):
        Likelihood()(context)
    with pytest.raises(SettingError, match="train 'energy' instead"):
        Update("task", Likelihood())
