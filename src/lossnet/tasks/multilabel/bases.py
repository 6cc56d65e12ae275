"""Foreign classifiers: what they must offer, and their probabilities as one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from lossnet.errors import DataError, SettingError

Array = np.ndarray[Any, Any]


def check_classifiers(bases: Sequence[Any]) -> None:
    """Raise where a base gives no probabilities."""
    for one in bases:
        if not hasattr(one, "predict_proba"):
            remedy = "use one that has, or CalibratedClassifierCV in MultiOutputClassifier"
            raise SettingError(f"base {type(one).__name__} has no predict_proba; {remedy}")


@dataclass(frozen=True)
class FittedBases:
    """Classifiers fitted on the labels that vary, and what is known of the others.

    Attributes:
        models: the classifiers.
        varies: labels that are on in some training rows and off in others, ``(L,)``.
        constant: 0 or 1 for the labels that do not vary, ``(L,)``.
    """

    models: list[Any]
    varies: Array
    constant: Array

    def proba(self, X: Any) -> Array:
        """Probability of every label, ``(n, L)``: the mean over the classifiers."""
        labels = int(self.varies.sum())
        fitted = 2 if labels == 1 and len(self.varies) > 1 else labels
        found = np.mean([_matrix(model, X, fitted) for model in self.models], axis=0)
        proba = np.tile(self.constant.astype(np.float64), (len(found), 1))
        proba[:, self.varies] = found[:, :labels]
        return proba


def fit_bases(bases: Sequence[Any], X: Any, Y: Array) -> FittedBases:
    """Fit the classifiers, which are changed, on rows and their labels ``(n, L)``.

    Labels with one value are left out: some classifiers fail on them, others return a column less.
    They take a vector or a matrix of at least two columns. So the only label of a task is given to
    them as a vector, and the only one of several that varies is given twice.
    """
    varies = (Y.min(0) != Y.max(0)) if len(Y) else np.zeros(Y.shape[1], dtype=bool)
    if not varies.any():
        what = "no label varies over the rows that the base is fitted on"
        raise DataError(f"{what}; give rows with and without each label, or fewer folds")
    target = Y[:, varies].astype(np.int64)
    if target.shape[1] == 1:
        target = target[:, 0] if Y.shape[1] == 1 else np.hstack([target, target])
    for one in bases:
        _fit(one, X, target)
    return FittedBases(list(bases), varies, Y[0].copy())


def _fit(one: Any, X: Any, y: Array) -> None:
    try:
        one.fit(X, y)
    except ValueError as error:
        if y.ndim == 1 or _takes_matrices(one):
            raise
        what = f"base {type(one).__name__} cannot be fitted on {y.shape[1]} labels ({error})"
        remedy = "OneVsRestClassifier or MultiOutputClassifier around it fits one label at a time"
        raise DataError(f"{what}; {remedy}") from error


def _takes_matrices(one: Any) -> bool:
    """Whether a classifier says of itself that it takes label matrices."""
    tags = get_tags(one)
    several = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(several or tags.target_tags.multi_output)


def _matrix(model: Any, X: Any, labels: int) -> Array:
    """A classifier's probabilities of labels that all vary, ``(n, L)``.

    It may return a matrix of them, a matrix of both classes where there is one label, or a list of
    such matrices.
    """
    given = model.predict_proba(X)
    if isinstance(given, list):
        proba = np.column_stack([np.asarray(one)[:, -1] for one in given])
    else:
        proba = np.asarray(given)
        proba = proba[:, -1:] if labels == 1 and proba.ndim == 2 else proba
    name = type(model).__name__
    if proba.ndim != 2 or proba.shape[1] != labels:
        what = f"predict_proba of base {name} gives {proba.shape}"
        raise DataError(
            f"{what}; expected a column, or an array of two, for each of {labels} labels"
        )
    if not ((proba >= 0) & (proba <= 1)).all():
        rule = "some values are not (or are NaN)"
        raise DataError(f"predict_proba of base {name} must be from 0 to 1, and {rule}")
    return proba.astype(np.float64)
