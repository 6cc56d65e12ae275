"""Files and folders of sequence data, each read by what it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from lossnet.data.conll import ConllFormat, default_format, read_layout
from lossnet.data.cora import read_references
from lossnet.data.parts import PART_WORDS, Parts, cut_rows
from lossnet.data.sequences import SequenceData
from lossnet.data.text import extension
from lossnet.data.utf8 import utf8_text
from lossnet.errors import DataError

#: Endings of files that hold tagged sentences and nothing else.
SEQUENCE_EXTENSIONS = frozenset({".conll", ".conllu", ".bio", ".iob", ".iob2", ".bioes", ".xml"})
#: Endings of files that hold rows of numbers, which no CoNLL file has.
_TABLES = frozenset({".arff", ".npz", ".svm", ".svmlight", ".libsvm"})
_XML = re.compile(r"\s*(?:<\?xml\b|<([A-Za-z][\w-]*)>.*</\1>\s*\Z)", re.DOTALL)


@dataclass(frozen=True)
class SequenceSplits(Parts[SequenceData]):
    """Three parts of one data set; ``validation`` and ``test`` may be None."""


def split_sentences(data: SequenceData, *, seed: int = 0) -> SequenceSplits:
    """Divide sentences at random: three fifths for training, a fifth for each of the others."""
    if len(data) < 3:
        raise DataError(
            f"{data.name}: {len(data)} sentences cannot be split in three; give more, or "
            "validation and test data besides"
        )
    rows = cut_rows(len(data), [0.2, 0.2], seed)
    return SequenceSplits(*(data.subset(part) for part in rows))


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
    path = _existing(path)
    if path.is_dir():
        splits = load_sequence_splits(path, scheme=scheme, conll=conll)
        return joined([data for _, data in splits.parts()])
    if extension(path) in _TABLES:
        raise DataError(
            f"{path} holds rows of features and labels, not tagged sentences; expected a CoNLL "
            "file: for this one the task is multilabel"
        )
    if is_xml(utf8_text(path)):
        return read_references(path, scheme=scheme)
    return read_layout(path, conll or default_format(path), scheme=scheme)


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
    ``ner-test.txt``); files whose names do not are left alone: :func:`load_sequences` reads them.
    A single file is divided at random, 60/20/20.

    Args:
        path: the folder or the file.
        scheme: as in :func:`load_sequences`.
        conll: as in :func:`load_sequences`.
        seed: of the division at random.
    """
    path = _existing(path)
    if path.is_dir():
        read = {
            part: replace(load_sequences(file, scheme=scheme, conll=conll), name=path.name)
            for part, file in part_files(path).items()
        }
        return SequenceSplits(**read)
    return split_sentences(load_sequences(path, scheme=scheme, conll=conll), seed=seed)


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
        raise DataError(
            f"{folder} has no training file (such as train.conll or a.train); name one of its files"
        )
    return files


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
