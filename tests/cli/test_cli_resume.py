"""A run that is killed and resumed ends with the weights of one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import KILLED, PROGRAM, UNFINISHED, Result, write_csv

Run = Callable[..., Result]

#: A checkpoint after every epoch, however short.
OFTEN = """
import lossnet.training.checkpoint as checkpoint
checkpoint.Checkpoint.__init__.__kwdefaults__["seconds"] = 0.0
"""


def train(
    data: Path, out: Path, method: str, *more: str, kill_after_batches: int = 0
) -> subprocess.CompletedProcess[str]:
    settings = ["--set", "max_epochs=6", "patience=6", "hidden=[16]", "batch_size=4", "--quiet"]
    arguments = ["train", str(data), "--out", str(out), "--method", method, *settings, *more]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "KILL_AFTER_BATCHES": str(kill_after_batches),
    }
    return subprocess.run(
        [sys.executable, "-c", KILLED + OFTEN + PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


def weights(folder: Path) -> bytes:
    (path,) = folder.glob("weights*.safetensors")
    return path.read_bytes()


# 24 training rows are 6 batches an epoch; the static method has three phases.
@pytest.mark.parametrize(
    ("method", "batches"), [("seal-nce", (15, 10)), ("seal-static-nce", (40,))]
)
def test_killed_and_resumed(tmp_path: Path, method: str, batches: tuple[int, ...]) -> None:
    data = write_csv(tmp_path / "weather.csv")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert train(data, whole, method).returncode == 0
    for number, after in enumerate(batches):
        more = ["--resume"] if number else []
        done = train(data, killed, method, *more, kill_after_batches=after)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert sorted(path.name for path in killed.iterdir()) == UNFINISHED
    assert train(data, killed, method, "--resume").returncode == 0
    assert weights(killed) == weights(whole)
    assert len(list(killed.iterdir())) == len(list(whole.iterdir()))


def test_ctrl_c_tells_how_to_go_on(
    lossnet: Run, csv_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lossnet.training import Trainer

    plain = Trainer._epoch

    def stop_in_third(trainer: Trainer) -> None:
        if trainer.epoch == 2:
            raise KeyboardInterrupt
        plain(trainer)

    arguments = ["train", str(csv_file), "--out", str(tmp_path / "a b"), "--quiet"]
    arguments += ["--set", "max_epochs=4", "hidden=[8]"]
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_epoch", stop_in_third)
        result = lossnet(*arguments)
    assert result.code == 130
    assert result.err.count("\n") == 1
    assert f"lossnet train {csv_file} --out '{tmp_path}/a b'" in result.err
    assert result.err.endswith("--resume\n")
    assert lossnet(*arguments, "--resume").code == 0
    whole = ["train", csv_file, "--out", tmp_path / "whole", *arguments[4:]]
    assert lossnet(*whole).code == 0
    assert weights(tmp_path / "a b") == weights(tmp_path / "whole")


def test_killed_before_the_first_checkpoint(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    out.mkdir()
    arguments = ["--set", "max_epochs=2", "hidden=[8]", "--quiet"]
    assert lossnet("train", csv_file, "--out", out, *arguments, "--resume").code == 0
    assert lossnet("train", csv_file, "--out", tmp_path / "b", *arguments).code == 0
    assert weights(out) == weights(tmp_path / "b")


def test_a_checkpoint_of_other_settings_is_refused(
    lossnet: Run, csv_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a"
    huge = [
        "--method",
        "cross-entropy",
        "--set",
        "method.task_optimiser.lr=1e30",
        "hidden=[8]",
        "--quiet",
    ]
    assert lossnet("train", csv_file, "--out", out, *huge).code == 2
    other = ["--method", "cross-entropy", "--set", "hidden=[9]", "--quiet", "--resume"]
    result = lossnet("train", csv_file, "--out", out, *other)
    assert "differ" in result.err
    (out / "checkpoint.safetensors").write_bytes(b"damaged")
    result = lossnet("train", csv_file, "--out", out, *huge, "--resume")
    assert "damaged" in result.err
