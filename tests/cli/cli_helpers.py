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


SMALL_TAGGER = ["--method", "cross-entropy", "--set", "max_epochs=2", "hidden=8", "--quiet"]
_NAMES = {"PER": ["Ann", "Bob", "Eve"], "LOC": ["Rome", "Oslo"]}


def write_ner(
    path: Path, *, sentences: int = 30, pos: bool = False, tags: bool = True, seed: int = 0
) -> Path:
    """A CoNLL file of people who see places: tokens, parts of speech if asked for, IOB2 tags."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        who, where = (str(rng.choice(_NAMES[kind])) for kind in ("PER", "LOC"))
        cells = [(who, "N", "B-PER"), ("Lee", "N", "I-PER"), ("saw", "V", "O")]
        cells += [(where, "N", "B-LOC")] if rng.random() < 0.7 else []
        for word, part, tag in cells:
            lines.append("\t".join([word, *([part] if pos else []), *([tag] if tags else [])]))
        lines.append("")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_ner_folder(folder: Path, *, pos: bool = False) -> Path:
    """Thirty sentences to train on, ten for each of the other parts."""
    for seed, (part, count) in enumerate([("train", 30), ("dev", 10), ("test", 10)]):
        write_ner(folder / f"{part}.conll", sentences=count, pos=pos, seed=seed)
    return folder
