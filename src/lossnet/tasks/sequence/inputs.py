"""Sentences as users give them: lists, a SequenceData, or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.data.text import extension
from lossnet.data.utf8 import utf8_text
from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence.conll import ConllFormat, is_conllu
from lossnet.tasks.sequence.folders import is_xml, load_sequences
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import PLAIN, detect_scheme, parse_tags

Columns = Mapping[str, list[list[str]]]
_BARE = ConllFormat(tag_column=None)


def sentences_of(
    sentences: Any, tags: Any = None, *, columns: Columns | None = None, tagged: bool = True
) -> SequenceData:
    """Sentences as given in memory, or of a file; ``tagged`` says that its last column is tags."""
    if columns is not None and not isinstance(columns, Mapping):
        raise DataError(
            f"columns is a {type(columns).__name__}; give a dict of columns by name, such as "
            "{'pos': [['N', 'V'], ...]}"
        )
    whole = isinstance(sentences, SequenceData | str | Path)
    if whole and (tags is not None or columns):
        raise DataError(
            f"{'columns' if columns else 'tags'} are given beside a {type(sentences).__name__}, "
            "which holds its own; leave them out"
        )
    if isinstance(sentences, SequenceData):
        return sentences
    if isinstance(sentences, str | Path):
        if not Path(sentences).expanduser().exists():
            raise DataError(
                f"{str(sentences)!r} is a string, and no file of that name; give a list of lists "
                "of tokens, or a file"
            )
        bare = not tagged and not is_conllu(sentences)
        return load_sequences(sentences, conll=_BARE if bare else None)
    return SequenceData(sentences, tags, dict(columns or {}))


def refuse_text(sentences: Any) -> None:
    """Raise on a ``.txt`` file without tags, unless it is XML: it may be CoNLL or text."""
    if not isinstance(sentences, str | Path):
        return
    file = Path(sentences).expanduser()
    if not file.is_file() or extension(file) != ".txt" or is_xml(utf8_text(file)):
        return
    raise DataError(
        f"{str(sentences)!r} may be CoNLL or text with a sentence a line; for CoNLL give "
        "load_sequences(path, ...), for text a list of tokens for each line, or use "
        "the command line: lossnet predict"
    )


def validation_parts(given: Any) -> tuple[Any, Any, Any]:
    """Sentences, tags and columns of validation data."""
    if isinstance(given, SequenceData | str | Path):
        return given, None, None
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise DataError(
            f"validation_data is a {type(given).__name__}; give (sentences, tags), (sentences, "
            "tags, columns), a SequenceData or a file"
        )
    sentences, tags, *more = given
    return sentences, tags, more[0] if more else None


def labelled(sentences: Any, tags: Any, columns: Columns | None, what: str) -> SequenceData:
    """Sentences with tags; an error that names ``what`` where there are none."""
    data = sentences_of(sentences, tags, columns=columns)
    if data.tags is None:
        raise DataError(f"{what} has no tags; give a list of tags for every sentence")
    return data


def scheme_of(data: SequenceData) -> str:
    """The scheme that the tags show; ``"plain"`` where some have a prefix and others have none."""
    try:
        return detect_scheme(data.tags or [])
    except DataError:
        return PLAIN


def check_reward_tags(own: Sequence[str], scheme: str) -> None:
    """Raise where a reward's tags break the scheme of the labelled sentences.

    Args:
        own: the tags that the reward knows.
        scheme: of the labelled sentences; any tag may stand beside plain ones.
    """
    for tag in own if scheme != PLAIN else ():
        try:
            parse_tags([tag], scheme)
        except DataError:
            raise SettingError(
                f"the labelled sentences have tags of the scheme {scheme}, and the reward knows "
                f"{tag!r}, which does not belong to it (all it knows: {', '.join(own)}); give "
                "labelled tags as the reward has them, or a reward with tags such as theirs"
            ) from None
