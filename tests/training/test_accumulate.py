"""Batches in pieces: the gradient of the complete batch, in the memory of a piece."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace

import pytest
import torch
from small_runs import data, make_nets, make_trainer, rows

from lossnet import MultiLabelClassifier
from lossnet.contrasts import NCE, Regression
from lossnet.costs import ByReward
from lossnet.errors import SettingError
from lossnet.method import Method, Phase, Update
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.proposals.proposal import LOG_Q, Candidates, FromNet
from lossnet.recipes import build
from lossnet.terms import CrossEntropy, EnergyTerm, Weighted
from lossnet.training import Arrays
from lossnet.training.pieces import cut


@dataclass(frozen=True)
class Cut(FromNet):
    """Candidates that depend on the row alone: the net's output cut at three heights."""

    net: str = "task"
    provides = LOG_Q

    def __call__(self, context, *, keep_graph=False):
        logits = context.logits(self.net).detach()
        y = torch.stack([logits > height for height in (-0.5, 0.0, 0.5)]).to(logits.dtype)
        log_prob = context.space.log_prob
        return Candidates(y, log_prob(logits, y), log_prob(logits, context.target[None])[0])


XENT = Judge((Weighted(1.0, CrossEntropy()),))
FOLLOW = Judge((Weighted(0.5, EnergyTerm()), Weighted(1.0, CrossEntropy())))


def seal_nce(clip: float | None = None) -> Method:
    (phase,) = build("seal-nce").phases
    energy, task = phase.updates
    assert isinstance(energy.objective, Compare)
    assert isinstance(energy.objective.contrast, NCE)
    optimiser = replace(energy.optimiser, clip=clip)
    energy = replace(
        energy,
        objective=replace(energy.objective, proposal=Cut()),
        optimiser=optimiser,
        record_gradient_norm=True,
    )
    return Method("mine", (replace(phase, updates=(energy, task)),))


def semi() -> Method:
    """Parts on unlabelled rows, of which a batch may hold another number."""
    unlabelled = Judge((Weighted(0.5, EnergyTerm()),))
    rewarded = Compare(Regression(), Cut(), ByReward())

    def both(own, other) -> Compound:
        return Compound((Part("own", 1.0, own), Part("other", 0.7, other, rows="unlabelled")))

    energy = both(Compare(NCE(), Cut()), replace(rewarded, proposal=Rounded()))
    return Method(
        "semi", (Phase((Update("energy", energy), Update("task", both(FOLLOW, unlabelled)))),)
    )


@dataclass(frozen=True)
class Rounded(FromNet):
    net: str = "task"

    def __call__(self, context, *, keep_graph=False):
        logits = context.logits(self.net).detach()
        return Candidates((logits > 0).to(logits.dtype).unsqueeze(0))


class Judged(Arrays):
    def batch(self, rows):
        return replace(super().batch(rows), reward=lambda y: 1.0 - y.mean(-1))


def trained(method: Method, accumulate: int, **options):
    """Two epochs in double precision: 50 rows in batches of 20, 20 and 10."""
    nets = {name: net.double() for name, net in make_nets(method, dropout=0.0).items()}
    trainer = make_trainer(
        method, nets=nets, data=data().double(), accumulate=accumulate, max_epochs=2, **options
    )
    trainer.run()
    return trainer


METHODS = {
    "cross-entropy": lambda: Method("mine", (Phase((Update("task", XENT, steps=2),)),)),
    "seal-nce": seal_nce,
    "clipped": lambda: seal_nce(clip=0.01),
    "semi": semi,
}


@pytest.mark.parametrize("pieces", [2, 3, 30])
@pytest.mark.parametrize("name", METHODS)
def test_pieces_give_the_gradient_of_the_complete_batch(name, pieces) -> None:
    method = METHODS[name]()
    extra = {"unlabelled": Judged(rows(33, seed=5)[0]).double()} if name == "semi" else {}
    whole, parts = (trained(method, number, **extra) for number in (1, pieces))
    for net in whole.nets:
        for key, value in whole.nets[net].state_dict().items():
            other = parts.nets[net].state_dict()[key]
            torch.testing.assert_close(value, other, rtol=1e-6, atol=1e-7)
    for left, right in zip(whole.history, parts.history, strict=True):
        # Reports of parts on unlabelled rows count pieces by their labelled rows.
        free = {"phase", "seconds", *(["other"] if name == "semi" else [])}
        kept = [{k: v for k, v in row.items() if k not in free} for row in (left, right)]
        assert kept[0] == pytest.approx(kept[1], rel=1e-6)


def test_the_norm_that_is_clipped_is_that_of_the_batch() -> None:
    norms = [
        [row["gradient norm/energy"] for row in trained(seal_nce(clip=0.01), number).history]
        for number in (1, 4)
    ]
    assert norms[0] == pytest.approx(norms[1], rel=1e-6)
    assert min(norms[0]) > 0.01


def test_unlabelled_rows_are_split_by_their_own_number() -> None:
    pieces = list(cut(torch.arange(10), torch.arange(3), 4))
    assert [piece.rows.tolist() for piece in pieces] == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert sum(piece.share for piece in pieces) == pytest.approx(1.0)
    counted = [piece.share * piece.unlabelled_weight for piece in pieces]
    assert counted == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])
    assert [piece.unlabelled.tolist() for piece in pieces] == [[0], [1], [2], [0]]


def test_a_pass_sees_a_piece_and_is_forgotten_before_the_next() -> None:
    method = build("seal-nce")
    nets = make_nets(method)
    sizes, alive, outputs = [], [], []

    def look(net, inputs) -> None:
        sizes.append(len(inputs[0]))
        alive.append(sum(output() is not None for output in outputs))

    nets["task"].register_forward_pre_hook(look)
    keep = nets["task"].register_forward_hook
    keep(lambda net, inputs, output: outputs.append(weakref.ref(output)))
    make_trainer(method, nets=nets, accumulate=4, max_epochs=1).run()
    assert max(sizes) == 5
    assert max(alive) == 0


def test_implicit_gradients_are_refused_before_the_data_is_read() -> None:
    message = "accumulate must be 1 for implicit-nce, got 4"
    with pytest.raises(SettingError, match=message):
        MultiLabelClassifier("implicit-nce", accumulate=4).fit(None, None)
    with pytest.raises(SettingError, match=message):
        make_trainer(build("implicit-nce"), accumulate=4)
    with pytest.raises(SettingError, match="accumulate must be at least 1, got 0"):
        make_trainer(build("seal-nce"), accumulate=0)
    direct = build("implicit-nce", {"gradient": "direct"})
    make_trainer(direct, accumulate=4, max_epochs=1).run()


def test_a_batch_of_fewer_rows_has_a_piece_for_each() -> None:
    X, Y = rows(12)
    settings = {"hidden": (8,), "max_epochs": 2, "random_state": 0, "batch_size": 5}
    model = MultiLabelClassifier("seal-nce", accumulate=99, **settings).fit(X, Y.astype(int))
    assert len(model.history_) == 2
