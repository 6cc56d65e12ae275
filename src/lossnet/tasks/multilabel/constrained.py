"""Label sets that keep to constraints: those of an estimator's parameter or of its data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lossnet.constraints import Bound, Satisfies, bind, declared, plain
from lossnet.errors import DataError, LossnetError, SettingError
from lossnet.method import Method
from lossnet.needs import CONSTRAINT
from lossnet.plain_text import counted
from lossnet.tasks.multilabel.arrays import parts_of, probabilities
from lossnet.tasks.multilabel.label_sets import LabelSets
from lossnet.tasks.multilabel.metrics import apply_threshold


def bound_to(data: LabelSets, constraints: Any, method: Method) -> Bound:
    """The constraints, or where None those of the training data, bound to its labels.

    Training rows that break them are reported in a warning.
    """
    try:
        found = data.constraints if constraints is None else constraints
        # A search needs no more than some of many.
        known = next(parts_of(data.complete)) if found else None
        bound = bind(found, data.label_names, known=known)
    except LossnetError as error:
        if constraints is not None:
            raise
        remedy = "correct the data, or pass constraints=[] to ignore it"
        raise DataError(f"the data's hierarchy: {error}; {remedy}") from error
    if method.needs >= CONSTRAINT:
        _check_trainable(bound, method)
    parts = parts_of(data.complete) if bound else ()
    broken = sum(int(np.count_nonzero(~bound.allows(part))) for part in parts)
    if broken:
        what = f"{broken:,} of {counted(len(data), 'training row')} break the constraints"
        warnings.warn(f"{what}; predictions never do", stacklevel=5)
    return bound


def _check_trainable(bound: Bound, method: Method) -> None:
    """Raise unless the method can train on the constraints."""
    if not bound:
        remedy = "pass some, constraints=[Implies('child', 'parent')], or data with a hierarchy"
        raise SettingError(f"the method {method.name!r} trains on constraints; {remedy}")
    for rule in bound.declared:
        if isinstance(rule, Satisfies):
            what = f"{method.name!r} cannot train on {rule!r}, which has no expected violations"
            raise SettingError(f"{what}; leave it out, or use another method")


def decide(bound: Bound, proba: Any, threshold: Any) -> Any:
    """0/1 labels ``(n, L)`` at a threshold: the nearest ones that keep to the constraints."""
    if not bound:
        return apply_threshold(proba, threshold)
    return bound.nearest(probabilities(proba) - np.asarray(threshold, dtype=np.float64))


def as_stored(constraints: Any) -> Any:
    """The parameter in a form for JSON; functions stay what they are."""
    if constraints is None:
        return None
    rules = declared(constraints)
    return constraints if any(isinstance(r, Satisfies) for r in rules) else plain(rules)
