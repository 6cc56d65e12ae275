"""A phase with a share of the epochs and of the patience."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_runs import make_trainer, same, weights

from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.recipes import build


def phases(share: float) -> Method:
    method = build("seal-static-nce", {"samples": 2})
    return replace(method, phases=tuple(replace(one, share=share) for one in method.phases))


@pytest.mark.parametrize(("share", "epochs"), [(1.0, 6), (0.5, 3), (0.4, 3), (0.01, 1)])
def test_a_share_of_the_epochs_is_rounded_up(share, epochs) -> None:
    names = [row["phase"] for row in make_trainer(phases(share), max_epochs=6).run()]
    assert {name: names.count(name) for name in names} == dict.fromkeys(names, epochs)


def test_a_share_of_the_patience() -> None:
    method = build("cross-entropy")
    method = replace(method, phases=(replace(method.phases[0], share=0.5),))
    trainer = make_trainer(method, max_epochs=40, patience=4, score=lambda proposal: 0.5)
    assert len(trainer.run()) == 3  # the first epoch is the best, two follow


def test_the_learning_rate_falls_to_zero_within_the_share() -> None:
    method = build("cross-entropy", {"task_optimiser": {"decay": "linear"}})
    method = replace(method, phases=(replace(method.phases[0], share=0.5),))
    short = build("cross-entropy", {"task_optimiser": {"decay": "linear"}})
    trainers = make_trainer(method, max_epochs=4), make_trainer(short, max_epochs=2)
    for trainer in trainers:
        trainer.run()
    left, right = (weights(trainer)["task"] for trainer in trainers)
    assert same(left, right)


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match=r"share must be .*0"):
        phases(0.0)


def test_alen_with_a_share_starts_from_cross_entropy() -> None:
    names = [phase.name for phase in build("alen", {"share": 0.2}).phases]
    assert names == ["pretrain task", "alen"]
    alone, both = build("alen", {"share": 0.2}).phases
    whole = build("alen").phases[0]
    assert both.share == 0.2
    assert (alone.updates[0].optimiser.beta1, whole.updates[1].optimiser.beta1) == (0.9, 0.5)
    assert both.updates[1].optimiser.lr == whole.updates[1].optimiser.lr / 4
    assert both.updates[0] == whole.updates[0]
