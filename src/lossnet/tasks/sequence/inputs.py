"""Sentences as users give them: lists, a SequenceData, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lossnet.data.text import extension, utf8_text
from lossnet.errors import DataError
from lossnet.tasks.sequence.conll import ConllFormat, is_conllu
from lossnet.tasks.sequence.folders import is_xml, load_sequences
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import PLAIN, TREES, detect_scheme
from lossnet.tasks.sequence.tree_coding import are_tree_tags
from lossnet.tasks.sequence.trees import is_bracketed

Columns = Mapping[str, list[list[str]]]
_BARE = ConllFormat(tag_column=None)


def sentences_of(
    sentences: Any, tags: Any = None, *, columns: Columns | None = None, tagged: bool = True
) -> SequenceData:
    """Sentences as given in memory, or of a file; ``tagged`` says that its last column is tags."""
    if columns is not None and not isinstance(columns, Mapping):
        raise DataError(f"columns is a {type(columns).__name__}; give a dict of columns by name")
    complete = isinstance(sentences, SequenceData | str | Path)
    if complete and (tags is not None or columns):
        given = f"{'columns' if columns else 'tags'} are given with a {type(sentences).__name__}"
        raise DataError(f"{given}, which holds its own; leave them out")
    if isinstance(sentences, SequenceData):
        return sentences
    if isinstance(sentences, str | Path):
        if not Path(sentences).expanduser().exists():
            wrong = f"{str(sentences)!r} is a string, and no file of that name"
            raise DataError(f"{wrong}; give a list of lists of tokens, or a file")
        bare = not tagged and not is_conllu(sentences)
        return load_sequences(sentences, conll=_BARE if bare else None)
    return SequenceData(sentences, tags, dict(columns or {}))


def refuse_text(sentences: Any) -> None:
    """Raise on a ``.txt`` file without tags, unless it is XML or trees: it may be CoNLL or text."""
    if not isinstance(sentences, str | Path) or extension(sentences) != ".txt":
        return
    file = Path(sentences).expanduser()
    if not file.is_file():
        return
    text = utf8_text(file)
    if not is_xml(text) and not is_bracketed(text, file):
        raise DataError(
            f"{str(sentences)!r} may be CoNLL or text with one sentence per line; for CoNLL give "
            "load_sequences(path, ...), for text lists of tokens, or use lossnet predict"
        )


def sentences_to_tag(sentences: Any, columns: Columns | None, *, trained: int) -> SequenceData:
    """Sentences for a tagger that was trained with that number of columns."""
    if not isinstance(sentences, str | Path):
        return sentences_of(sentences, columns=columns)
    refuse_text(sentences)
    bare = sentences_of(sentences, columns=columns, tagged=False)
    # A column more than the model knows: the file has tags, which are not looked at.
    return sentences_of(sentences) if len(bare.columns) > trained else bare


def scheme_of(data: SequenceData) -> str:
    """The scheme that the tags show; ``"plain"`` where some have a prefix and others have none."""
    if are_tree_tags(data.tag_names):
        return TREES
    try:
        return detect_scheme(data.known_runs)
    except DataError:
        return PLAIN
