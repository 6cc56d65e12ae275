"""``lossnet train`` under torchrun: a process that dies, and a run that one process resumes."""

from __future__ import annotations

import os
import subprocess
import sys

from cli_helpers import KILLED, PROGRAM, SMALL, write_csv

#: Only the second process is killed.
SECOND = """
import os
if os.environ["RANK"] != "1":
    os.environ["KILL_AFTER_BATCHES"] = "1000000"
"""


def test_a_killed_process_ends_the_other_and_one_process_resumes(tmp_path, lossnet) -> None:
    data = write_csv(tmp_path / "rows.csv", rows=60)
    program = tmp_path / "killed.py"
    program.write_text(SECOND + KILLED + PROGRAM, encoding="utf-8")
    train = ["train", str(data), "--out", str(tmp_path / "model"), "--method", "seal-nce", *SMALL]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", str(program), *train],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1", "KILL_AFTER_BATCHES": "3"},
    )
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if line.startswith("lossnet:")]
    assert len(said) == 1
    assert "process of this training" in said[0]
    assert "resume from the last good checkpoint" in said[0]
    assert (tmp_path / "model" / "checkpoint.safetensors").exists()
    assert not (tmp_path / "model" / "config.json").exists()
    assert lossnet(*train, "--resume").code == 0
    assert (tmp_path / "model" / "config.json").exists()


def test_other_commands_refuse_several_processes(monkeypatch, lossnet, tmp_path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    data = str(write_csv(tmp_path / "rows.csv"))
    monkeypatch.setenv("RANK", "0")
    result = lossnet("describe", data)
    assert result.code == 2
    assert "lossnet describe runs in one process, and torchrun started 2" in result.err
    monkeypatch.setenv("RANK", "1")
    assert lossnet("describe", data) == (2, "", "")  # the first process says it for all
