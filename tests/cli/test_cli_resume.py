"""A run that is killed and resumed ends with the weights of one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Result, write_csv

Run = Callable[..., Result]

COMMAND = [sys.executable, "-m", "lossnet", "train"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def options(data: Path, out: Path, method: str) -> list[str]:
    settings = ["--set", "max_epochs=60", "patience=60", "hidden=[16]", "batch_size=4", "--quiet"]
    return [str(data), "--out", str(out), "--method", method, *settings]


def weights(folder: Path) -> bytes:
    (path,) = folder.glob("weights*.safetensors")
    return path.read_bytes()


def kill_in_training(arguments: list[str], out: Path, after: float) -> bool:
    """Start a run and kill it ``after`` seconds of training; whether it was still running."""
    process = subprocess.Popen([*COMMAND, *arguments], env=ENVIRONMENT)
    checkpoint = out / "checkpoint.safetensors"
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.005)
    time.sleep(after)
    running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return running


@pytest.mark.parametrize("method", ["seal-nce", "seal-static-nce"])
def test_killed_and_resumed(tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_csv(tmp_path / "weather.csv", rows=150)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    # A checkpoint after every epoch, so that the resumed run starts in the middle.
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import lossnet.training.checkpoint as c\n"
        "c.Checkpoint.__init__.__kwdefaults__['seconds'] = 0.0\n"
    )
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", path)
    subprocess.run([*COMMAND, *options(data, whole, method)], env=ENVIRONMENT, check=True)

    arguments = options(data, killed, method)
    assert kill_in_training(arguments, killed, 0.5)
    assert not (killed / "config.json").exists()
    for after in (0.3, 0.6):
        kill_in_training([*arguments, "--resume"], killed, after)
    subprocess.run([*COMMAND, *arguments, "--resume"], env=ENVIRONMENT, check=True)
    assert weights(killed) == weights(whole)
    assert sorted(p.name.partition("-")[0] for p in killed.iterdir()) == sorted(
        p.name.partition("-")[0] for p in whole.iterdir()
    )


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
    huge = ["--method", "cross-entropy", "--set", "method.task_lr=1e30", "hidden=[8]", "--quiet"]
    assert lossnet("train", csv_file, "--out", out, *huge).code == 2
    other = ["--method", "cross-entropy", "--set", "hidden=[9]", "--quiet", "--resume"]
    result = lossnet("train", csv_file, "--out", out, *other)
    assert "differ" in result.err
    (out / "checkpoint.safetensors").write_bytes(b"damaged")
    result = lossnet("train", csv_file, "--out", out, *huge, "--resume")
    assert "damaged" in result.err
