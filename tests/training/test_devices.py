"""Every method on every task with its nets on another device than the CPU."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import FEATURES, LABELS, data, make_nets, make_trainer, rows, same

from lossnet import ImageSegmenter, LearnedLoss, MultiLabelClassifier, SequenceTagger
from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.devices import generator_on
from lossnet.proposals import Exact, Samples
from lossnet.recipes import build, defaults, methods_for
from lossnet.spaces import Binary
from lossnet.streams import Streams
from lossnet.training import Arrays, Checkpoint, resume, save_checkpoint

sys.path.insert(0, str(Path(__file__).parents[1]))
from pretend_device import DEVICE, MixedDevicesError, pretend_device

SETTINGS: dict[str, Any] = {"max_epochs": 1, "random_state": 0, "batch_size": 8}
#: Every operation passes through Python here: few steps and few candidates are enough.
FEW: dict[str, Any] = {
    "inference": {"steps": 1},
    "predict_steps": 1,
    "samples": 2,
    "sampler": {"k": 2},
    "candidates": {"k": 2},
    "energy_steps": 1,
}


@pytest.fixture
def device():
    with pretend_device() as device:
        yield device


# The pretended device ----------------------------------------------------------------------------


def test_it_refuses_what_a_gpu_would_refuse(device) -> None:
    x = torch.arange(6.0, device=device)
    for mixture in (
        lambda: x + torch.ones(6),
        lambda: x.index_select(0, torch.tensor([1])),
        lambda: x[torch.tensor([1])],
        lambda: torch.rand(3, device=device, generator=torch.Generator()),
        lambda: torch.rand(3, generator=generator_on(device, 0)),
    ):
        with pytest.raises(MixedDevicesError):
            mixture()
    assert (2 * x).sum().item() == 30


def test_it_refuses_tensors_made_without_a_device(device) -> None:
    for made in ("torch.zeros(3)", "torch.tensor([1])", "torch.Generator()", "torch.randperm(3)"):
        code = compile(made, str(Path(sys.modules["lossnet"].__file__).parent / "mine.py"), "eval")
        with pytest.raises(MixedDevicesError, match="without a device"):
            eval(code, {"torch": torch})


def test_its_global_generator_is_not_the_cpus(device) -> None:
    outside = torch.get_rng_state()
    x = torch.zeros(50, device=device)
    first, second = torch.rand_like(x), torch.rand_like(x)
    assert not torch.equal(first, second)
    assert torch.equal(outside, torch.get_rng_state())


# Methods and tasks -------------------------------------------------------------------------------


def _settings(name: str) -> dict[str, Any]:
    few = {key: value for key, value in FEW.items() if key in defaults(name)}
    return {"method": name, "method_params": few, "device": str(DEVICE), **SETTINGS}


def _extra(name: str, unlabelled: Any) -> dict[str, Any]:
    method = build(name)
    extra: dict[str, Any] = {"unlabelled": unlabelled} if "unlabelled rows" in method.needs else {}
    if "reward" in method.needs:
        extra["reward"] = lambda tokens, soft: soft[..., 0].mean(-1)
    return extra


@pytest.mark.filterwarnings("ignore:.*break the constraints")
@pytest.mark.parametrize("name", methods_for(MultiLabelClassifier.provides))
def test_labels(name, device) -> None:
    X, Y = rows(10)
    rules = [{"implies": [0, 1]}, {"at_most_one": [1, 2]}]
    model = MultiLabelClassifier(hidden=(8,), constraints=rules, **_settings(name))
    model.fit(X, Y.astype(int), **_extra(name, X))
    assert {p.device for net in model.nets_.values() for p in net.parameters()} == {DEVICE}
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("name", methods_for(SequenceTagger.provides))
def test_sentences(name, device) -> None:
    rng = np.random.default_rng(0)
    words = [[f"w{n}" for n in rng.integers(9, size=size)] for size in (1, 2, 3, 2, 1, 3)]
    tags = [["B-X" if word < "w4" else "O" for word in sentence] for sentence in words]
    model = SequenceTagger(hidden=4, **_settings(name))
    model.fit(words, tags, **_extra(name, words))
    assert [len(found) for found in model.predict(words)] == [len(sentence) for sentence in words]


@pytest.mark.parametrize("name", methods_for(ImageSegmenter.provides))
def test_images(name, device) -> None:
    rng = np.random.default_rng(0)
    images = rng.random((4, 8, 8, 3)).astype(np.float32)
    masks = (images[..., 0] > 0.5).astype(int)
    model = ImageSegmenter(width=4, crop=6, crops=1, average=2, **_settings(name))
    model.fit(images, masks, **_extra(name, images))
    assert model.predict(images).shape == masks.shape


def test_batches_in_pieces(device) -> None:
    X, Y = rows(10)
    model = MultiLabelClassifier(hidden=(8,), accumulate=3, **_settings("seal-nce"))
    assert np.isfinite(model.fit(X, Y.astype(int)).predict_proba(X)).all()


@pytest.mark.parametrize("refine", ["net", "samples", "random"])
def test_refined_predictions(refine, device) -> None:
    X, Y = rows(10)
    model = MultiLabelClassifier(hidden=(8,), refine=refine, **_settings("seal-nce"))
    assert np.isfinite(model.fit(X, Y.astype(int)).predict_proba(X)).all()


def test_enumerated_classes_and_labels_reach_the_device(device) -> None:
    batch = Batch(torch.zeros(2, 3, device=device), torch.zeros(2, 3, device=device))
    y = Exact()(Context({}, batch, Binary())).y
    assert y.device == DEVICE
    assert y.shape == (8, 2, 3)


# Random streams ----------------------------------------------------------------------------------


def _moved(nets: dict[str, Any]) -> dict[str, Any]:
    return {name: net.to(DEVICE) for name, net in nets.items()}


def _on_cpu(trainer) -> dict[str, torch.Tensor]:
    return {
        f"{name}/{key}": value.cpu()
        for name, net in trainer.nets.items()
        for key, value in net.state_dict().items()
    }


def test_the_same_seed_gives_the_same_streams_on_either_device(device) -> None:
    """Rows in the same order, dropout and samples drawn by a generator of the same kind."""
    method = build("seal-nce")
    here = make_trainer(method, max_epochs=1)
    here.run()
    there = make_trainer(
        method,
        nets=_moved(make_nets(method)),
        data=Arrays(*rows(), device=DEVICE),
        max_epochs=1,
    )
    there.run()
    for key, value in _on_cpu(here).items():
        assert torch.allclose(value, _on_cpu(there)[key], atol=1e-6), key


def test_a_resumed_run_goes_on_with_the_devices_streams(device, tmp_path) -> None:
    method = build("seal-nce")

    def trainer(epochs: int):
        nets = _moved(make_nets(method))
        return make_trainer(
            method, nets=nets, data=Arrays(*rows(), device=DEVICE), max_epochs=epochs
        )

    complete, part, rest = trainer(2), trainer(1), trainer(2)
    complete.run()
    part.run()
    save_checkpoint(tmp_path / "checkpoint", part, {})
    resume(tmp_path / "checkpoint", rest, {})
    rest.run()
    assert same(_on_cpu(rest), _on_cpu(complete))


def test_a_run_can_go_on_on_another_device(device, tmp_path) -> None:
    method = build("seal-nce")
    path = tmp_path / "checkpoint"
    here = make_trainer(method, max_epochs=1, callbacks=[Checkpoint(path, {}, seconds=0.0)])
    here.run()
    there = make_trainer(
        method, nets=_moved(make_nets(method)), data=Arrays(*rows(), device=DEVICE)
    )
    resume(path, there, {})
    there.run()
    assert there.epoch == 3


def test_a_nets_stream_leaves_the_devices_generator_alone(device) -> None:
    streams = Streams(0, ["a", "b"], device)
    like = torch.zeros(9, device=device)
    with streams.use("a"):
        first = torch.rand_like(like)
    outside = torch.get_device_module(device).get_rng_state(device)
    with streams.use("b"):
        other = torch.rand_like(like)
    with streams.use("a"):
        second = torch.rand_like(like)
    assert torch.equal(outside, torch.get_device_module(device).get_rng_state(device))
    assert not torch.equal(first, other)
    assert not torch.equal(first, second)


# A learned loss in one's own loop ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [n for n in methods_for({"target"}) if n.startswith("seal-") and "static" not in n]
)
def test_a_learned_loss_follows_its_energy(name, device) -> None:
    def criterion() -> LearnedLoss:
        energy = _moved(make_nets(build(name)))["energy"]
        return LearnedLoss(energy, name, optimizer=partial(torch.optim.SGD, lr=0.1))

    batch = data().batch(slice(8))
    x, y = batch.x.to(device), batch.target.to(device)
    logits = torch.zeros(8, LABELS, device=device, requires_grad=True)
    first, second = criterion(), criterion()
    first.step(x, logits, y)
    first(x, logits, y).backward()
    assert logits.grad.device == DEVICE
    second.load_state_dict(first.state_dict())
    assert first.step(x, logits, y) == second.step(x, logits, y)
    assert torch.equal(first(x, logits, y), second(x, logits, y))


def test_samples_are_drawn_on_the_device(device) -> None:
    batch = Batch(torch.zeros(2, 3, device=device))
    logits = torch.zeros(2, 3, device=device)
    context = Context(
        {}, batch, Binary(), generator=generator_on(device, 0), given={"task": logits}
    )
    assert Samples(4)(context).y.device == DEVICE


def test_a_learned_loss_draws_where_its_logits_are(device) -> None:
    """Also where the energy was moved after the criterion was made."""
    criterion = LearnedLoss(make_nets(build("seal-nce"))["energy"], frozen=True)
    criterion.energy.to(device)
    zeros = torch.zeros(2, LABELS, device=device)
    criterion(torch.zeros(2, FEATURES, device=device), zeros, zeros)
    assert criterion._generator.device == DEVICE
