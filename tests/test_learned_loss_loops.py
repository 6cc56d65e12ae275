"""LearnedLoss in loops of many kinds: optimizers, accumulation, precision, processes, resuming."""

import copy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from small_losses import DYNAMIC, B, D, L, batch, equal, make_energy, parameters, seeded, tensors
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lossnet import LearnedLoss
from lossnet.errors import SettingError
from lossnet.gradients import Unrolled
from lossnet.method import Method, Phase, Update
from lossnet.nets import LabelMLP
from lossnet.objectives import Judge
from lossnet.proposals import RelaxedSamples
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.streams import Streams, stream_seed
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training import Arrays, Trainer
from lossnet.training.own_loop import torch_optimizer

# Optimizers -------------------------------------------------------------------------------------


def test_any_optimizer_and_schedulers() -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), optimizer=partial(torch.optim.SGD, lr=1.0))
    schedule = torch.optim.lr_scheduler.StepLR(criterion.optimizer, 1, gamma=0.0)
    start = parameters(criterion)
    criterion.step(x, logits, y)
    schedule.step()
    after = parameters(criterion)
    assert not equal(start, after)
    criterion.step(x, logits, y)  # the learning rate is 0 now
    assert equal(after, parameters(criterion))


@pytest.mark.parametrize("name", DYNAMIC)
def test_ones_own_optimizer_does_as_step_does(name) -> None:
    x, logits, y = batch()
    params = {"energy_steps": 1, "energy_optimiser": {"lr": 0.01}}
    ours, own = (LearnedLoss(make_energy(), name, method_params=params) for _ in range(2))
    settings = ours.method.phases[0].updates[0].optimiser
    optimizer = torch_optimizer(own.energy, list(own.energy.parameters()), settings)
    for _ in range(3):
        value = ours.step(x, logits, y)
        loss = own.energy_loss(x, logits, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        assert loss.item() == value
    assert logits.grad is None
    assert equal(parameters(ours), parameters(own))


def test_both_losses_go_backward_together() -> None:
    x, logits, y = batch()
    x = x.requires_grad_()  # as the features of a backbone would
    apart, together = LearnedLoss(make_energy()), LearnedLoss(make_energy())
    apart.energy_loss(x, logits, y).backward()
    assert logits.grad is None
    apart(x, logits, y).backward()
    expected, logits.grad = logits.grad, None
    (together.energy_loss(x, logits, y) + together(x, logits, y)).backward()
    assert torch.equal(logits.grad, expected)
    assert x.grad is None
    for left, right in zip(apart.parameters(), together.parameters(), strict=True):
        assert torch.equal(left.grad, right.grad)


def test_gradients_accumulate_over_parts_of_a_batch() -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(dropout=0.0), "seal-margin")  # nothing random
    criterion.energy_loss(x, logits, y).backward()
    expected = [p.grad for p in criterion.energy.parameters()]
    criterion.zero_grad()
    for rows in torch.arange(B).split(B // 3):
        (criterion.energy_loss(x[rows], logits[rows], y[rows]) / 3).backward()
    for parameter, right in zip(criterion.energy.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, right)
    criterion.optimizer.step()


def test_a_task_loss_that_draws_draws_the_same_again() -> None:
    x, logits, y = batch()
    judge = Judge((Weighted(1.0, CrossEntropy()),), RelaxedSamples(1))
    method = Method("mine", (Phase((Update("task", judge, gradient=Unrolled()),)),))
    criterion = LearnedLoss(make_energy(), method)
    before = tensors(criterion)
    assert torch.equal(criterion(x, logits, y), criterion(x, logits, y))
    assert equal(before, tensors(criterion))


# Precision ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_logits_of_another_precision(dtype) -> None:
    """As autocast gives them: the loss is that of the same numbers in float32."""
    x, logits, y = batch()
    x, logits = x.to(dtype), logits.detach().to(dtype).requires_grad_()
    rounded = logits.detach().float().requires_grad_()
    mixed, plain = LearnedLoss(make_energy()), LearnedLoss(make_energy())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed.step(x, logits, y)
        loss = mixed(x, logits, y)
    plain.step(x.float(), rounded, y)
    expected = plain(x.float(), rounded, y)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, expected)
    assert equal(parameters(mixed), parameters(plain))
    loss.backward()
    expected.backward()
    assert torch.equal(logits.grad, rounded.grad.to(dtype))


# Processes ---------------------------------------------------------------------------------------


class Both(nn.Module):
    """A task-net and its loss, as one module for DistributedDataParallel."""

    def __init__(self) -> None:
        super().__init__()
        self.model = seeded(lambda: nn.Linear(D, L))
        self.criterion = LearnedLoss(make_energy(dropout=0.0), "seal-margin")

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        logits = self.model(x)
        return self.criterion(x, logits, y) + self.criterion.energy_loss(x, logits, y)


def train_part(rank: int, world: int, folder: str) -> None:
    """Half of the batch in each process: with ``step``, and with a wrapped module."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    x, logits, y = batch()
    rows = torch.arange(B).chunk(world)[rank]
    stepped = LearnedLoss(make_energy(dropout=0.0), "seal-margin")
    for _ in range(2):
        stepped.step(x[rows], logits[rows], y[rows])
    both = DistributedDataParallel(Both())
    optimizer = torch.optim.SGD(both.parameters(), lr=0.1)
    for _ in range(2):
        both(x[rows], y[rows]).backward()
        optimizer.step()
        optimizer.zero_grad()
    wrapped = [p.detach() for p in both.module.parameters()]
    torch.save([parameters(stepped), wrapped], f"{folder}/{world}-{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    for world in (1, 2):
        (tmp_path / "store").unlink(missing_ok=True)
        processes = mp.start_processes(
            train_part,
            (world, str(tmp_path)),
            nprocs=world,
            join=False,
            daemon=True,
            start_method="fork",  # spawned ones take 20 s to import torch
        )
        for _ in range(world):
            processes.join(timeout=60)
    alone, first, second = (torch.load(tmp_path / f"{n}.pt") for n in ("1-0", "2-0", "2-1"))
    for whole, left, right in zip(alone, first, second, strict=True):
        assert equal(left, right)
        for expected, found in zip(whole, left, strict=True):
            torch.testing.assert_close(found, expected)


# State -------------------------------------------------------------------------------------------


def test_a_loop_goes_on_from_the_state_dict(tmp_path) -> None:
    x, logits, y = batch()
    whole, first = LearnedLoss(make_energy()), LearnedLoss(make_energy())
    for _ in range(3):
        whole.step(x, logits, y)
        first.step(x, logits, y)
    torch.save(first.state_dict(), tmp_path / "state.pt")
    second = LearnedLoss(make_energy(seed=8), seed=9)
    second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for criterion in (whole, second):
        for _ in range(3):
            criterion.step(x, logits, y)
    assert equal(tensors(whole), tensors(second))
    assert torch.equal(whole(x, logits, y), second(x, logits, y))


def test_a_copy_goes_on_by_itself() -> None:
    x, logits, y = batch()
    first = LearnedLoss(make_energy())
    first.step(x, logits, y)
    second = copy.deepcopy(first)
    first.step(x, logits, y)
    assert not equal(parameters(first), parameters(second))
    second.step(x, logits, y)
    assert equal(parameters(first), parameters(second))


def test_a_trained_loss_net_is_loaded_into_a_frozen_one() -> None:
    x, logits, y = batch()
    trained = LearnedLoss(make_energy())
    trained.step(x, logits, y)
    frozen = LearnedLoss(make_energy(seed=5), frozen=True)
    frozen.load_state_dict(trained.state_dict())
    assert equal(parameters(trained), parameters(frozen))
    assert torch.equal(frozen(x, logits, y), trained(x, logits, y))


def test_the_state_of_another_kind_of_method_is_refused() -> None:
    state = LearnedLoss(make_energy(), "cross-entropy").state_dict()
    with pytest.raises(SettingError, match="has no optimizer, and 'seal-nce' trains"):
        LearnedLoss(make_energy()).load_state_dict(state)


# The same as the Trainer -------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_users_loop_gets_the_trainers_weights(name) -> None:
    """Same seed, same order of rows, the user's model run from the task-net's random stream."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, D)).astype(np.float32)
    Y = (X[:, :L] > 0.3).astype(np.float32)
    method = build(name, {"energy_steps": 2, "task_optimiser": {"lr": 5e-3}})

    def make_model() -> LabelMLP:
        return LabelMLP(D, L, hidden=(8, 8), dropout=0.5)

    nets = {"task": seeded(make_model, 1), "energy": make_energy(2)}
    Trainer(method, nets, Binary(), Arrays(X, Y), batch_size=20, max_epochs=3, seed=7).run()

    model = seeded(make_model, 1)
    criterion = LearnedLoss(make_energy(2), method, seed=7)
    (settings,) = (u.optimiser for u in method.phases[0].updates if u.trains == "task")
    optimiser = torch_optimizer(model, list(model.parameters()), settings)
    streams = Streams(7, ["task"])
    order = torch.Generator().manual_seed(stream_seed(7, "order"))
    torch.set_flush_denormal(True)  # as the Trainer does
    for _ in range(3):
        for rows in torch.randperm(50, generator=order).split(20):
            x, y = torch.from_numpy(X)[rows], torch.from_numpy(Y)[rows]
            with streams.use("task"):
                logits = model(x)
            criterion.step(x, logits, y)
            criterion(x, logits, y).backward()
            optimiser.step()
            optimiser.zero_grad()
    torch.set_flush_denormal(False)

    for ours, theirs in ((nets["task"], model), (nets["energy"], criterion.energy)):
        for left, right in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(left, right)
