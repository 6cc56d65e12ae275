"""The number of threads, and denormal numbers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from small_runs import data, exact_match, make_nets, make_trainer
from torch import nn

from lossnet.batch import Batch
from lossnet.nets import Tokens, UNet
from lossnet.nets.words import WordTable
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.training import Callback, predict, threads
from lossnet.training.threads import SMALL, flushes_denormals, suitable_threads, work


@pytest.fixture
def two_threads(monkeypatch):
    """As on a machine with two cores where nobody has set anything."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "_AT_IMPORT", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    yield
    torch.set_num_threads(before)


class Seen(Callback):
    """A callback that notes the number of threads, and may fail."""

    def __init__(self, fails: bool = False) -> None:
        self.threads: set[int] = set()
        self.flushes: set[bool] = set()
        self.fails = fails

    def on_batch(self, trainer, losses) -> None:
        self.threads.add(torch.get_num_threads())
        self.flushes.add(flushes_denormals())
        if self.fails:
            raise KeyboardInterrupt


def _small() -> tuple[list[nn.Module], Batch]:
    return [nn.Linear(6, 4)], data().batch(slice(20))


def test_a_small_fit_takes_one_thread_and_puts_the_callers_number_back(two_threads) -> None:
    seen = Seen()
    make_trainer(build("seal-nce"), callbacks=[seen]).run()
    assert seen.threads == {1}
    assert torch.get_num_threads() == 2


def test_so_does_one_that_fails(two_threads) -> None:
    seen = Seen(fails=True)
    with pytest.raises(KeyboardInterrupt):
        make_trainer(build("seal-nce"), callbacks=[seen]).run()
    assert seen.threads == {1}
    assert torch.get_num_threads() == 2
    assert not flushes_denormals()


def test_a_small_prediction_takes_one_thread(two_threads) -> None:
    method = build("cross-entropy")
    nets, seen = make_nets(method), []
    nets["task"].register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    predict(method.predict, nets, Binary(), data())
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2


def test_validation_within_a_fit_keeps_to_its_number(two_threads) -> None:
    method = build("cross-entropy")
    nets = make_nets(method)
    make_trainer(method, nets=nets, score=exact_match(nets), callbacks=[seen := Seen()]).run()
    assert seen.threads == {1}
    assert torch.get_num_threads() == 2


def test_a_large_net_keeps_torchs_number(two_threads) -> None:
    x = torch.zeros(16, 3, 32, 32)
    with suitable_threads([UNet(3, 1)], Batch(x)):
        assert torch.get_num_threads() == 2


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MKL_NUM_THREADS"])
def test_the_environment_is_respected(two_threads, monkeypatch, name) -> None:
    monkeypatch.setenv(name, "2")
    with suitable_threads(*_small()):
        assert torch.get_num_threads() == 2


def test_what_the_user_set_is_respected(two_threads) -> None:
    torch.set_num_threads(3)
    with suitable_threads(*_small()):
        assert torch.get_num_threads() == 3


def test_what_was_set_before_the_import_is_respected() -> None:
    program = """
import torch
torch.set_num_threads(37)
from lossnet.batch import Batch
from lossnet.training.threads import suitable_threads
with suitable_threads([torch.nn.Linear(2, 2)], Batch(torch.zeros(2, 2))):
    print(torch.get_num_threads())
"""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert ran.stdout.strip() == "37", ran.stderr


@pytest.mark.parametrize("outside", [True, False])
def test_denormal_numbers_are_flushed_in_a_fit_and_as_before_after_it(outside) -> None:
    torch.set_flush_denormal(outside)
    try:
        seen = Seen()
        make_trainer(build("cross-entropy"), callbacks=[seen]).run()
        assert seen.flushes == {True}
        assert flushes_denormals() is outside
        assert ((torch.tensor(1e-38) * 0.01).item() == 0.0) is outside
    finally:
        torch.set_flush_denormal(False)


def test_work_counts_rows_and_pixels_but_no_tokens_and_no_words() -> None:
    linear = nn.Linear(3, 2, bias=False)
    assert work([linear], Batch(torch.zeros(5, 3))) == 6 * 5
    assert work([nn.Conv2d(3, 2, 1, bias=False)], Batch(torch.zeros(5, 3, 4, 4))) == 6 * 5 * 16
    mask = torch.ones(5, 7, dtype=torch.bool)
    tokens = Batch(Tokens(mask.long(), mask), None, mask)
    assert work([linear, nn.Embedding(100, 9), WordTable(torch.zeros(100, 9))], tokens) == 6 * 5
    assert work([linear], Batch("of any kind")) == 6


def test_the_nets_of_the_papers_are_small_and_a_unet_is_not() -> None:
    from lossnet.energies import LabelEnergy
    from lossnet.nets import LabelMLP

    labels = [LabelMLP(1000, 160), LabelEnergy(1000, 160)]
    assert work(labels, Batch(torch.zeros(32, 1000))) < SMALL
    assert work([UNet(3, 1)], Batch(torch.zeros(16, 3, 24, 24))) > SMALL
