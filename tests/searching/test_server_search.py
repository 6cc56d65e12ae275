"""A search whose study is on a database server, by workers that each have a folder of their own."""

from __future__ import annotations

import csv
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet.files import write_arrays

TRIALS = 8
#: A search by the command line; signs of life come often, so that the test takes seconds.
WORKER = """
import os, pathlib, signal, sys, time
import lossnet.searching.storage as storage
import lossnet.searching.study as study
from lossnet.cli import main
from lossnet.searching.search import Search

storage.HEARTBEAT, storage.GRACE, study.GRACE = 1, 3, 3
fitted, left, mark = Search.fitted, [int(sys.argv[1])], pathlib.Path(sys.argv[2])

def fit(self, *args):
    left[0] -= 1
    if left[0] == 0:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    while left[0] < 0 and not mark.exists():  # the other worker has its share
        time.sleep(0.1)
    return fitted(self, *args)

Search.fitted = fit
raise SystemExit(main(sys.argv[3:]))
"""


def programs() -> Path | None:
    """The folder of PostgreSQL's programs."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def as_user() -> dict[str, Any]:
    """The server refuses to run as root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an empty database."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed (initdb not found)")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("the driver of PostgreSQL is not installed (psycopg)")
    own: dict[str, Any] = as_user()
    try:
        user = pwd.getpwnam(own["user"]) if own else None
    except KeyError:
        pytest.skip("there is no user postgres, and the server does not run as root")
    # Not in pytest's folder, which other users cannot enter.
    place = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    if user is not None:
        os.chown(place, user.pw_uid, user.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run: dict[str, Any] = {"cwd": place, "check": True, "capture_output": True, **own}
    control = [folder / "pg_ctl", "-D", place / "data", "-w"]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {place}"
    try:
        subprocess.run([folder / "initdb", "-D", place / "data", "-A", "trust", "-U", "me"], **run)
        started = {**run, "capture_output": False, "stdout": subprocess.DEVNULL}
        subprocess.run([*control, "-o", options, "-l", place / "log", "start"], **started)
        try:
            yield f"postgresql+psycopg://me@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def start(url: str, data: Path, out: Path, kill_at: int = 0) -> subprocess.Popen[str]:
    given = ["search", str(data), "--method", "cross-entropy", "--trials", str(TRIALS)]
    given += ["--out", str(out), "--storage", url, "--set", "max_epochs=3", "decode=threshold"]
    command = [
        sys.executable,
        "-c",
        WORKER,
        str(kill_at),
        str(data.with_name("killed.txt")),
        *given,
    ]
    own = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=own, stdout=-1, stderr=subprocess.STDOUT, text=True)


def trials(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open() as file:
        return list(csv.DictReader(file))


def test_two_workers_share_a_study_and_one_is_killed(server: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    data = write_arrays(tmp_path / "rows.npz", {"X": X, "Y": (X[:, :3] > 0).astype(int)})
    # They start at the same time, on a database without any table.
    killed = start(server, data, tmp_path / "killed", kill_at=3)
    other = start(server, data, tmp_path / "other")
    assert killed.wait(120) == -signal.SIGKILL
    before = [row for row in trials(tmp_path / "killed") if row["state"] == "complete"]
    said = other.communicate(timeout=120)[0]
    assert other.returncode == 0, said
    rows = trials(tmp_path / "other")
    assert [row["trial"] for row in rows] == [str(number) for number in range(TRIALS)]
    assert {row["state"] for row in rows} <= {"complete", "pruned"}
    assert len(before) == 2
    assert "is run again: its process ended" in said
    assert all(row in rows for row in before)
    values = [tuple(v for k, v in row.items() if "." in k or k == "hidden") for row in rows]
    assert len(set(values)) == TRIALS  # no settings were tried twice
    assert (tmp_path / "other" / "model").is_dir()
