"""The files of a folder that holds one data set, and the parts they are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from lossnet.data.text import extension, stem
from lossnet.errors import DataError
from lossnet.files import read_json
from lossnet.tasks.multilabel.formats.readers import EXTENSIONS
from lossnet.tasks.parts import PART_WORDS, PARTS, D, left_out


def folder_files(
    folder: Path, kinds: Iterable[str] = EXTENSIONS, skip: Collection[str] = ()
) -> dict[str, Path]:
    """The file of each part, ``""`` for one of all rows.

    Args:
        folder: where they are.
        kinds: the extensions of data files.
        skip: names of files that are not data.
    """
    kinds = set(kinds)
    found: dict[str, list[Path]] = {"": [], **{part: [] for part in PARTS}}
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        part = part_of_file(path)
        # A text file next to the data is more often a description than data.
        text = not part and extension(path) == ".txt"
        if extension(path) in kinds and path.name[0] != "." and path.name not in skip and not text:
            found[part].append(path)
    if len(found[""]) > 1:
        listed = ", ".join(path.name for path in found[""])
        found[""] = [p for p in found[""] if stem(p).lower() == folder.name.lower()]
        if len(found[""]) != 1:
            raise DataError(f"{folder} holds several data sets ({listed}); name one of the files")
    for part, paths in found.items():
        if len(paths) > 1:
            both = f"{paths[0].name} and {paths[1].name}"
            raise DataError(f"{folder} has two {part} files: {both}; remove one")
    if not any(found.values()):
        known = ", ".join(sorted(kinds))
        raise DataError(f"{folder} holds no data file; known kinds: {known}")
    return {part: paths[0] for part, paths in found.items() if paths}


def _words(path: Path) -> list[str]:
    return re.split(r"[-._]", stem(path))


def part_of_file(path: Path) -> str:
    """The part that a file's name says, the last word that names one; empty for all rows."""
    return ["", *(PART_WORDS[w.lower()] for w in _words(path) if w.lower() in PART_WORDS)][-1]


def marks(path: Path) -> list[str]:
    """What a part file's name says after the part: ``a.train.reconstructed.arff``."""
    words = _words(path)
    at = [k for k, word in enumerate(words) if word.lower() in PART_WORDS]
    rest = words[at[-1] + 1 :] if at else []
    return [f"{path.name} is marked {word!r}" for word in rest]


def not_read(folder: Path, files: Iterable[Path]) -> list[str]:
    """A note on what else the folder holds than the files that were read."""
    known = {*(file.name for file in files), "split.json"}
    # Mulan's .xml files name the labels of .arff files.
    others = (p.name for p in folder.iterdir() if p.name not in known and p.suffix != ".xml")
    return left_out(folder, others)


def parts_of_rows(data: D, path: Path) -> dict[str, D]:
    """The parts that ``split.json`` lists, ``{"train": [rows], "validation": [...], ...}``."""
    split = read_json(path)
    if not isinstance(split, dict) or "train" not in split:
        raise DataError(f'{path}: expected {{"train": [rows], "validation": [...], "test": [...]}}')
    if extra := sorted(set(split) - set(PARTS)):
        raise DataError(f"{path}: unknown part {extra[0]!r}; expected train, validation, test")
    seen: dict[int, str] = {}
    for part, rows in split.items():
        if not isinstance(rows, list) or not all(type(r) is int and r >= 0 for r in rows):
            raise DataError(f"{path}: {part} is not a list of row numbers (counted from 0)")
        for row in rows:
            if row >= len(data):
                names = f"{part} names row {str(row)[:40]}"
                raise DataError(f"{path}: {names}, but there are {len(data)} rows")
            if row in seen:
                raise DataError(f"{path}: row {row} is in {seen[row]} and in {part}")
            seen[row] = part
    return {part: data.subset(rows) for part, rows in split.items()}
