"""Parameters and tags that a tagger cannot work with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lossnet.checks import check_choice, check_flag, check_int, check_share, check_weight
from lossnet.data.vectors import WordVectors
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.needs import EXACT
from lossnet.plain_text import some
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import PLAIN, parse_tags

if TYPE_CHECKING:
    from lossnet.tasks.sequence.tagger import SequenceTagger

#: Tag language models added to the chain: paper 003's GE(a), GE(b) and GE(c).
GLOBAL_ENERGIES = ("forward", "both", "both+words")
_FLAGS = ("fixed_vectors", "lowercase", "case", "chars", "pretrain_global", "follow_scheme")


def check_settings(tagger: SequenceTagger, method: Method) -> None:
    """Raise on parameters of the tagger that cannot work."""
    for name in ("hidden", "word_width", "min_count"):
        check_int(name, getattr(tagger, name))
    check_share("dropout", tagger.dropout)
    if tagger.energy_dropout is not None:
        check_share("energy_dropout", tagger.energy_dropout)
    if not isinstance(tagger.vectors, str | Path | WordVectors | None):
        raise SettingError(
            f"vectors is a {type(tagger.vectors).__name__}; give a file, "
            "lossnet.data.WordVectors(words, vectors) or None"
        )
    if tagger.global_energy is not None:
        check_choice("global_energy", tagger.global_energy, GLOBAL_ENERGIES)
        if method.needs >= EXACT:
            raise SettingError(
                f"{tagger.method!r} is exact, which a global energy is not; take "
                "global_energy=None, or another method"
            )
    for name in ("global_weight", "words_weight"):
        check_weight(name, getattr(tagger, name))
    for name in _FLAGS:
        check_flag(name, getattr(tagger, name))
    if tagger.pretrain_global and tagger.global_energy is None:
        raise SettingError(
            "pretrain_global is set and there is no tag language model to train; set "
            f"global_energy to one of {', '.join(map(repr, GLOBAL_ENERGIES))}"
        )


def check_tags(tagger: SequenceTagger, validation: SequenceData) -> None:
    """Raise, before training, where validation tags are unknown or do not fit the metric."""
    if strange := [tag for tag in validation.tag_names if tag not in set(tagger.tags_)]:
        raise DataError(
            f"the validation data has tags absent from the training data: {some(strange)}; correct "
            "them, leave such sentences out, or train on some"
        )
    tags = [tagger.tags_, *(validation.tags or [])]
    try:
        tagger._measured(tags, tags)
    except DataError as error:
        raise DataError(
            f"metric={tagger.metric!r} cannot count spans in these tags: {error}; give tags of "
            "one scheme, or metric='accuracy'"
        ) from error


def check_reward_tags(own: Sequence[str], scheme: str) -> None:
    """Raise where a reward's tags break the scheme of the labelled sentences.

    Args:
        own: the tags that the reward knows.
        scheme: of the labelled sentences; any tag may stand next to plain ones.
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
