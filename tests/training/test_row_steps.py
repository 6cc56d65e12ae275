"""AdamW on a few rows at a time, compared with AdamW on all of them."""

import shutil

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from small_runs import same, weights

from lossnet.energies import LabelEnergy
from lossnet.nets import LabelMLP
from lossnet.nets.wide import WIDE, RowParameter
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.tasks.networks import build_nets
from lossnet.training import Arrays, Callback, Checkpoint, Trainer, resume
from lossnet.training.adamw import AdamW
from lossnet.training.schedule import Group, Schedule

ROWS, WIDTH = 40, 3


def gradients(steps: int, shape: tuple[int, ...], seed: int = 0) -> list[torch.Tensor]:
    """Gradients of few rows; some rows are never in any, and some wait for long."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(steps):
        on = torch.rand(shape[:-1], generator=generator) < 0.05
        on[..., -3:] = False
        on[..., 0] = len(found) in (0, steps - 2)
        found.append(torch.randn(shape, generator=generator) * on.unsqueeze(-1))
    return found


def optimised(
    given: list[torch.Tensor], *, sparse: bool, settled: int | None = None, **how
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    weight = RowParameter(torch.randn(given[0].shape))
    schedule = Schedule(warmup=0.2, decay="linear")
    optimiser = AdamW([Group([weight], 0.01)], schedule=schedule, **how)
    for number, gradient in enumerate(given):
        optimiser.progress = (number + 0.5) / len(given)
        optimiser.scale = 0.5 if number > len(given) // 2 else 1.0
        weight.grad = gradient.to_sparse(gradient.dim() - 1) if sparse else gradient
        optimiser.step()
        if number == settled:
            optimiser.settle()
    state = optimiser.state_dict()["slots"][0]
    return weight.detach(), state


@pytest.mark.parametrize("shape", [(ROWS, WIDTH), (2, ROWS, WIDTH)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("beta1", [0.9, 0.0])
def test_rows_that_wait_end_where_those_of_a_dense_gradient_do(shape, decay, beta1) -> None:
    given = gradients(80, shape)
    how = {"weight_decay": decay, "betas": (beta1, 0.999)}
    expected, slots = optimised(given, sparse=False, **how)
    found, own = optimised(given, sparse=True, **how)
    assert torch.allclose(found, expected, atol=2e-6)
    assert (found - expected).abs().mean() < 5e-7
    assert own["step"] == slots["step"]
    for name in ("exp_avg", "exp_avg_sq"):
        assert torch.allclose(own[name], slots[name], rtol=1e-4, atol=1e-9)


def test_rows_of_every_gradient_have_the_weights_bit_for_bit() -> None:
    given = [torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(k)) for k in range(9)]
    expected, found = (optimised(given, sparse=sparse)[0] for sparse in (False, True))
    assert torch.equal(found, expected)


def test_settling_on_the_way_changes_nothing_but_rounding() -> None:
    given = gradients(60, (ROWS, WIDTH))
    expected, found = (optimised(given, sparse=True, settled=at)[0] for at in (None, 30))
    assert torch.allclose(found, expected, atol=1e-6)


def test_dense_gradients_may_come_between() -> None:
    torch.manual_seed(0)
    start = torch.randn(ROWS, WIDTH)
    ends = []
    for sparse in (False, True):
        weight = RowParameter(start.clone())
        optimiser = AdamW([Group([weight], 0.01)])
        for number, gradient in enumerate(gradients(30, (ROWS, WIDTH))):
            dense = gradient + 0.1 if number == 15 else gradient
            weight.grad = gradient.to_sparse(1) if sparse and number != 15 else dense
            optimiser.step()
        optimiser.settle()
        ends.append(weight.detach())
    assert torch.allclose(*ends, atol=2e-6)


# In training ---------------------------------------------------------------------------------


def wide_rows(n: int = 40) -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random(n, WIDE, density=0.002, format="csr", random_state=rng, dtype=np.float32)
    return X, (rng.random((n, 4)) < 0.4).astype(np.float32)


def trained(name: str, *, sparse: bool, start_from: str | None = None, **how) -> Trainer:
    """A trainer of small nets, without dropout, after three epochs."""
    method = build(name, how.pop("params", {}))

    def make(net: str) -> torch.nn.Module:
        sizes = {"hidden": (6,), "dropout": 0.0}
        if net == "energy":
            return LabelEnergy(WIDE, 4, global_hidden=5, **sizes)
        return LabelMLP(WIDE, 4, **sizes)

    nets = build_nets(method.nets, make, method.derived, (4,), Binary())
    X, Y = wide_rows()
    source = Arrays(X, Y, sparse=sparse)
    assert source.batch(slice(2)).x.is_sparse == sparse
    trainer = Trainer(method, nets, Binary(), source, batch_size=8, max_epochs=3, **how)
    if start_from is not None:
        resume(start_from, trainer, {})
    trainer.run()
    return trainer


CLIPPED = {"task_optimiser": {"lr": 0.01, "clip": 0.05, "weight_decay": 0.1}}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("cross-entropy", {}),
        ("cross-entropy", {"params": CLIPPED}),
        ("cross-entropy", {"accumulate": 2}),
        ("seal-regression", {}),
        ("implicit-dvn", {}),
    ],
)
def test_training_on_sparse_rows_gives_the_weights_of_dense_ones(name, how) -> None:
    found, expected = (weights(trained(name, sparse=own, **how)) for own in (True, False))
    for net, values in expected.items():
        for key, value in values.items():
            assert torch.allclose(found[net][key], value, atol=2e-4), (net, key)


def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(tmp_path) -> None:
    path, copies = tmp_path / "checkpoint", []

    class Copy(Callback):
        def on_epoch(self, trainer) -> None:
            copies.append(shutil.copy(path, tmp_path / f"{len(copies)}"))

    whole = trained("seal-nce", sparse=True, callbacks=[Checkpoint(path, {}, seconds=0), Copy()])
    again = trained("seal-nce", sparse=True, start_from=copies[0])
    assert len(again.history) == 3
    for name, expected in weights(whole).items():
        assert same(weights(again)[name], expected)


def test_how_often_checkpoints_are_written_changes_no_weight(tmp_path) -> None:
    written = trained(
        "cross-entropy", sparse=True, callbacks=[Checkpoint(tmp_path / "one", {}, seconds=0)]
    )
    plain = trained("cross-entropy", sparse=True)
    assert same(weights(written)["task"], weights(plain)["task"])
