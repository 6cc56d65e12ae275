"""Which pass of which net runs when, how often, and in which mode."""

from collections import Counter

import pytest
import torch
from small_runs import data, exact_match, make_nets, make_trainer
from torch import nn

from lossnet.energies import LabelEnergy
from lossnet.method import Method
from lossnet.nets import LabelMLP
from lossnet.recipes import build

ROWS, BATCH = 40, 20  # two batches an epoch


class Log:
    """What ran: (phase, net, pass, train mode, gradients on)."""

    def __init__(self) -> None:
        self.trainer = None
        self.validating = False
        self.passes: list[tuple[str, str, str, bool, bool]] = []

    def add(self, net: nn.Module, what: str) -> None:
        modes = {module.training for module in net.modules()}
        assert len(modes) == 1, "a net half in train and half in eval mode"
        phase = "validation" if self.validating else self.trainer.phase.name
        name = next(key for key, value in self.trainer.nets.items() if value is net)
        self.passes.append((phase, name, what, net.training, torch.is_grad_enabled()))

    def modes(self, phase: str, net: str, what: str) -> set[bool]:
        return {train for p, n, w, train, _ in self.passes if (p, n, w) == (phase, net, what)}

    def count(self, phase: str) -> Counter:
        """Passes an epoch's batch, by net and kind."""
        return Counter(f"{n} {w}" for p, n, w, _, _ in self.passes if p == phase)


def spied(method: Method, **options) -> Log:
    """Run one epoch of every phase with nets that log their passes."""
    log = Log()

    class SpyTask(LabelMLP):
        def forward(self, x):
            log.add(self, "forward")
            return super().forward(x)

    class SpyEnergy(LabelEnergy):
        def encode(self, x, mask=None):
            log.add(self, "encode")
            return super().encode(x, mask)

        def forward(self, h, y, mask=None):
            log.add(self, "forward")
            return super().forward(h, y, mask)

    nets = make_nets(method, task=SpyTask, energy=SpyEnergy)
    if options.pop("validate", False):
        score = exact_match(nets)

        def logged(proposal) -> float:
            log.validating = True
            value = score(proposal)
            log.validating = False
            return value

        options |= {"score": logged, "validation": data(20, seed=5)}
    options = {"max_epochs": 1, **options}
    trainer = make_trainer(method, nets=nets, data=data(ROWS), batch_size=BATCH, **options)
    log.trainer = trainer
    trainer.run()
    return log


def per_batch(count: Counter) -> dict[str, float]:
    return {key: value / (ROWS / BATCH) for key, value in count.items()}


def test_static_phases_freeze_what_they_do_not_train() -> None:
    log = spied(build("seal-static-nce", {"samples": 3}))
    first, second, third = "pretrain noise", "nce-energy", "seal-static-nce"
    assert set(log.count(first)) == {"noise forward"}
    assert log.modes(first, "noise", "forward") == {True}
    assert set(log.count(second)) == {"noise forward", "energy encode", "energy forward"}
    assert log.modes(second, "noise", "forward") == {False}
    assert log.modes(second, "energy", "encode") == {True}
    assert log.modes(second, "energy", "forward") == {True}
    assert set(log.count(third)) == {"task forward", "energy encode", "energy forward"}
    assert log.modes(third, "task", "forward") == {True}
    assert log.modes(third, "energy", "encode") == {False}
    assert log.modes(third, "energy", "forward") == {False}


def test_frozen_nets_keep_no_graph() -> None:
    log = spied(build("seal-static-nce", {"samples": 3}))
    for phase, net, what, train, gradients in log.passes:
        if what == "encode" or net != "energy":
            assert gradients == train, (phase, net, what)


def test_a_task_nets_update_sees_the_loss_net_in_eval_mode() -> None:
    """The same net trains on a batch's energy steps and is frozen for its task step."""
    log = spied(build("seal-nce", {"samples": 3, "energy_steps": 2}))
    encodings = [train for _, _, what, train, _ in log.passes if what == "encode"]
    assert encodings == [True, True, False] * (ROWS // BATCH)
    assert log.modes("seal-nce", "task", "forward") == {True}


def test_validation_runs_in_eval_mode() -> None:
    for name, parameters in (
        ("seal-nce", {}),
        ("dvn", {"inference": {"steps": 2}}),
        ("nce-energy", {}),
    ):
        log = spied(build(name, parameters), validate=True, max_epochs=2, patience=5)
        during = {entry[1:] for entry in log.passes if entry[0] == "validation"}
        assert during
        assert not any(train for _, _, train, _ in during), name


def test_an_epoch_after_validation_trains_in_train_mode() -> None:
    log = spied(build("cross-entropy"), validate=True, max_epochs=2)
    assert log.modes("cross-entropy", "task", "forward") == {True}
    assert log.modes("validation", "task", "forward") == {False}


# Counts: a net runs once for each state of its weights ------------------------------------------


PASSES = {
    # One pass of the task-net serves the samples and its loss; the loss-net's features are
    # computed once before each of its steps, in train mode, and once after the last, frozen.
    "seal-nce, 1 and 1 steps": (
        build("seal-nce", {"samples": 7, "energy_steps": 1}),
        {"task forward": 1, "energy encode": 2},
    ),
    "seal-nce, 5 and 1 steps": (
        build("seal-nce", {"samples": 7, "energy_steps": 5}),
        {"task forward": 1, "energy encode": 6},
    ),
    "seal-nce, 1 and 2 steps": (
        build("seal-nce", {"samples": 7, "energy_steps": 1, "task_steps": 2}),
        {"task forward": 2, "energy encode": 2},
    ),
    "seal-nce without the energy term": (
        build("seal-nce", {"samples": 7, "energy_steps": 1, "energy_weight": 0.0}),
        {"task forward": 1, "energy encode": 1},
    ),
    # Inference, adversarial inference and the loss share one encoding.
    "dvn": (build("dvn", {"inference": {"steps": 4}}), {"energy encode": 1}),
}


def encodings(count: Counter) -> dict[str, float]:
    """Passes that run a feature network, a batch; judging candidates after it is cheap."""
    return {k: v for k, v in per_batch(count).items() if k != "energy forward"}


@pytest.mark.parametrize(("method", "expected"), PASSES.values(), ids=PASSES)
def test_passes_a_batch(method, expected) -> None:
    log = spied(method)
    assert encodings(log.count(method.phases[-1].name)) == expected


def test_passes_a_batch_of_spen() -> None:
    log = spied(build("spen", {"inference": {"steps": 4}}))
    assert per_batch(log.count("pretrain task")) == {"task forward": 1}
    assert encodings(log.count("spen")) == {"task forward": 1, "energy encode": 1}
    assert log.modes("spen", "task", "forward") == {False}
