"""Files and folders of sequence data, each read by what it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lossnet.data.conll import DOCSTART, Table
from lossnet.data.text import extension
from lossnet.data.utf8 import utf8_text
from lossnet.errors import DataError
from lossnet.tasks.parts import PART_WORDS, PARTS, Parts, cut_rows, left_out, listed
from lossnet.tasks.sequence.conll import ConllFormat, arranged, default_format, table_of
from lossnet.tasks.sequence.references import read_references
from lossnet.tasks.sequence.sentences import SequenceData, with_known_tags

#: Endings of files that hold tagged sentences and nothing else.
SEQUENCE_EXTENSIONS = frozenset({".conll", ".conllu", ".bio", ".iob", ".iob2", ".bioes", ".xml"})
#: Endings of files that hold rows of numbers, which no CoNLL file has.
_TABLES = frozenset({".arff", ".npz", ".svm", ".svmlight", ".libsvm"})
#: Bytes of a file that are looked at to tell what it is, and a feature of an svmlight file.
_SNIFFED, _VALUE = 2**16, re.compile(r"\d+:[-+.\d]")
_XML = re.compile(r"\s*(?:<\?xml\b|<([A-Za-z][\w-]*)>.*</\1>\s*\Z)", re.DOTALL)


@dataclass(frozen=True)
class SequenceSplits(Parts[SequenceData]):
    """Three parts of one data set; ``validation`` and ``test`` may be None."""


def split_sentences(data: SequenceData, *, seed: int = 0) -> SequenceSplits:
    """Divide sentences at random: three fifths for training, a fifth for each of the others.

    Documents stay together, where there are three or more. What would be validated with tags that
    training lacks goes to training.
    """
    if len(data) < 3:
        raise DataError(
            f"{data.name}: {len(data)} sentences cannot be split in three; give more, or "
            "validation and test data besides"
        )
    train, validation, test = cut_rows(len(data), [0.2, 0.2], seed, data.documents)
    moved = with_known_tags(data, train, validation)
    train, validation = moved if len(moved[1]) else (train, validation)
    return SequenceSplits(*(data.subset(part) for part in (train, validation, test)))


def holds_sequences(path: str | Path) -> bool:
    """Whether the name of a file, or of a file in a folder, tells that it holds sentences.

    ``a.conll``, ``a.conllu``, ``a.bio``, ``a.iob``, ``a.xml``, and files whose names end with
    their part, such as ``oct27.train``; a folder where it has such a file for training.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        files = (file for file in path.iterdir() if file.is_file() and _part_of(file) == "train")
        return any(holds_sequences(file) for file in files)
    kind = extension(path)
    return kind in SEQUENCE_EXTENSIONS or kind.removeprefix(".") in PART_WORDS


def looks_like_conll(path: str | Path) -> bool:
    """Whether a ``.txt`` file, or a folder's for training, has lines of equally many columns.

    The beginning decides; rows of svmlight end in ``number:value``.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        files = (file for file in sorted(path.iterdir()) if _part_of(file) == "train")
        return any(file.is_file() and looks_like_conll(file) for file in files)
    if not path.is_file() or path.suffix.lower() != ".txt":
        return False
    with path.open("rb") as file:
        start = file.read(_SNIFFED)
    lines = start.decode("utf-8", "replace").splitlines()
    if len(start) == _SNIFFED:
        lines = lines[:-1]  # it may be cut
    rows = [line.split() for line in lines if line.strip()]
    widths = {len(cells) for cells in rows if not cells[0].startswith(("#", DOCSTART))}
    return len(widths) == 1 and min(widths) > 1 and not any(_VALUE.match(row[-1]) for row in rows)


def load_sequences(
    path: str | Path, *, scheme: str | None = None, conll: ConllFormat | None = None
) -> SequenceData:
    """Read all sentences of a file, or of a folder's parts one after another.

    A file that is XML holds references with marked fields; any other is a CoNLL file.

    Args:
        path: the file, also packed (``.gz``), or the folder.
        scheme: IOB1, IOB2 or BIOES, to convert the tags to it; as they stand where None.
        conll: the columns of a CoNLL file; where None, tokens first and tags last, and of a
            CoNLL-U file (``.conllu``) the words and their universal parts of speech.
    """
    return joined(list(SequenceFiles(path).read(scheme=scheme, conll=conll).values()))


def is_xml(text: str) -> bool:
    """Whether a file's text is XML, from its beginning to its end."""
    return _XML.match(text) is not None


def load_sequence_splits(
    path: str | Path,
    *,
    scheme: str | None = None,
    conll: ConllFormat | None = None,
    seed: int = 0,
) -> SequenceSplits:
    """Read the training, validation and test parts of a data set.

    A folder has one file a part, whose name tells the part (``oct27.train``, ``dev.conll``,
    ``ner-test.txt``, ``eng.testa``); the others are named in a note, and :func:`load_sequences`
    reads them. A single file is divided at random, 60/20/20.

    Args:
        path: the folder or the file.
        scheme: as in :func:`load_sequences`.
        conll: as in :func:`load_sequences`.
        seed: of the division at random.
    """
    read = SequenceFiles(path).read(scheme=scheme, conll=conll)
    return split_sentences(read[""], seed=seed) if "" in read else SequenceSplits(**read)


class SequenceFiles:
    """The files of a data set, each opened once and arranged in columns as often as asked.

    Args:
        path: a file, or a folder with a file for each part.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = _existing(path)
        self.files = part_files(self.path) if self.path.is_dir() else {"": self.path}
        self._texts: dict[Path, str] = {}
        self._tables: dict[Any, Table] = {}

    def read(
        self, *, scheme: str | None = None, conll: ConllFormat | None = None
    ) -> dict[str, SequenceData]:
        """The sentences of each part, or of a single file under the empty name."""
        parts = {part: self._data(file, scheme, conll) for part, file in self.files.items()}
        if "" in parts:
            return parts
        parts = {part: replace(data, name=self.path.name) for part, data in parts.items()}
        used = {file.name for file in self.files.values()}
        others = (file.name for file in self.path.iterdir() if file.name not in used)
        parts["train"].notes.extend(left_out(self.path, others))
        return parts

    def _data(self, file: Path, scheme: str | None, conll: ConllFormat | None) -> SequenceData:
        if extension(file) in _TABLES:
            raise DataError(
                f"{file} holds rows of features and labels, not tagged sentences; expected a CoNLL "
                "file: for this one the task is multilabel"
            )
        if file not in self._texts:
            self._texts[file] = utf8_text(file)
        text = self._texts[file]
        if is_xml(text):
            return read_references(file, scheme=scheme, text=text)
        layout = conll or default_format(file)
        return arranged(self._table(file, layout), file, layout, scheme=scheme)

    def _table(self, file: Path, layout: ConllFormat) -> Table:
        """The rows of a file, which its separator and its comments decide."""
        key = (file, layout.separator, layout.comment)
        if key not in self._tables:
            self._tables[key] = table_of(self._texts[file], file, layout)
        return self._tables[key]


def _existing(path: str | Path) -> Path:
    path = Path(path).expanduser()
    if not path.exists():
        raise DataError(f"{path} does not exist")
    return path


def part_files(folder: Path) -> dict[str, Path]:
    """The file of each part that a folder has; an error where there is none for training."""
    files: dict[str, Path] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        part = _part_of(path)
        if part is None:
            continue
        if part in files:
            raise DataError(f"{folder} has two {part} files: {files[part].name} and {path.name}")
        files[part] = path
    if "train" not in files:
        found = listed(path.name for path in folder.iterdir())
        raise DataError(
            f"{folder} has no training file (such as train.conll or a.train); name one of its "
            f"files{f': {found}' if found else ''}"
        )
    return {part: files[part] for part in PARTS if part in files}


def _part_of(path: Path) -> str | None:
    """The part that a file's name tells: the last word that names one."""
    words = [word for word in re.split("[-._]", path.name.lower()) if word in PART_WORDS]
    return PART_WORDS[words[-1]] if words and path.name[0] != "." else None


def joined(parts: list[SequenceData]) -> SequenceData:
    """The sentences of several parts, one part after another; documents are counted on."""
    first = parts[0]
    for part in parts[1:]:
        if list(part.columns) != list(first.columns) or (part.tags is None) != (first.tags is None):
            raise DataError(f"{part.name} does not have the columns of {first.name}")
    documents: list[int] | None = []
    for part in parts:
        if part.documents is None or documents is None:
            documents = None
        else:
            base = max(documents, default=-1) + 1
            documents += [base + number for number in part.documents]
    return SequenceData(
        [sentence for part in parts for sentence in part.tokens],
        None if first.tags is None else [tags for part in parts for tags in part.tags or []],
        {key: [row for part in parts for row in part.columns[key]] for key in first.columns},
        documents,
        first.name,
        list(dict.fromkeys(note for part in parts for note in part.notes)),
    )
