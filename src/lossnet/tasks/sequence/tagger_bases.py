"""Foreign taggers and token classifiers: what they must offer, and their probabilities of tags."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from lossnet.checks import check_choice
from lossnet.errors import DataError, SettingError
from lossnet.tasks.bases import as_bases
from lossnet.tasks.sequence.tagger import SequenceTagger

Array = np.ndarray[Any, Any]
#: What a row of a base's inputs is.
Unit = Literal["auto", "token", "sentence"]
UNITS = ("auto", "token", "sentence")
#: How far a token's probabilities may be from a sum of 1.
_APART = 1e-3


def as_taggers(base: Any, unit: Unit) -> list[Any]:
    """The bases that ``base`` is, one or several; an error where one gives no probabilities."""
    check_choice("unit", unit, UNITS)
    example = "make_pipeline(DictVectorizer(), LogisticRegression())"
    bases = as_bases(base, noun="tagger", example=example)
    for one in bases:
        takes, name = unit_of(one, unit), type(one).__name__
        gives = ["predict_proba", *(["predict_marginals"] if takes == "sentence" else [])]
        if not any(hasattr(one, method) for method in gives):
            remedy = "use one that has, such as LogisticRegression, or CalibratedClassifierCV"
            raise SettingError(f"base {name} has no {' or '.join(gives)}; {remedy} around it")
    return bases


def unit_of(base: Any, unit: Unit) -> str:
    """What a base takes, ``"token"`` or ``"sentence"``."""
    if unit != "auto":
        return unit
    tagger = isinstance(base, SequenceTagger) or hasattr(base, "predict_marginals")
    return "sentence" if tagger else "token"


@dataclass(frozen=True)
class FittedTaggers:
    """Bases fitted on tagged sentences.

    Attributes:
        models: the bases.
        tags: names of the tags, the columns of probabilities; a fold may lack some.
        seen: the tags of the sentences that they were fitted on.
        unit: see :func:`unit_of`.
    """

    models: list[Any]
    tags: Sequence[str]
    seen: Sequence[str]
    unit: Unit

    def proba(self, sentences: Sequence[Any]) -> list[Array]:
        """Probabilities of the tags, ``(T, C)`` for every sentence: the mean over the bases."""
        lengths = [count(sentence) for sentence in sentences]
        found = np.mean([self._of(model, sentences, lengths) for model in self.models], axis=0)
        return np.split(found, np.cumsum(lengths)[:-1])

    def _of(self, model: Any, sentences: Sequence[Any], lengths: Sequence[int]) -> Array:
        """One base's probabilities of all tokens, ``(N, C)``."""
        name, tokens = type(model).__name__, sum(lengths)
        if unit_of(model, self.unit) == "token":
            what, given = f"predict_proba of base {name}", model.predict_proba(flat(sentences))
            values, columns = _matrix(given, what, tokens), self._columns(model)
        elif hasattr(model, "predict_marginals"):
            what, given = f"predict_marginals of base {name}", model.predict_marginals(sentences)
            each = _each(given, what, lengths)
            values, columns = self._from_dicts(chain.from_iterable(each), what), self.tags
        else:
            what, given = f"predict_proba of base {name}", model.predict_proba(sentences)
            rows = [np.asarray(one) for one in _each(given, what, lengths)]
            if len({one.shape[1:] for one in rows}) > 1:
                raise DataError(f"{what} gives arrays of different widths; expected (T, tags)")
            values, columns = _matrix(np.concatenate(rows), what, tokens), self._columns(model)
        return self._placed(values, columns, what)

    def _columns(self, model: Any) -> Sequence[str]:
        """The tags that a base's columns stand for."""
        names = getattr(model, "classes_", getattr(model, "tags_", None))
        return self.seen if names is None else [str(name) for name in names]

    def _from_dicts(self, tokens: Iterator[Any], what: str) -> Array:
        number = {tag: k for k, tag in enumerate(self.tags)}
        rows = []
        for token in tokens:
            if not isinstance(token, dict):
                got = reprlib.repr(token)
                raise DataError(f"{what} gives {got} for a token; expected a dict of tags")
            if strange := set(token) - set(number):
                raise DataError(f"{what} has the tag {min(map(str, strange))!r}, absent from y")
            row = np.zeros(len(number))
            row[[number[tag] for tag in token]] = list(token.values())
            rows.append(row)
        return np.stack(rows)

    def _placed(self, values: Array, columns: Sequence[str], what: str) -> Array:
        """Probabilities in the columns of ``tags``, each token's with a sum of 1."""
        if values.shape[1] != len(columns) or not set(columns) <= set(self.tags):
            rule = f"expected a column for each of {len(self.seen)} tags, in the order of classes_"
            raise DataError(f"{what} gives {values.shape[1]} columns; {rule}")
        sums = values.sum(1, keepdims=True)
        if not ((values >= 0) & (np.abs(sums - 1.0) < _APART)).all():
            rule = "at least 0 with a sum of 1 for each token, and some are not (or are NaN)"
            raise DataError(f"{what} must be {rule}")
        proba = np.zeros((len(values), len(self.tags)))
        proba[:, [self.tags.index(name) for name in columns]] = values / sums
        return proba


def fit_taggers(
    bases: Sequence[Any],
    sentences: Sequence[Any],
    tags: Sequence[Sequence[str]],
    names: Sequence[str],
    unit: Unit,
) -> FittedTaggers:
    """Fit the bases, which are changed, on sentences and their tags, some of ``names``."""
    every = list(chain.from_iterable(tags))
    seen = sorted(set(every))
    if len(seen) < 2:
        what = f"all tokens that the base is fitted on have the tag {seen[0]!r}"
        raise DataError(f"{what}; give sentences with several tags, or fewer folds")
    for one in bases:
        if unit_of(one, unit) == "sentence":
            one.fit(sentences, [list(row) for row in tags])
        else:
            _fit_tokens(one, flat(sentences), every)
    return FittedTaggers(list(bases), list(names), seen, unit)


def _fit_tokens(one: Any, tokens: Any, tags: list[str]) -> None:
    try:
        one.fit(tokens, tags)
    except (ValueError, TypeError, AttributeError) as error:
        kind = f"tokens such as {reprlib.repr(tokens[0])}" if isinstance(tokens, list) else ""
        kind = kind or f"the tokens, a {type(tokens).__name__} of shape {tokens.shape}"
        what = f"base {type(one).__name__} cannot be fitted on {kind} ({error})"
        remedy = "give each token as features that it takes, a dict with DictVectorizer or a vector"
        raise DataError(f"{what}; {remedy}; a base of sentences needs unit='sentence'") from error


def flat(sentences: Sequence[Any]) -> Any:
    """The tokens of all sentences in one list, array, sparse matrix or frame."""
    if all(isinstance(sentence, np.ndarray) for sentence in sentences):
        return np.concatenate(sentences)
    if all(sp.issparse(sentence) for sentence in sentences):
        return sp.vstack(sentences, format="csr")
    if all(hasattr(sentence, "iloc") for sentence in sentences):
        import pandas as pd

        return pd.concat(sentences, ignore_index=True)
    return list(chain.from_iterable(sentences))


def count(sentence: Any) -> int:
    """Number of tokens."""
    return int(sentence.shape[0]) if hasattr(sentence, "shape") else len(sentence)


def _matrix(given: Any, what: str, tokens: int) -> Array:
    values = None if isinstance(given, list) else np.asarray(given)
    if values is None or values.ndim != 2 or len(values) != tokens:
        got = f"a list of {len(given)}" if values is None else f"{values.shape}"
        rule = f"expected an array ({tokens}, tags), a row for each token"
        raise DataError(f"{what} gives {got}; {rule}; a base of sentences needs unit='sentence'")
    return values.astype(np.float64)


def _each(given: Any, what: str, lengths: Sequence[int]) -> list[Any]:
    """What a base gives for each sentence, one row for each token."""
    found = list(given)
    sizes = [count(one) if hasattr(one, "__len__") else -1 for one in found]
    if sizes == list(lengths):
        return found
    rule = "expected one for each sentence, with a row for each token"
    if len(sizes) != len(lengths):
        raise DataError(f"{what} gives {len(sizes)} outputs for {len(lengths)} sentences; {rule}")
    row = next(k for k, pair in enumerate(zip(sizes, lengths, strict=True)) if pair[0] != pair[1])
    got = f"{sizes[row]} rows for sentence {row} (counted from 0) of {lengths[row]} tokens"
    raise DataError(f"{what} gives {got}; {rule}")
