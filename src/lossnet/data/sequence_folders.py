"""Files and folders of sequence data, each read by what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lossnet.data.conll import ConllFormat, read_layout
from lossnet.data.cora import read_references
from lossnet.data.sequences import SequenceData
from lossnet.data.splits import PART_WORDS, PARTS, cut_rows
from lossnet.data.utf8 import utf8_text
from lossnet.errors import DataError

_XML = re.compile(r"\s*(?:<\?xml\b|<([A-Za-z][\w-]*)>.*</\1>\s*\Z)", re.DOTALL)


@dataclass(frozen=True)
class SequenceSplits:
    """Three parts of one data set; ``validation`` and ``test`` may be None."""

    train: SequenceData
    validation: SequenceData | None = None
    test: SequenceData | None = None

    @property
    def name(self) -> str:
        """The data set's name."""
        return self.train.name

    def parts(self) -> Iterator[tuple[str, SequenceData]]:
        """The parts there are, each with its name."""
        for part in PARTS:
            data = getattr(self, part)
            if data is not None:
                yield part, data

    def with_validation(self, fraction: float = 0.2, *, seed: int = 0) -> SequenceSplits:
        """The same, with a validation part cut from the training part where there is none."""
        if self.validation is not None:
            return self
        rest, held = cut_rows(len(self.train), [fraction], seed)
        return SequenceSplits(self.train.subset(rest), self.train.subset(held), self.test)


def load_sequences(
    path: str | Path, *, scheme: str | None = None, conll: ConllFormat | None = None
) -> SequenceData:
    """Read all sentences of a file, or of a folder's parts one after another.

    A file that is XML holds references with marked fields; any other is a CoNLL file.

    Args:
        path: the file, also packed (``.gz``), or the folder.
        scheme: IOB1, IOB2 or BIOES, to convert the tags to it; as they stand where None.
        conll: the columns of a CoNLL file; tokens first and tags last where None.
    """
    path = _existing(path)
    if path.is_dir():
        splits = load_sequence_splits(path, scheme=scheme, conll=conll)
        return _joined([data for _, data in splits.parts()])
    if _XML.match(utf8_text(path)):
        return read_references(path, scheme=scheme)
    return read_layout(path, conll or ConllFormat(), scheme=scheme)


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
            for part, file in _part_files(path).items()
        }
        return SequenceSplits(**read)
    data = load_sequences(path, scheme=scheme, conll=conll)
    train, validation, test = (data.subset(rows) for rows in cut_rows(len(data), [0.2, 0.2], seed))
    return SequenceSplits(train, validation, test)


def _existing(path: str | Path) -> Path:
    path = Path(path).expanduser()
    if not path.exists():
        raise DataError(f"{path} does not exist")
    return path


def _part_files(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_file() and p.name[0] != "."):
        words = [word for word in re.split("[-._]", path.name.lower()) if word in PART_WORDS]
        if not words:
            continue
        part = PART_WORDS[words[-1]]
        if part in files:
            raise DataError(f"{folder} has two {part} files: {files[part].name} and {path.name}")
        files[part] = path
    if "train" not in files:
        raise DataError(
            f"{folder} has no training file (such as train.conll or a.train); name one of its files"
        )
    return files


def _joined(parts: list[SequenceData]) -> SequenceData:
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
