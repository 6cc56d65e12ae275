"""Commands that are killed at random end as they do undisturbed:

    OMP_NUM_THREADS=1 python benchmarks/kills.py

A comparison and a search by one worker are killed ten times each, as by a power cut, at random
moments after they have begun, and continued by the same command; then a search by two workers, of
which one or the other is killed and started again. The first two must end with what the same
command finds undisturbed, all but times: metrics, histories, scores of every example, energies;
trials and weights. In the third, whatever was finished when a worker was killed must be there in
the end, and no trial may be missing. It exits with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DATA = "digits-attributes"
COMPARE = ["compare", DATA, "--methods", "cross-entropy,seal-nce,seal-static-nce", "--seeds", "2"]
COMPARE += ["--baselines", "logistic-regression,extra-trees", "--set", "max_epochs=12"]
SEARCH = ["search", DATA, "--method", "seal-nce", "--trials", "14", "--set", "max_epochs=8"]
#: What no two runs have in common.
TIMES = {"seconds", "predictions_per_second"}


def start(command: Sequence[str], out: Path) -> subprocess.Popen[str]:
    """Start a command, and wait until it has read its data."""
    given = [sys.executable, "-m", "lossnet.cli", *command, "--out", str(out)]
    errors = subprocess.STDOUT
    process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith(DATA):
        raise SystemExit(f"{line}{process.communicate()[0]}")
    return process


def finish(process: subprocess.Popen[str]) -> None:
    """Let a command end by itself."""
    said = process.communicate()[0]
    if process.returncode:
        raise SystemExit(said)


def timed(command: Sequence[str], out: Path) -> float:
    """Run a command undisturbed; the seconds it took once it had read its data."""
    process, began = start(command, out), time.monotonic()
    finish(process)
    return time.monotonic() - began


def killed(command: Sequence[str], out: Path, kills: int, lasts: float, draw: Any) -> int:
    """Kill a command so many times, then let it end; how many times that was possible."""
    for count in range(kills):
        process = start(command, out)
        try:
            process.communicate(timeout=draw.uniform(0.0, 2 * lasts / (kills + 2)))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        else:
            return count
    finish(start(command, out))
    return kills


def killed_worker(out: Path, kills: int, lasts: float, draw: Any) -> tuple[int, int]:
    """Two workers, of which one or the other is killed; how many kills, and lost trials."""
    workers = [start(SEARCH, out), start(SEARCH, out)]
    finished: dict[str, dict[str, str]] = {}
    count = 0
    while count < kills:
        time.sleep(draw.uniform(0.0, 2 * lasts / (kills + 2)))
        unlucky = draw.randrange(2)
        if workers[unlucky].poll() is not None:
            break
        workers[unlucky].send_signal(signal.SIGKILL)
        workers[unlucky].communicate()
        count += 1
        done = (row for row in trials(out) if row["state"] in ("complete", "pruned"))
        finished |= {row["trial"]: row for row in done}
        workers[unlucky] = start(SEARCH, out)
    for worker in workers:
        finish(worker)
    found = {row["trial"]: row for row in trials(out)}
    lost = [number for number, row in finished.items() if found.get(number) != row]
    wanted = {str(number) for number in range(14)}
    ended = {n for n, row in found.items() if row["state"] in ("complete", "pruned")}
    return count, len(lost) + len(wanted - ended)


def trials(folder: Path) -> list[dict[str, str]]:
    """The trials of a search, without their times."""
    path = folder / "trials.csv"
    if not path.exists():
        return []
    with path.open() as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def comparison(folder: Path) -> Any:
    """All that a comparison found, without times."""
    from lossnet.comparison import load_comparison

    return [dataclasses.asdict(run) for run in load_comparison(folder).runs]


def search(folder: Path) -> Any:
    """The trials of a search, and the weights of its model."""
    (weights,) = (folder / "model").glob("weights*.safetensors")
    return trials(folder), weights.read_bytes()


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, times aside and undefined numbers included."""
    if isinstance(one, Mapping):
        keys = one.keys() - TIMES
        return keys == other.keys() - TIMES and all(same(one[key], other[key]) for key in keys)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        exact = one.dtype.kind not in "fc"
        return bool(np.array_equal(one, other, equal_nan=not exact))
    return bool(one == other or (one != one and other != other))


def main() -> int:
    """Kill, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    args = parser.parse_args()
    draw, wrong = random.Random(args.seed), False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, command, read in [
            ("comparison", COMPARE, comparison),
            ("search", SEARCH, search),
        ]:
            lasts = timed(command, place / name)
            count = killed(command, place / f"killed-{name}", args.kills, lasts, draw)
            equal = same(read(place / name), read(place / f"killed-{name}"))
            result = "the same as undisturbed" if equal else "NOT the same as undisturbed"
            print(f"{name}: killed {count} times; {result}", flush=True)
            wrong |= not equal or count < args.kills
        count, lost = killed_worker(place / "two", args.kills, lasts / 4, draw)
        print(f"search by two workers: killed {count} times; {lost} trials lost or missing")
    return int(wrong or lost > 0)


if __name__ == "__main__":
    raise SystemExit(main())
