"""Several processes under torchrun: the curve of one, the same nets everywhere, clear refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from several_processes import RUNS, curve, trained
from small_runs import make_trainer

from lossnet.noise import row_noise, row_seeds
from lossnet.recipes import build
from lossnet.training.processes import Processes

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def found(folder) -> list[dict[str, Any]]:
    """What two processes found, one entry each."""
    program = Path(__file__).with_name("several_processes.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--standalone", str(program), str(folder / "found.json")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_have_the_loss_curve_of_one(found, name) -> None:
    both = [process["curves"][name] for process in found]
    expected = curve(name)
    assert len(expected) > (50 if "max_epochs" not in RUNS[name] else 4)
    epochs = [row for row in expected if "epoch" in row]
    for curves in (both[0], both[1][-len(epochs) :]):  # the second runs no callbacks
        for one, row in zip(curves, expected[-len(curves) :], strict=True):
            numbers = {k: v for k, v in row.items() if isinstance(v, float) and k != "seconds"}
            assert {k: one[k] for k in numbers} == pytest.approx(numbers, abs=1e-8)


def test_all_processes_end_with_the_same_model(found) -> None:
    assert found[0]["uninterrupted"] == found[1]["uninterrupted"]
    assert found[0]["probabilities"] == found[1]["probabilities"]


def test_a_run_that_was_stopped_ends_as_one_that_was_not(found) -> None:
    for process in found:
        assert process["halted"] == "halted"
        assert process["resumed"] == process["uninterrupted"]


def test_one_process_resumes_what_two_began(found, folder) -> None:
    assert len(trained(folder / "halted.safetensors", again=True)) == 64


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("data", ["DataError: the training data must be the same", "process 1", "same files"]),
        ("parameter", ["the parameter batch_size must be the same: process 0 has 8 and process 1"]),
        ("unwritable", ["DataError: cannot write", "choose a folder"]),
        ("normalising", ["SettingError: the net 'task' normalises by batch", "LayerNorm"]),
    ],
)
def test_refusals_reach_all_processes(found, what, parts) -> None:
    for process in found:
        for part in parts:
            assert part in process["refusals"][what]


def test_a_batch_is_dealt_to_all_processes() -> None:
    rows, weight = torch.arange(7) * 10, torch.arange(1.0, 8.0)
    pieces = [Processes(rank, 3).piece(rows, None, weight) for rank in range(3)]
    assert [piece.rows.tolist() for piece in pieces] == [[0, 30, 60], [10, 40], [20, 50]]
    assert [piece.share for piece in pieces] == pytest.approx([12 / 28, 7 / 28, 9 / 28])


def test_more_processes_than_rows() -> None:
    rows, others = torch.tensor([4]), torch.tensor([1, 2, 3])
    own, idle = (Processes(rank, 2).piece(rows, others) for rank in range(2))
    assert (own.rows.tolist(), own.unlabelled.tolist(), own.share) == ([4], [1, 2, 3], 1.0)
    assert (idle.rows.tolist(), idle.share, idle.unlabelled_weight) == ([4], 0.0, 0.0)


def test_a_warning_where_torchrun_was_used_and_nobody_joined(monkeypatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.warns(UserWarning, match="each of the 2 processes .* lossnet.training.join"):
        make_trainer(build("cross-entropy"))


def test_noise_of_a_row_depends_on_the_row_alone() -> None:
    like = torch.empty(1000, 7)
    seeds = row_seeds(5, torch.arange(1000))
    noise = row_noise(seeds, 1, 3, like)
    some = torch.tensor([17, 3])
    assert torch.equal(row_noise(seeds[some], 1, 3, like[some]), noise[:, some])
    assert not torch.equal(row_noise(seeds, 2, 3, like), noise)
    assert not torch.equal(row_noise(row_seeds(6, torch.arange(1000)), 1, 3, like), noise)


def test_noise_of_rows_is_uniform_and_independent() -> None:
    noise = row_noise(row_seeds(0, torch.arange(3000)), 1, 4, torch.empty(3000, 5)).double()
    assert noise.min() >= 0.0
    assert noise.max() < 1.0
    counts = torch.histc(noise, 20, 0.0, 1.0)
    assert (counts - counts.mean()).square().sum() / counts.mean() < 50  # χ² of 19 degrees
    flat = noise.transpose(0, 1).reshape(3000, 20)
    correlation = torch.corrcoef(flat.T) - torch.eye(20)
    assert correlation.abs().max() < 0.1
