"""A comparison that is killed again and again ends as one that is not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from comparison_helpers import SMALL, assert_same, rows

import lossnet
from lossnet.comparison import load_comparison
from lossnet.files import write_arrays

# Each attempt is a process of its own, which is killed as by a power cut: at the nth batch, as a
# run's arrays are written, or before its results are. Imports are done once.
ATTEMPTS = """
import json, os, signal, sys
import lossnet.comparison.engine
import lossnet.comparison.measuring as measuring
import lossnet.training.checkpoint as checkpoint
import sklearn.linear_model
from lossnet import MultiLabelClassifier
from lossnet.cli import main
from lossnet.comparison.code_version import code_version
from lossnet.training import Trainer

code_version(MultiLabelClassifier)

def killing(function, left):
    def wrapped(*args, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **options)
    return wrapped

ended = []
for place, number in [*json.loads(sys.argv[1]), ("never", 0)]:
    child = os.fork()
    if not child:
        checkpoint.Checkpoint.__init__.__kwdefaults__["seconds"] = 0.0
        if place == "batch":
            Trainer._batch = killing(Trainer._batch, [number])
        elif place != "never":
            setattr(measuring, place, killing(getattr(measuring, place), [number]))
        os._exit(main(sys.argv[2:]))
    ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print("ended", json.dumps(ended))
"""
KILLS = [("batch", 1), ("batch", 3), ("write_run", 1), ("record", 1), ("batch", 5), ("record", 2)]
KILLS += [("batch", 2), ("batch", 7), ("write_run", 1), ("record", 1)]


def test_killed_ten_times(tmp_path: Path) -> None:
    X, Y = rows()
    data = write_arrays(tmp_path / "rows.npz", {"X": X, "Y": Y})
    parameters = {**SMALL, "max_epochs": 3, "batch_size": 8}
    methods = ["cross-entropy", "seal-static-nce"]
    options = {"methods": methods, "seeds": 2, "baselines": "logistic-regression"}
    whole = lossnet.compare(data, **options, parameters=parameters, out=tmp_path / "whole")
    settings = ["hidden=[8]", *(f"{key}={v}" for key, v in parameters.items() if key != "hidden")]
    command = ["compare", str(data), "--methods", ",".join(methods), "--seeds", "2", "--quiet"]
    command += ["--baselines", "logistic-regression", "--out", str(tmp_path / "killed")]
    given = [sys.executable, "-c", ATTEMPTS, json.dumps(KILLS), *command, "--set", *settings]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    ended = json.loads(done.stdout.rpartition("ended ")[2])
    assert ended == [*[-signal.SIGKILL] * len(KILLS), 0], done.stderr
    assert_same(load_comparison(tmp_path / "killed"), whole)
    files = [path.suffix for path in (tmp_path / "killed").rglob("*") if path.is_file()]
    assert sorted({*files}) == [".csv", ".html", ".json", ".md", ".npz"]
    assert len(files) == len([p for p in (tmp_path / "whole").rglob("*") if p.is_file()])
