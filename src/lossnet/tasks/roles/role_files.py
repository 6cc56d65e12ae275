"""Files and folders of predicates and their roles."""

from __future__ import annotations

from pathlib import Path

from lossnet.data.text import extension
from lossnet.errors import DataError
from lossnet.tasks.parts import Parts, as_parts, joined, left_out
from lossnet.tasks.roles.predicates import RoleData
from lossnet.tasks.roles.propbank import read_gold_conll
from lossnet.tasks.roles.role_lines import read_role_lines
from lossnet.tasks.sequence.folders import part_files, training_files

GOLD_CONLL, LINES = ".gold_conll", ".txt"


def holds_roles(path: str | Path) -> bool:
    """Whether a file, or a file for training in a folder, is ``.gold_conll``, also packed."""
    return any(extension(file) == GOLD_CONLL for file in training_files(path))


def load_roles(path: str | Path) -> RoleData:
    """Read all predicates of a file, or of a folder's parts one after another.

    ``.gold_conll`` is PropBank's format, ``.txt`` one predicate a line; both also packed (``.gz``).
    """
    return joined(read_role_parts(path))


def load_role_splits(path: str | Path, *, seed: int = 0) -> Parts[RoleData]:
    """Read the training, validation and test parts of a data set.

    A folder has a file for each, named after its part: ``train.gold_conll.gz``, ``dev.gold_conll``.
    A single file is divided at random, 60/20/20; the predicates of a sentence stay together.
    """
    return as_parts(read_role_parts(path), str(path), seed=seed)


def read_role_parts(path: str | Path) -> dict[str, RoleData]:
    """The data of each part, or of a single file under the empty name."""
    folder = Path(path).expanduser()
    if not folder.exists():
        raise DataError(f"{path} does not exist")
    if not folder.is_dir():
        return {"": _read(folder)}
    kind = GOLD_CONLL if holds_roles(folder) else LINES
    files = part_files(folder, kind)
    parts = {part: _read(file, folder.name) for part, file in files.items()}
    used = {file.name for file in files.values()}
    parts["train"].notes.extend(
        left_out(folder, (file.name for file in folder.iterdir() if file.name not in used))
    )
    return parts


def _read(file: Path, name: str | None = None) -> RoleData:
    kind = extension(file)
    if kind not in (GOLD_CONLL, LINES):
        what = f"{file} must be {GOLD_CONLL} or, with one predicate a line, {LINES}"
        raise DataError(f"{what}, also packed (.gz), got {kind or 'no ending'}")
    read = read_gold_conll if kind == GOLD_CONLL else read_role_lines
    return read(file, name=name)
