"""A data set's training, validation and test parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.text import extension, stem
from lossnet.errors import DataError
from lossnet.files import read_json
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import EXTENSIONS, Labels, read_files
from lossnet.tasks.parts import PART_WORDS, PARTS, Parts, cut_rows, left_out


@dataclass(frozen=True)
class Splits(Parts[MultiLabelData]):
    """Three parts with the same columns; ``validation`` and ``test`` may be None."""


def split_rows(data: MultiLabelData, *, seed: int = 0) -> Splits:
    """Divide rows at random: three fifths for training, a fifth for each of the others."""
    if data.n_rows < 3:
        raise DataError(f"{data.name}: {data.n_rows} rows cannot be split in three; give more")
    train, validation, test = cut_rows(data.n_rows, [0.2, 0.2], seed)
    return Splits(data.subset(train), data.subset(validation), data.subset(test))


def folder_splits(folder: Path, *, labels: Labels = None, seed: int = 0) -> Splits:
    """The parts of a folder that holds one data set.

    One whole file with ``split.json`` (``{"train": [rows], "validation": [...], "test": [...]}``)
    first; else one file for each part, the part's name in the file's name (``a-train.arff``,
    ``a.valid.arff``); else one whole file, divided at random.
    """
    whole, parts = _files(folder)
    split = folder / "split.json"
    if split.is_file():
        if whole is None:
            raise DataError(f"{folder} has split.json but no whole file for it to divide")
        return _by_rows(_read(folder, [whole], labels)[0], split)
    if "train" in parts:
        present = [part for part in PARTS if part in parts]
        read = _read(folder, [parts[p] for p in present], labels)
        for part, data in zip(present, read, strict=True):
            data.notes.extend(_marks(parts[part]))
        return Splits(**dict(zip(present, read, strict=True)))
    if whole is None:
        raise DataError(f"{folder} has no training file, only {', '.join(sorted(parts))}")
    return split_rows(_read(folder, [whole], labels)[0], seed=seed)


def folder_whole(folder: Path, *, labels: Labels = None) -> MultiLabelData:
    """All rows of a folder's data set: its whole file, or its parts one after another."""
    whole, parts = _files(folder)
    if whole is not None:
        return _read(folder, [whole], labels)[0]
    return concatenate(_read(folder, [parts[p] for p in PARTS if p in parts], labels))


def _read(folder: Path, files: list[Path], labels: Labels) -> list[MultiLabelData]:
    """The files' rows, the first with a note on what else the folder holds."""
    read = read_files(files, labels=labels, name=folder.name)
    known = {*(file.name for file in files), "split.json"}
    # Mulan's .xml files name the labels of .arff files.
    others = (p.name for p in folder.iterdir() if p.name not in known and p.suffix != ".xml")
    read[0].notes.extend(left_out(folder, others))
    return read


def concatenate(parts: list[MultiLabelData]) -> MultiLabelData:
    """The rows of several parts of one data set, one part after another."""
    first = parts[0]
    if first.is_sparse:
        from scipy.sparse import vstack

        X: Any = vstack([p.X for p in parts], format="csr")
    else:
        X = np.concatenate([p.X for p in parts])
    Y = np.concatenate([p.Y for p in parts])
    notes = list(dict.fromkeys(note for p in parts for note in p.notes))
    return MultiLabelData(
        X, Y, first.feature_names, first.label_names, first.name, first.parents, notes
    )


def _files(folder: Path) -> tuple[Path | None, dict[str, Path]]:
    """The folder's whole file, where there is one, and its part files."""
    whole: list[Path] = []
    parts: dict[str, Path] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        part = _part(path)
        if extension(path) not in EXTENSIONS or path.name.startswith("."):
            continue
        if part is None:
            # A text file beside the data is more often a description than data.
            if extension(path) != ".txt":
                whole.append(path)
        elif part in parts:
            raise DataError(f"{folder} has two {part} files: {parts[part].name} and {path.name}")
        else:
            parts[part] = path
    if len(whole) > 1:
        named = [p for p in whole if stem(p).lower() == folder.name.lower()]
        if len(named) != 1:
            listed = ", ".join(p.name for p in whole)
            raise DataError(f"{folder} holds several data sets ({listed}); name one of the files")
        whole = named
    if not whole and not parts:
        raise DataError(
            f"{folder} holds no data file; known kinds: {', '.join(sorted(EXTENSIONS))}"
        )
    return (whole[0] if whole else None), parts


def _words(path: Path) -> list[str]:
    return re.split(r"[-._]", stem(path))


def _part(path: Path) -> str | None:
    """The part a file's name tells: the last word that names one."""
    found = [PART_WORDS[w.lower()] for w in _words(path) if w.lower() in PART_WORDS]
    return found[-1] if found else None


def _marks(path: Path) -> list[str]:
    """What a part file's name says after the part: ``a.train.reconstructed.arff``."""
    words = _words(path)
    last = max(k for k, w in enumerate(words) if w.lower() in PART_WORDS)
    return [f"{path.name} is marked {word!r}" for word in words[last + 1 :]]


def _by_rows(data: MultiLabelData, path: Path) -> Splits:
    split = read_json(path)
    if not isinstance(split, dict) or "train" not in split:
        raise DataError(f'{path}: expected {{"train": [rows], "validation": [...], "test": [...]}}')
    extra = sorted(set(split) - set(PARTS))
    if extra:
        raise DataError(f"{path}: unknown part {extra[0]!r}; expected train, validation, test")
    seen: dict[int, str] = {}
    for part, rows in split.items():
        if not isinstance(rows, list) or not all(type(r) is int and r >= 0 for r in rows):
            raise DataError(f"{path}: {part} is not a list of row numbers (counted from 0)")
        for row in rows:
            if row >= data.n_rows:
                raise DataError(
                    f"{path}: {part} names row {str(row)[:40]}, but there are {data.n_rows} rows"
                )
            if row in seen:
                raise DataError(f"{path}: row {row} is in {seen[row]} and in {part}")
            seen[row] = part
    return Splits(**{part: data.subset(rows) for part, rows in split.items()})
