"""What the tests of the commands share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SMALL = ["--set", "max_epochs=2", "hidden=[8]", "global_hidden=4", "--quiet"]
#: What the folder of a run holds that did not end.
UNFINISHED = ["checkpoint.safetensors", "history.csv", "history.jsonl"]
#: Ends the process as a power cut would, in the middle of an epoch; the command line follows.
KILLED = """
import os, signal
from lossnet.training import Trainer
plain, left = Trainer._batch, [int(os.environ["KILL_AFTER_BATCHES"])]
def batch(self, *args):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(self, *args)
Trainer._batch = batch
"""
#: The command line, as a program of its own.
PROGRAM = """
from lossnet.cli import main
raise SystemExit(main())
"""


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


SMALL_NET = ["width=4", "crops=1", "average=1", "max_epochs=2"]
SMALL_IMAGES = ["--method", "cross-entropy", "--set", *SMALL_NET, "--quiet"]


def discs(count: int, *, grey: bool = False, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Images of 16 x 16 with a disc of each class but 0, uint8, and their masks."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[:16, :16]
    masks = np.zeros((count, 16, 16), dtype=np.uint8)
    for number in range(1, classes):
        centre = rng.uniform(4, 12, (2, count, 1, 1))
        masks[np.hypot(i - centre[0], j - centre[1]) < 3.5] = number
    images = 200 * masks[..., None] / (classes - 1) + rng.uniform(0, 55, (count, 16, 16, 3))
    return (images[..., 0] if grey else images).astype(np.uint8), masks


def write_pairs(
    folder: Path,
    count: int = 20,
    *,
    grey: bool = False,
    classes: int = 2,
    masks: bool = True,
    seed: int = 0,
) -> Path:
    """Discs as pictures p00.png, p01.png, ... in images/ and masks/."""
    from PIL import Image

    pair = discs(count, grey=grey, classes=classes, seed=seed)
    for kind, arrays in zip(("images", "masks")[: 1 + masks], pair, strict=False):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for number, array in enumerate(arrays):
            Image.fromarray(array).save(folder / kind / f"p{number:02d}.png")
    return folder


def write_roles(path: Path, *, count: int = 30, seed: int = 0) -> Path:
    """A file of predicates and their roles: people who want to see people and places."""
    from lossnet.tasks.roles import RoleData, write_gold_conll

    rng = np.random.default_rng(seed)
    words, predicates, tags = [], [], []
    for _ in range(count):
        who, whom = rng.choice(["Ann", "Bob", "Eve", "Rome"], size=2)
        words += [[str(who), "wants", "to", "see", str(whom)]] * 2
        predicates += [1, 3]
        tags += [
            ["B-ARG0", "B-V", "B-ARG1", "I-ARG1", "I-ARG1"],
            ["B-ARG0", "O", "O", "B-V", "B-ARG1"],
        ]
    write_gold_conll(RoleData.of(words, predicates, tags), path)
    return path


def write_texts(path: Path, *, count: int = 20) -> Path:
    """Texts of a word that says the label, as JSON lines."""
    lines = [{"text": f"word{k % 3} and more", "labels": [f"l{k % 3}"]} for k in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def small_task(kind: str, folder: Path) -> tuple[Path, list[str]]:
    """Small data of a kind (labels, tags, roles, texts, images), and settings for a small model."""
    if kind == "labels":
        return write_csv(folder / "a.csv"), ["max_epochs=1", "hidden=[4]"]
    if kind == "tags":
        return write_ner(folder / "a.conll", sentences=15), ["max_epochs=1", "hidden=4"]
    if kind == "roles":
        return write_roles(folder / "a.gold_conll", count=6), ["max_epochs=1", "hidden=4"]
    if kind == "texts":
        return write_texts(folder / "a.jsonl"), ["max_epochs=1", "hidden=[4]"]
    return write_pairs(folder / "discs", 10), [*SMALL_NET, "max_epochs=1"]
