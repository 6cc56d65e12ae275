"""What labels that are on, and off, count in the cross-entropy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lossnet.checks import check_weight
from lossnet.errors import SettingError, unknown
from lossnet.method import Method
from lossnet.tasks.multilabel.arrays import gold_of
from lossnet.tasks.multilabel.targets import Labels


def check_setting(setting: Any, method: Method) -> None:
    """Raise unless ``class_weight`` can be used, as far as the method tells."""
    if setting is None:
        return
    if not isinstance(setting, Mapping) and setting != "balanced":
        rule = "must be None, 'balanced' or a dict of labels and weights"
        raise SettingError(f"class_weight {rule}, got {setting!r}")
    for label, weight in setting.items() if isinstance(setting, Mapping) else ():
        check_weight(f"class_weight of {label!r}", weight)
    if all(update.objective.convex_part is None for update in method.updates):
        what = f"class_weight weighs the cross-entropy, and {method.name!r} has none"
        raise SettingError(f"{what}; use a method such as seal-nce, or give it a weight")


def checked(setting: Any, labels: Labels) -> np.ndarray | None:
    """``(2, L)``, what each label counts where it is off and on, of a dict; otherwise None."""
    if not isinstance(setting, Mapping):
        return None
    found = np.ones((2, len(labels.names)))
    if labels.classes is not None:
        known = {value: k for k, value in enumerate(labels.classes.tolist())}
        for value, weight in setting.items():
            if value not in known:
                raise unknown("class in class_weight:", str(value), map(str, known))
            found[known[value], 0] = weight
        return found
    place = {name: k for k, name in enumerate(labels.names)}
    for label, weight in setting.items():
        number = isinstance(label, int | np.integer) and 0 <= label < len(labels.names)
        if not number and str(label) not in place:
            raise unknown("label in class_weight:", str(label), place)
        found[1, label if number else place[str(label)]] = weight
    return found


def weights(setting: Any, labels: Labels, Y: Any) -> np.ndarray | None:
    """The same for training labels ``Y`` ``(n, L)``; a label that is never on, or off, counts 1."""
    if not isinstance(setting, str):
        return checked(setting, labels)
    on, known = (Y, None) if hasattr(Y, "tocsr") else gold_of(Y)
    rows = np.full(on.shape[1], on.shape[0]) if known is None else known.sum(0)
    count = np.asarray(on.sum(0)).ravel().astype(np.int64)
    counts = np.stack([rows - count, count])
    return np.where(counts.min(0) > 0, rows / np.maximum(2 * counts, 1), 1.0)
