"""Structure around any classifier: the joint of labels that its probabilities lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from lossnet.errors import DataError
from lossnet.method import Method
from lossnet.streams import stream_seed
from lossnet.structure import StructureGain
from lossnet.tasks.bases import as_bases, seeded
from lossnet.tasks.cross_fitting import out_of_fold
from lossnet.tasks.multilabel.bases import check_classifiers, fit_bases
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.logit_classifier import LogitClassifier, small_residual
from lossnet.tasks.multilabel.logits import logits_of
from lossnet.tasks.multilabel.stratified import stratified_folds
from lossnet.tasks.multilabel.structured_inputs import (
    encoded,
    inputs_and_labels,
    truth_of,
    validation_of,
)
from lossnet.tasks.multilabel.targets import Labels
from lossnet.tasks.wrapping import WrappingEstimator
from lossnet.training import Callback, check_callbacks


@dataclass(eq=False, repr=False)
class StructuredClassifier(ClassifierMixin, WrappingEstimator):
    """Any classifier with ``predict_proba``, and an energy that knows which labels go together.

    The base's probabilities q take labels as independent. For every training row they are computed
    by a base that was fitted without the row, and an energy E learns to tell the true label sets
    from samples of q. The joint is p(y|x) ∝ q(y|x) exp(-E(q(x), y)), and label sets are decided by
    it for the ``metric`` where held-out rows support it; otherwise the base's probabilities are cut
    at their tuned threshold. The base that predicts is fitted on all rows.

    :meth:`fit` takes whatever X the base takes, arrays, sparse matrices, frames or lists of texts,
    and passes rows of it on as they are. Y is an indicator matrix ``(n, L)``, dense, sparse or a
    frame, or a 1-D y with two classes.

    Args:
        base: a classifier, or a list of them whose probabilities are averaged. It takes label
            matrices, as trees, ``OneVsRestClassifier`` and ``MultiOutputClassifier`` do.
        folds: parts of the training rows: each part's probabilities come from a base fitted on the
            others. Stratified by label. There are as many energies, each of which leaves a part
            out; threshold and decision are chosen on all rows, as the energy that left them out
            says. The mean of the energies predicts.
        metric: what label sets are decided for, see :class:`~lossnet.MultiLabelClassifier`.
        method: how the energy is trained; None is :func:`lossnet.recipes.residual` with a rate that
            falls sooner.
        hidden, global_hidden: the energy's sizes, see :class:`~lossnet.energies.LabelEnergy`. By
            default its local part is linear in the base's logits.
        threshold, decode, decode_samples: how label sets are decided, see
            :class:`~lossnet.MultiLabelClassifier`.
        batch_size, max_epochs, patience: of each energy's training.
        device, verbose: of the energy's training: torch device; 1 shows a progress bar.
        random_state: seed of folds and energy, and of bases whose own ``random_state`` is None.

    Attributes:
        bases_: the fitted classifiers.
        model_: the classifier that maps the bases' logits to label sets; its task-net is the
            identity.
        decision_, threshold_: how it decides, and what was measured; weight 0 is the base alone.
        folds_, out_of_fold_: the fold of each training row; its out-of-fold probabilities
            ``(n, L)``.
        label_names_, classes_: as in :class:`~lossnet.MultiLabelClassifier`.

    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 5)); Y = (X[:, :3] > 0).astype(int)
    >>> clf = StructuredClassifier(ExtraTreesClassifier(10), max_epochs=5, random_state=0)
    >>> clf.fit(X, Y).predict(X).shape
    (80, 3)
    """

    _: KW_ONLY
    metric: str | Callable[..., float] = "subset-accuracy"
    hidden: Sequence[int] = ()
    global_hidden: int = 64
    threshold: float | Literal["tuned", "tuned-per-label"] = "tuned"
    batch_size: int = 64
    patience: int = 5

    deciding: ClassVar[tuple[str, ...]] = (*WrappingEstimator.deciding, "threshold")
    nouns: ClassVar[str] = "classifiers"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        bases = self.base if isinstance(self.base, list | tuple) else [self.base]
        inputs = [get_tags(one).input_tags for one in bases if hasattr(one, "fit")]
        tags.input_tags.sparse = bool(inputs) and all(one.sparse for one in inputs)
        tags.input_tags.allow_nan = bool(inputs) and all(one.allow_nan for one in inputs)
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        validation_data: Any = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Fit the base on all rows, and the energy on its out-of-fold probabilities.

        Args:
            X: inputs as the base takes them, or a :class:`MultiLabelData`.
            y: the labels.
            validation_data: a pair ``(X, y)``, or such data: further rows to choose threshold and
                decision on, from which nothing is learnt.
            callbacks: called as the energies are trained, one after another, see
                :class:`lossnet.Callback`.
        """
        check_callbacks(callbacks)
        bases, model, seed = self._check_settings()
        X, y = inputs_and_labels(X, y)
        labels = Labels.of(y)
        Y = encoded(labels, X, y)
        if len(Y) < self.folds:
            what = f"{len(Y)} rows are fewer than folds={self.folds}"
            raise DataError(f"{what}; give more rows (n_samples), or lower folds (to 2 at least)")
        held = None if validation_data is None else validation_of(validation_data, labels)
        rng = np.random.default_rng(stream_seed(seed, "folds"))
        folds = stratified_folds(Y, int(self.folds), rng)

        def fit_on(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            found = fit_bases(seeded(bases, None), _safe_indexing(X, rows), Y[rows])
            return lambda others: found.proba(_safe_indexing(X, others))

        proba, floor = out_of_fold(folds, fit_on), 0.5 / (len(Y) + 1)
        ready = fit_bases(bases, X, Y)
        same: dict[str, Any] = {"label_names": list(labels.names)}
        same["parents"] = y.parents if isinstance(y, MultiLabelData) else None
        rows, others = MultiLabelData(logits_of(proba, floor), Y, **same), None
        if held is not None:
            others = MultiLabelData(logits_of(ready.proba(held[0]), floor), held[1], **same)
        model.fit(rows, validation_data=others, callbacks=callbacks)
        model._set_labels(labels)
        self._fitted, self._floor, self.model_ = ready, floor, model
        self.bases_, self.folds_, self.out_of_fold_ = ready.models, folds, proba
        self.label_names_, self.classes_ = model.label_names_, model.classes_
        return self

    def _bases(self) -> list[Any]:
        bases = as_bases(self.base, noun="classifier", example="ExtraTreesClassifier()")
        check_classifiers(bases)
        return bases

    def _default_method(self) -> Method:
        return small_residual()

    def _model(self, method: Method, **params: Any) -> LogitClassifier:
        """The classifier whose inputs are logits of the base."""
        sizes: dict[str, Any] = {
            "hidden": self.hidden,
            "global_hidden": self.global_hidden,
            "folds": self.folds,
        }
        return LogitClassifier(method, **sizes, **params)

    # Predicting ------------------------------------------------------------------------------

    def _ready(self, X: Any) -> tuple[LogitClassifier, np.ndarray]:
        """The classifier on top, its parameters as they are now, and its inputs ``(n, L)``."""
        check_is_fitted(self, "model_")
        found = self._fitted.proba(X.X if isinstance(X, MultiLabelData) else X)
        self._decides_as_set()
        return self.model_, logits_of(found, self._floor)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The base's probability of every label, ``(n, L)``; of both classes after a 1-D y.

        They are probabilities of single labels, a little away from 0 and 1, and do not depend on
        the energy, which changes what is predicted for labels together.
        """
        model, inputs = self._ready(X)
        return model.predict_proba(inputs)

    def predict(self, X: Any) -> Any:
        """Label sets ``(n, L)``, 0 or 1, CSR after a sparse y; classes after a 1-D y."""
        model, inputs = self._ready(X)
        return model.predict(inputs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Subset accuracy: the share of rows with all labels correct."""
        (model, inputs), truth = self._ready(X), truth_of(X, y)
        truth = model.labels_.encode(truth) if isinstance(truth, MultiLabelData) else truth
        return model.score(inputs, truth, sample_weight)

    def energy(self, X: Any, Y: Any = None) -> np.ndarray:
        """Energy of label sets, ``(n,)``: log q(y|x) - log p(y|x) up to a constant of the row."""
        model, inputs = self._ready(X)
        found: np.ndarray = model.energy(inputs, truth_of(X, Y))
        return found

    def structure_gain(
        self, X: Any, Y: Any = None, *, samples: int = 100, max_rows: int | None = None
    ) -> StructureGain:
        """Nats a row that the joint knows beyond the base, on rows it was not fitted on.

        ``print`` it for the result in words. ``samples`` and ``max_rows`` are those of
        :meth:`MultiLabelClassifier.structure_gain`.
        """
        model, inputs = self._ready(X)
        return model.structure_gain(inputs, truth_of(X, Y), samples=samples, max_rows=max_rows)

    def tune_threshold(self, X: Any, Y: Any = None) -> Self:
        """Choose ``threshold_`` and ``decision_`` again on other data, as parameters now say."""
        model, inputs = self._ready(X)
        model.tune_threshold(inputs, truth_of(X, Y))
        return self

    def calibrate(self, X: Any, Y: Any = None) -> Self:
        """Learn a temperature for :meth:`predict_proba`; predictions stay as they are."""
        model, inputs = self._ready(X)
        model.calibrate(inputs, truth_of(X, Y))
        return self

    @property
    def temperature_(self) -> float | None:
        """What :meth:`calibrate` learnt, or None."""
        return self.model_.temperature_

    @property
    def threshold_(self) -> Any:
        """The threshold of the base's probabilities."""
        return self.model_.threshold_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X, where the base knows."""
        return int(self._fitted.models[0].n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of X, where the base knows."""
        found: np.ndarray = self._fitted.models[0].feature_names_in_
        return found
