"""Structure around any tagger: the joint of tags that its probabilities lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lossnet.checks import check_choice
from lossnet.errors import DataError
from lossnet.method import Method
from lossnet.recipes import residual
from lossnet.streams import stream_seed
from lossnet.structure import StructureGain
from lossnet.tasks.bases import seeded
from lossnet.tasks.cross_fitting import out_of_fold, ragged, random_folds
from lossnet.tasks.sequence.logit_tagger import LogitData, LogitTagger
from lossnet.tasks.sequence.structured_sentences import Sentences, tagged, validation_of
from lossnet.tasks.sequence.tagger_bases import Unit, as_taggers, fit_taggers
from lossnet.tasks.sequence.tags import Span
from lossnet.tasks.wrapping import WrappingEstimator
from lossnet.training import Callback, check_callbacks

METRICS = ("accuracy", "span-f1", "strict-span-f1")


@dataclass(eq=False, repr=False)
class StructuredTagger(WrappingEstimator):
    """Any model of token probabilities, and an energy that knows which tags follow each other.

    The base's probabilities q take the tags of a sentence as independent. For every training
    sentence they are computed by a base that was fitted without it, and a chain energy E learns
    what they lack: the joint p(y|x) ∝ q(y|x) exp(-E(q(x), y)) is a chain, trained by its exact
    likelihood. Tags are decided by it for the ``metric``, exactly too, where held-out sentences
    support that; otherwise the base's most probable tags stay. The base that predicts is fitted on
    all sentences.

    X is a list of sentences: lists of tokens, each whatever the base takes, a dict, a vector or a
    word; or an array, sparse matrix or frame ``(T, features)`` for each sentence. y is a list of
    lists of tags. A :class:`~lossnet.tasks.sequence.SequenceData` holds both.

    Args:
        base: what gives the probabilities, or a list of such whose probabilities are averaged: a
            classifier of tokens with ``predict_proba``, as a pipeline with ``DictVectorizer``; or a
            tagger of sentences, with ``predict_marginals`` (a list of dicts for each sentence, as
            sklearn-crfsuite gives) or ``predict_proba`` (an array ``(T, C)`` for each sentence,
            columns as in its ``classes_`` or ``tags_``).
        unit: what a base's rows are: ``"token"`` or ``"sentence"``; ``"auto"`` takes bases with
            ``predict_marginals`` and lossnet's own taggers for the second.
        folds: parts of the training sentences: each part's probabilities come from a base fitted on
            the others. Sentences of one document stay together.
        metric: what tags are decided for: ``"accuracy"``, ``"span-f1"`` or ``"strict-span-f1"``,
            see :class:`~lossnet.SequenceTagger`.
        method: how the energy is trained; None is ``lossnet.recipes.residual(samples=None)``, by
            the exact likelihood of the joint.
        follow_scheme: predict tags that are valid IOB2 or BIOES if the training tags are, the
            base's too.
        decode, decode_samples: how tags are decided, see :class:`~lossnet.SequenceTagger`.
        validation_fraction: share of the training sentences on which the energy stops and the
            decision is chosen, if ``fit`` gets no validation data. The base trains on them too:
            their probabilities are out of fold.
        batch_size, max_epochs, patience: of the energy's training.
        device, verbose: of the energy's training: torch device; 1 shows a progress bar.
        random_state: seed of folds and energy, and of bases whose own ``random_state`` is None.

    Attributes:
        bases_: the fitted bases.
        model_: the tagger that maps the bases' logits to tags; its task-net gives them unchanged.
        decision_: how it decides, and what was measured; ``"argmax"`` is the base alone.
        folds_, out_of_fold_: the fold of each training sentence; its out-of-fold probabilities
            ``(T, C)``.
        tags_: names of the tags, sorted: the columns of probabilities.

    >>> from sklearn.feature_extraction import DictVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "dogs"}]] * 10
    >>> y = [["D", "N"], ["N"]] * 10
    >>> base = make_pipeline(DictVectorizer(), LogisticRegression())
    >>> tagger = StructuredTagger(base, max_epochs=2, random_state=0).fit(X, y)
    >>> tagger.predict([[{"word": "the"}, {"word": "dog"}]])
    [['D', 'N']]
    """

    _: KW_ONLY
    unit: Unit = "auto"
    metric: Literal["accuracy", "span-f1", "strict-span-f1"] = "accuracy"
    follow_scheme: bool = True
    validation_fraction: float = 0.25

    deciding: ClassVar[tuple[str, ...]] = (*WrappingEstimator.deciding, "follow_scheme")
    training: ClassVar[tuple[str, ...]] = (*WrappingEstimator.training, "validation_fraction")
    nouns: ClassVar[str] = "taggers"

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        validation_data: Any = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Fit the base on all sentences, and the energy on its out-of-fold probabilities.

        Args:
            X: the sentences.
            y: their tags.
            groups: the document of each sentence; those of one document are in the same fold, and
                not in both training and validation.
            validation_data: a pair ``(X, y)``, or such data, for early stopping and the decision,
                in place of a share of the sentences.
            callbacks: called as the energy is trained, see :class:`lossnet.Callback`.
        """
        check_callbacks(callbacks)
        bases, model, seed = self._check_settings()
        data = tagged(X, y, groups)
        known = data.known
        if len(data) < self.folds:
            what = f"{len(data)} sentences are fewer than folds={self.folds}"
            raise DataError(f"{what}; give more sentences, or lower folds (to 2 at least)")
        held = None if validation_data is None else validation_of(validation_data)
        model.check_tags(known, known if held is None else held.known)
        rng = np.random.default_rng(stream_seed(seed, "folds"))
        folds = random_folds(len(data), int(self.folds), rng, known.documents)
        names, tags = known.tag_names, known.tags or []

        def fit_on(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            own = data.take(rows), [tags[row] for row in rows]
            found = fit_taggers(seeded(bases, None), *own, names, self.unit)
            return lambda others: ragged(found.proba(data.take(others)))

        proba, floor = list(out_of_fold(folds, fit_on)), 0.5 / (known.n_tokens + 1)
        ready = fit_taggers(bases, data.given, tags, names, self.unit)
        other = None if held is None else held.with_logits(ready.proba(held.given), floor)
        how = {"validation_data": other, "callbacks": callbacks}
        model.fit(data.with_logits(proba, floor), **how)
        self._fitted, self._floor, self.model_ = ready, floor, model
        self.bases_, self.folds_, self.out_of_fold_ = ready.models, folds, proba
        self.tags_ = model.tags_
        return self

    def _bases(self) -> list[Any]:
        check_choice("metric", self.metric, METRICS)
        return as_taggers(self.base, self.unit)

    def _default_method(self) -> Method:
        return residual(samples=None)

    def _model(self, method: Method, **params: Any) -> LogitTagger:
        return LogitTagger(method, chain=False, **params)

    # Predicting ------------------------------------------------------------------------------

    def _ready(self, X: Any, y: Any = None) -> tuple[LogitTagger, LogitData]:
        """The tagger on top, its parameters as they are now, and its data."""
        check_is_fitted(self, "model_")
        check_choice("metric", self.metric, METRICS)
        data = Sentences.of(X, y)
        self._decides_as_set()
        return self.model_, data.with_logits(self._fitted.proba(data.given), self._floor)

    def predict(self, X: Any) -> list[list[str]]:
        """The tags of every sentence."""
        model, data = self._ready(X)
        return model.predict(data)

    def predict_spans(self, X: Any) -> list[list[Span]]:
        """The spans of every sentence: type, first token, and the token after the last."""
        model, data = self._ready(X)
        return model.predict_spans(data)

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """The base's probabilities of the tags ``tags_``, ``(T, C)`` for every sentence.

        They are a little away from 0 and do not depend on the energy, which changes what is
        predicted for tags together; :meth:`marginals` does.
        """
        model, data = self._ready(X)
        return model.predict_proba(data)

    def marginals(self, X: Any) -> list[np.ndarray]:
        """Probabilities of the tags under the joint of base and energy, ``(T, C)`` each, exactly.

        With ``follow_scheme`` over the sequences that are valid in the scheme.
        """
        model, data = self._ready(X)
        return model.marginals(data)

    def score(self, X: Any, y: Any = None) -> float:
        """The metric; tags absent from training count as wrong."""
        model, data = self._ready(X, y)
        return model.score(data)

    def energy(self, X: Any, y: Any = None) -> np.ndarray:
        """Energy of tags, ``(n,)``: log q(y|x) - log p(y|x) up to a constant of the sentence."""
        model, data = self._ready(X, y)
        return model.energies(data)

    def structure_gain(
        self, X: Any, y: Any = None, *, max_rows: int | None = None
    ) -> StructureGain:
        """Nats a sentence that the joint knows beyond the base, on sentences it was not fitted on.

        ``print`` it for the result in words. Of more than ``max_rows`` sentences, by default 1,000,
        so many are taken at random, always the same.
        """
        model, data = self._ready(X, y)
        return model.structure_gain(data, max_rows=max_rows)

    def tune_decision(self, X: Any, y: Any = None) -> Self:
        """Choose ``decision_`` again on other sentences, as parameters say now."""
        model, data = self._ready(X, y)
        model.tune_decision(data)
        return self

    def calibrate(self, X: Any, y: Any = None) -> Self:
        """Learn a temperature for :meth:`predict_proba`; predictions stay as they are."""
        model, data = self._ready(X, y)
        model.calibrate(data)
        return self
