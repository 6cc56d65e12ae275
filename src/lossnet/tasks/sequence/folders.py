"""Files and folders of sequence data, each read by what it holds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from lossnet.data.conll import DOCSTART, Table
from lossnet.data.conll_index import stays_on_disk
from lossnet.data.text import extension, utf8_text
from lossnet.errors import DataError, SettingError
from lossnet.tasks.parts import PART_WORDS, PARTS, Parts, as_parts, joined, left_out, listed
from lossnet.tasks.sequence.conll import (
    ConllFormat,
    arranged,
    default_format,
    table_of,
    table_on_disk,
)
from lossnet.tasks.sequence.references import read_references
from lossnet.tasks.sequence.sentences import SequenceData, check_columns
from lossnet.tasks.sequence.trees import TREE_KINDS, begins_tree, is_bracketed, read_trees

#: Endings of files that hold tagged sentences and nothing else.
SEQUENCE_KINDS = ("conll", "conllu", "bio", "iob", "iob2", "bioes", "xml", *TREE_KINDS)
#: Endings of files that hold rows of numbers, which no CoNLL file has.
_TABLES = frozenset({".arff", ".npz", ".svm", ".svmlight", ".libsvm"})
#: Bytes of a file that decide what it is, and a feature of an svmlight file.
_SNIFFED, _VALUE = 2**16, re.compile(r"\d+:[-+.\d]")
_XML = re.compile(r"\s*(?:<\?xml\b|<([A-Za-z][\w-]*)>.*</\1>\s*\Z)", re.DOTALL)


def holds_sequences(path: str | Path) -> bool:
    """Whether a file, or a file in a folder, holds sentences: by its name, or by being trees.

    ``a.conll``, ``a.conllu``, ``a.bio``, ``a.iob``, ``a.xml``, ``a.trees``, and files whose names
    end with their part, such as ``oct27.train``; a folder where it has such a file for training.
    """
    kinds = {extension(file).removeprefix(".") for file in training_files(path)}
    texts = (_start(file) for file in training_files(path))
    return bool(kinds & {*SEQUENCE_KINDS, *PART_WORDS}) or any(map(begins_tree, texts))


def looks_like_conll(path: str | Path) -> bool:
    """Whether a ``.txt`` file, or a folder's for training, has lines of equally many columns.

    The beginning decides; rows of svmlight end in ``number:value``.
    """
    return any(map(_has_columns, training_files(path)))


def training_files(path: str | Path) -> list[Path]:
    """The files for training in a folder; of a file itself."""
    path = Path(path).expanduser()
    if not path.is_dir():
        return [path]
    return [file for file in path.iterdir() if file.is_file() and _part_of(file) == "train"]


def _start(path: Path) -> str:
    """How the text of a ``.txt`` file begins; of others, nothing."""
    if not path.is_file() or path.suffix.lower() != ".txt":
        return ""
    return _begin(path)


def _begin(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_SNIFFED).decode("utf-8-sig", "replace")


def _has_columns(path: Path) -> bool:
    lines = _start(path).splitlines()
    if path.is_file() and path.stat().st_size > _SNIFFED:
        lines = lines[:-1]  # it may be cut
    rows = [line.split() for line in lines if line.strip()]
    widths = {len(cells) for cells in rows if not cells[0].startswith(("#", DOCSTART))}
    return len(widths) == 1 and min(widths) > 1 and not any(_VALUE.match(row[-1]) for row in rows)


def is_xml(text: str) -> bool:
    """Whether a file's text is XML, from its beginning to its end."""
    return _XML.match(text) is not None


def begins_other(start: str, path: Path) -> bool:
    """Whether a file that begins so may be XML or trees, not CoNLL."""
    return start.lstrip().startswith("<") or is_bracketed(start, path)


def load_sequences(
    path: str | Path, *, scheme: str | None = None, conll: ConllFormat | None = None
) -> SequenceData:
    """Read all sentences of a file, or of a folder's parts one after another.

    A file that is XML holds references with marked fields, one that begins with brackets trees;
    any other is a CoNLL file. The sentences of a CoNLL file of 64 MB or more that is not packed
    stay on disk, and are read when they are needed.

    Args:
        path: the file, also packed (``.gz``), or the folder.
        scheme: IOB1, IOB2 or BIOES, to convert the tags to it; as they stand where None.
        conll: the columns of a CoNLL file; where None, tokens first and tags last, and of a
            CoNLL-U file (``.conllu``) the words and their universal parts of speech. Of trees,
            ``ConllFormat(columns=("pos",))`` also gives the nets the parts of speech.
    """
    return joined(SequenceFiles(path, conll).read(conll, scheme=scheme))


def load_sequence_splits(
    path: str | Path, *, scheme: str | None = None, conll: ConllFormat | None = None, seed: int = 0
) -> Parts[SequenceData]:
    """Read the training, validation and test parts of a data set.

    A folder has one file per part, whose name says which (``oct27.train``, ``dev.conll``,
    ``ner-test.txt``, ``eng.testa``); the others are named in a note, and :func:`load_sequences`
    reads them. A single file is divided at random, 60/20/20; documents stay together, and
    sentences with tags that only validation would have go to training.

    Args:
        path: the folder or the file.
        scheme: as in :func:`load_sequences`.
        conll: as in :func:`load_sequences`.
        seed: of the division at random.
    """
    return as_parts(SequenceFiles(path, conll).read(conll, scheme=scheme), str(path), seed=seed)


class SequenceFiles:
    """The files of a data set, each opened once and arranged in columns as often as asked.

    Args:
        path: a file, or a folder with a file for each part.
        conll: the separator and the comments of CoNLL files.
    """

    def __init__(self, path: str | Path, conll: ConllFormat | None = None) -> None:
        self.path = Path(path).expanduser()
        if not self.path.exists():
            raise DataError(f"{path} does not exist{_other_task(str(path))}")
        self.files = part_files(self.path) if self.path.is_dir() else {"": self.path}
        #: The rows of CoNLL files, the text of XML files and of trees.
        self.contents = {part: _content(file, conll) for part, file in self.files.items()}

    @property
    def layout(self) -> ConllFormat:
        """The columns to read if no format is given."""
        return default_format(next(iter(self.files.values())))

    @property
    def width(self) -> int | None:
        """How many columns the first file has; None for XML and trees."""
        first = next(iter(self.contents.values()))
        return first.width if isinstance(first, Table) else None

    def read(
        self, conll: ConllFormat | None = None, *, scheme: str | None = None, every: bool = False
    ) -> dict[str, SequenceData]:
        """The sentences of each part, or of a single file under the empty name.

        Args:
            conll: the columns of CoNLL files.
            scheme: what tags are converted to.
            every: also read the columns that are left out, under other names.
        """
        parts = {}
        for part, content in self.contents.items():
            file = self.files[part]
            if isinstance(content, str):
                parts[part] = _read_text(content, file, conll, scheme)
            else:
                layout = conll or default_format(file)
                parts[part] = arranged(content, file, layout, scheme=scheme, every=every)
        if "" in parts:
            return parts
        check_columns(parts.values())
        used = {file.name for file in self.files.values()}
        others = (file.name for file in self.path.iterdir() if file.name not in used)
        parts["train"].notes.extend(left_out(self.path, others))
        return {part: replace(data, name=self.path.name) for part, data in parts.items()}


def _content(file: Path, conll: ConllFormat | None) -> Table | str:
    if extension(file) in _TABLES:
        wrong = f"{file} holds rows of features and labels, not tagged sentences"
        raise DataError(f"{wrong}; expected a CoNLL file{_other_task(str(file))}")
    layout = conll or default_format(file)
    other = not stays_on_disk(file) or begins_other(_begin(file), file)
    if not other and (found := table_on_disk(file, layout)) is not None:
        return found
    text = utf8_text(file)
    if is_xml(text) or is_bracketed(text, file):
        return text
    return table_of(text, file, layout)


def _read_text(
    text: str, file: Path, conll: ConllFormat | None, scheme: str | None
) -> SequenceData:
    """References or trees."""
    if is_xml(text):
        return read_references(file, scheme=scheme, text=text)
    if scheme is not None:
        raise SettingError(f"{file} holds trees, which have no scheme {scheme}: leave it out")
    return read_trees(file, columns=(conll and conll.columns) or (), text=text)


def _other_task(source: str) -> str:
    """The end of an error: the task that knows the source, where there is one."""
    from lossnet.tasks.registry import tasks

    found = [task.name for task in tasks() if task.name != "sequence" and task.recognises(source)]
    return f"; its task is {found[0]}" if found else ""


def part_files(folder: Path, kind: str | None = None) -> dict[str, Path]:
    """The file of each part that a folder has; an error where there is none for training.

    ``kind`` is the extension of the files to look at; None looks at all.
    """
    files: dict[str, Path] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        if kind not in (None, extension(path)):
            continue
        if (part := _part_of(path)) and files.setdefault(part, path) != path:
            raise DataError(f"{folder} has two {part} files: {files[part].name} and {path.name}")
    if "train" not in files:
        found = listed(path.name for path in folder.iterdir())
        raise DataError(
            f"{folder} has no training file (such as train{kind or '.conll'} or a.train); name one "
            f"of its files{f': {found}' if found else ''}"
        )
    return {part: files[part] for part in PARTS if part in files}


def _part_of(path: Path) -> str | None:
    """The part that a file's name says: the last word that names one."""
    words = [word for word in re.split("[-._]", path.name.lower()) if word in PART_WORDS]
    return PART_WORDS[words[-1]] if words and path.name[0] != "." else None
