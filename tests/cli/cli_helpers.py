"""What the tests of the commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

SMALL = ["--set", "max_epochs=2", "hidden=[8]", "global_hidden=4", "--quiet"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


def write_csv(
    path: Path,
    *,
    rows: int = 40,
    features: Sequence[str] = ("a", "b", "c"),
    labels: Sequence[str] = ("sun", "rain"),
    with_labels: bool = True,
    seed: int = 0,
) -> Path:
    """A CSV file whose labels follow the features of the same number."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, len(features)))
    head = [*features, *(f"label:{name}" for name in labels if with_labels)]
    lines = [",".join(head)]
    for row in values:
        cells = [f"{v:.4f}" for v in row]
        if with_labels:
            cells += [str(int(row[k % len(features)] > 0)) for k in range(len(labels))]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def one_line(result: Result) -> str:
    """The message of a command that failed as it should: one line, exit code 2."""
    assert result.code == 2, result
    assert result.err.startswith("lossnet: error: ")
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err
    return result.err
