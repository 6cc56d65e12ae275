"""Which column of a CoNLL file is which, as the command line says or a model remembers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.errors import DataError
from lossnet.tasks.sequence.conll import CONLLU, LEFT_OUT, is_conllu
from lossnet.tasks.sequence.folders import part_files

if TYPE_CHECKING:
    from lossnet.tasks.sequence.conll import ConllFormat
    from lossnet.tasks.sequence.folders import SequenceFiles, SequenceSplits
    from lossnet.tasks.sequence.sentences import SequenceData


@dataclass(frozen=True)
class Layout:
    """The columns of a data set's files.

    Args:
        token_column: where the words are, counted from 0, or from the last as -1, -2, ...
        tag_column: where the tags are; None where there are none.
        columns: names of all other columns, from left to right; ``_`` for one that is left out.
            None: all of them, named after their places. ``()``: none of them.
        scheme: what tags are converted to; None leaves them as they stand.
    """

    token_column: int = 0
    tag_column: int | None = -1
    columns: tuple[str, ...] | None = None
    scheme: str | None = None

    @property
    def width(self) -> int:
        """How many columns there are, where all are named."""
        return 1 + (self.tag_column is not None) + len(self.columns or ())

    def changed(self, args: argparse.Namespace) -> Layout:
        """This layout, or what the options say in its place."""
        new: dict[str, Any] = {}
        if args.token_column is not None:
            new["token_column"] = args.token_column
        if args.tag_column is not None:
            new["tag_column"] = None if args.tag_column == "none" else args.tag_column
        if args.columns is not None:
            new["columns"] = () if args.columns == ["none"] else tuple(args.columns)
        # Predictions do not look at the tags of their source.
        if getattr(args, "scheme", None) is not None:
            new["scheme"] = args.scheme
        return replace(self, **new)

    def resolved(self, every: Sequence[str]) -> Layout:
        """The same with a name for each column, where a file has the columns ``every``."""
        if self.columns is None:
            return replace(self, columns=tuple(every))
        return self if self.columns else replace(self, columns=(LEFT_OUT,) * len(every))

    def conll(self) -> ConllFormat:
        """How the reader is told; columns that are left out get names of their own."""
        from lossnet.tasks.sequence.conll import ConllFormat

        names = None
        if self.columns:
            names = [f"_{k}" if n == LEFT_OUT else n for k, n in enumerate(self.columns)]
        return ConllFormat(self.token_column, self.tag_column, names)

    def without_tags(self) -> Layout:
        """The layout of the same files without their tags."""
        if self.tag_column is None:
            return self
        token, tag = (place % self.width for place in (self.token_column, self.tag_column))
        return replace(self, token_column=token - (tag < token), tag_column=None)

    def kept(self, data: SequenceData) -> SequenceData:
        """The data without the columns that are left out."""
        names = self.resolved(list(data.columns)).columns or ()
        columns = {
            name: column
            for name, column, told in zip(data.columns, data.columns.values(), names, strict=True)
            if told != LEFT_OUT
        }
        return replace(data, columns=columns)

    def facts(self) -> dict[str, Any]:
        """What a model folder keeps of it."""
        return {
            "token_column": self.token_column,
            "tag_column": self.tag_column,
            "columns": list(self.columns or ()),
            "scheme": self.scheme,
        }

    @classmethod
    def from_facts(cls, facts: Any) -> Layout:
        """What :meth:`facts` gave."""
        columns = tuple(str(name) for name in facts["columns"])
        return cls(facts["token_column"], facts["tag_column"], columns, facts["scheme"])


def has_parts(source: str) -> bool:
    """Whether a source itself says what to train and what to test on."""
    return Path(source).expanduser().is_dir()


def default_layout(source: str) -> Layout:
    """The layout of a source where nothing is said of it: of CoNLL-U, words and parts of speech."""
    path = Path(source).expanduser()
    file = part_files(path)["train"] if path.is_dir() else path
    return Layout(CONLLU.token_column, CONLLU.tag_column, ()) if is_conllu(file) else Layout()


def open_files(source: str) -> SequenceFiles:
    """The files of a source, each to be opened once."""
    from lossnet.tasks.multilabel.builtin import BUILTIN
    from lossnet.tasks.sequence.folders import SequenceFiles

    if source.partition(":")[0] in BUILTIN:
        raise DataError(
            f"{source} is a built-in data set of rows and labels; give a CoNLL file or a folder "
            "of such, or leave --task out"
        )
    return SequenceFiles(source)


def read(source: str | SequenceFiles, layout: Layout) -> SequenceData:
    """All sentences of a file or folder, with all columns."""
    from lossnet.tasks.sequence.folders import joined

    files = open_files(source) if isinstance(source, str) else source
    return joined(list(files.read(scheme=layout.scheme, conll=layout.conll()).values()))


def read_parts(source: str | SequenceFiles, layout: Layout) -> SequenceSplits:
    """The parts of a folder, or of a file divided at random, with all columns."""
    from lossnet.tasks.sequence.folders import SequenceSplits, split_sentences

    files = open_files(source) if isinstance(source, str) else source
    parts = files.read(scheme=layout.scheme, conll=layout.conll())
    return split_sentences(parts[""]) if "" in parts else SequenceSplits(**parts)
