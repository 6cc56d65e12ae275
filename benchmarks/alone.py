"""Exported folders in a process that can import neither torch nor lossnet."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

PROGRAM = """
import pickle, sys, time
folder, banned, repeats = sys.argv[1], set(sys.argv[2].split(",")), int(sys.argv[3])
class Banned:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in banned:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Banned())
sys.path.insert(0, folder)
from runtime.base import load
inputs = pickle.load(sys.stdin.buffer)
model, seconds = load(folder), []
for _ in range(repeats):
    began = time.process_time()
    labels = model.predict(*inputs)
    seconds.append(time.process_time() - began)
found = labels, model.predict_proba(*inputs), min(seconds)
assert not banned & {name.partition(".")[0] for name in sys.modules}
pickle.dump(found, sys.stdout.buffer)
"""
#: What an exported folder may not need; and what one in torch's format may not.
BANNED = "torch,lossnet,sklearn,scipy,pandas,onnx,onnxscript"
WITH_TORCH = "lossnet"


class Alone(NamedTuple):
    """What a folder gave by itself, and the processor seconds of its quickest ``predict``."""

    labels: Any
    probabilities: Any
    seconds: float


def predict_alone(folder: Path, *inputs: Any, banned: str = BANNED, repeats: int = 1) -> Alone:
    """Predictions and probabilities of plain inputs."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), banned, str(repeats)],
        input=pickle.dumps(inputs),
        capture_output=True,
        env=_without_lossnet(),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr.decode()
    return Alone(*pickle.loads(done.stdout))


def script(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``predict.py`` of a folder, run as a user would."""
    command = [sys.executable, str(folder / "predict.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=_without_lossnet())


def _without_lossnet() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
