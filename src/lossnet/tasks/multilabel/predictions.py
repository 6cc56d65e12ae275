"""Predicted labels as commands measure and write them, some rows at a time.

What takes long to import is imported where it is needed: every command imports this.
"""

from __future__ import annotations

import copy
import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lossnet.tasks.task import Measured

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.dataset import MultiLabelData

OWN, HALF = "as predicted", "at 0.5"


def csv_text(model: Any, data: MultiLabelData, proba: bool) -> str:
    """A column of 0 and 1 for each label, then of probabilities, named as the reader wants them."""
    from lossnet.tasks.multilabel.formats.csv import PREFIX

    names, text = model.label_names_, io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = ["row", *(f"{PREFIX}{name}" for name in names)]
    writer.writerow(head + [f"probability:{name}" for name in names if proba])
    for row, (on, values) in enumerate(each_row(model, data)):
        writer.writerow([row, *on, *(f"{value:.6g}" for value in values if proba)])
    return text.getvalue()


def predicted(model: Any, data: MultiLabelData, threshold: Any = None) -> tuple[Any, Any]:
    """0/1 labels ``(n, L)``, by the model's decision or at a threshold, and probabilities."""
    if hasattr(model, "predicted"):  # an outside baseline
        found: tuple[Any, Any] = model.predicted(data, threshold)
        return found
    rows, decision = model._unseen(data.without_labels()), model._decision()
    outputs = model._outputs(model._proposal(), rows)
    proba = model._calibrated(outputs)
    if threshold is not None:
        model = copy.copy(model)
        model.threshold_ = threshold
    elif decision.rule != model.usual_rule:
        return model._decided(decision, rows), proba
    return model._discrete(outputs), proba


def each_row(model: Any, data: MultiLabelData) -> Iterator[tuple[Any, Any]]:
    """0/1 labels and probabilities of each row, in memory for some rows at a time."""
    parts = model._parts(data) if hasattr(model, "_parts") else [data]
    for part in parts:
        yield from zip(*predicted(model, part), strict=True)


def measured_in_parts(model: Any, data: MultiLabelData, threshold: Any) -> Measured:
    """The metrics of rows with so many labels that only some are dense at a time; no ``map``."""
    from scipy.sparse import csr_matrix, vstack

    from lossnet.tasks.multilabel.arrays import with_unseen
    from lossnet.tasks.multilabel.constrained import decide
    from lossnet.tasks.multilabel.metrics import evaluate

    found: dict[str, list[Any]] = {OWN if threshold is None else f"at {threshold:g}": [], HALF: []}
    for part in model._parts(data):
        on, proba = predicted(model, part, threshold)
        both = on, decide(model.constraints_, proba, 0.5)  # a threshold of 0.5 is the second
        for labels, parts in zip(both[-len(found) :], found.values(), strict=True):
            parts.append(csr_matrix(with_unseen(labels, data.n_labels), dtype="u1"))
    return {how: evaluate(data.Y, vstack(parts, format="csr")) for how, parts in found.items()}
