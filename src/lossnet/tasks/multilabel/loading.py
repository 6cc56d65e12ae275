"""Data from a file, a folder or a built-in name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lossnet.data.text import extension
from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.multilabel.builtin import BUILTIN, builtin_parts
from lossnet.tasks.multilabel.columns import matched, read_matching
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.folders import folder_files, marks, not_read, parts_of_rows
from lossnet.tasks.multilabel.formats.readers import EXTENSIONS, Labels, load_files
from lossnet.tasks.parts import D, Parts, as_parts, joined


def load(source: str | Path, *, labels: Labels = None) -> MultiLabelData:
    """Read all rows of a data set.

    Args:
        source: a file (.arff, .svm, .svmlight, .libsvm, .txt, .csv, .tsv, .npz, each also with
            .gz), a folder that holds one data set, or a built-in name, with parameters if you
            like (``ising:coupling=0.5,seed=3``).
        labels: which columns are labels, where the file does not say: n for the first n, -n for
            the last n, or a list of names.
    """
    return joined(read_parts(source, labels=labels, undivided=True))


def load_splits(
    source: str | Path, *, labels: Labels = None, seed: int = 0
) -> Parts[MultiLabelData]:
    """Read a data set's training, validation and test parts.

    A folder: as its ``split.json`` or its files say; without either, and for a single file, the
    rows are divided at random, 60/20/20. A built-in name has its own parts. What a folder does
    not hold is None: see :meth:`~lossnet.tasks.parts.Parts.with_validation`.

    Args:
        source: as in :func:`load`.
        labels: as in :func:`load`.
        seed: of the division at random; nothing else (a built-in's is ``name:seed=3``).
    """
    return as_parts(read_parts(source, labels=labels), str(source), seed=seed)


def read_parts(
    source: str | Path,
    *,
    labels: Labels = None,
    known: Mapping[str, Any] | None = None,
    labelled: bool = True,
    undivided: bool = False,
) -> dict[str, MultiLabelData]:
    """The parts of a data set by name; ``""`` is the file that holds all rows.

    Args:
        source: as in :func:`load`.
        labels: as in :func:`load`.
        known: the labels and features of the training data, see
            :func:`lossnet.tasks.multilabel.columns.matched`; columns are matched by name.
        labelled: whether labels are needed; where not, a file may lack them, and columns that are
            ``known`` come without.
        undivided: of a folder with both a file of all rows and part files, read the former.
    """

    def read(paths: Sequence[Path], name: str | None = None) -> list[MultiLabelData]:
        if known is None or labels is not None:
            return load_files(paths, labels=labels, name=name)
        found = [read_matching(path, known, labelled=labelled) for path in paths]
        return [replace(data, name=name or data.name) for data in found]

    path = _existing(source)
    if path is None:
        if labels is not None:
            raise SettingError(f"{source} has its own labels: leave labels= out")
        found = dict(builtin_parts(str(source)).items())
    elif path.is_dir():
        found = read_folder(path, folder_files(path), read, undivided)
    else:
        found = {"": read([path])[0]}
    if known is None:
        return found
    where = str(source)
    return {part: matched(data, known, where, labelled=labelled) for part, data in found.items()}


def read_folder(
    folder: Path,
    files: dict[str, Path],
    read: Callable[[list[Path], str], list[D]],
    undivided: bool,
    *,
    beside: Sequence[str] = (),
) -> dict[str, D]:
    """The parts of a folder that holds one data set.

    One file of all rows with ``split.json`` first; else one file per part, the part's name in the
    file's name (``a-train.arff``, ``a.valid.arff``); else one file of all rows.

    Args:
        folder: the folder.
        files: the file of each part.
        read: reads files of a data set of that name.
        undivided: of a folder with both a file of all rows and part files, read the former.
        beside: names of files that go with the data, of which no note says that they are not read.
    """
    files = dict(files)
    split = folder / "split.json"
    if split.is_file() and "" not in files:
        raise DataError(f"{folder} has split.json but no file of all rows for it to divide")
    if "" in files and (split.is_file() or undivided or "train" not in files):
        files = {"": files[""]}
    else:
        files.pop("", None)
    found = dict(zip(files, read(list(files.values()), folder.name), strict=True))
    first = next(iter(found.values()))
    first.notes.extend(not_read(folder, [*files.values(), *map(Path, beside)]))
    for part, data in found.items():
        data.notes.extend(marks(files[part]))
    return found | parts_of_rows(first, split) if split.is_file() else found


def _existing(source: str | Path) -> Path | None:
    """The path, or None where the source is a built-in name."""
    name = str(source).partition(":")[0]
    if isinstance(source, str) and name in BUILTIN:
        return None
    path = Path(source).expanduser()
    if path.exists():
        return path
    if isinstance(source, Path) or "/" in name or extension(name) in EXTENSIONS:
        raise DataError(f"{source} does not exist")
    raise unknown("file, folder or built-in data set", name, BUILTIN)
