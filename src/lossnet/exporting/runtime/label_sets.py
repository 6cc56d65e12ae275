"""Label sets of feature rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .base import Array, Model, ModelError, stored, tempered
from .best_sets import best_f, best_jaccard
from .columns import encoded_rows, rows_of_table

_ROWS = 1024


class LabelModel(Model):
    """Rows of features, and the labels of each.

    ``predict`` takes an array ``(n, d)`` of numbers, NaN where one is missing, or a scipy sparse
    matrix; where columns hold words, an array of objects.
    """

    def read(self, path: Path) -> Any:
        """Rows of a ``.npy``, ``.npz`` (an array, or a CSR matrix) or ``.csv`` file."""
        kind = path.suffix.lower()
        if kind in (".npy", ".npz"):
            return _features(stored(path), path)
        if kind not in (".csv", ".tsv"):
            raise ModelError(f"{path}: features are read from .npy, .npz, .csv and .tsv files")
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter="\t" if kind == ".tsv" else ",")
            table = [cells for cells in rows if cells]
        return rows_of_table(table, self.facts, str(path))

    def outputs(self, inputs: Any) -> dict[str, Array]:
        """Probabilities and logits ``(n, L)`` of the net."""
        found: dict[str, list[Array]] = {"probabilities": [], "logits": []}
        for features in self.batches(inputs):
            for name, values in self.net(features=features).items():
                found[name].append(values)
        none = np.zeros((0, len(self.facts["labels"])), dtype=np.float32)
        return {name: np.concatenate([none, *values]) for name, values in found.items()}

    def batches(self, inputs: Any) -> Iterator[Array]:
        """The rows as the net takes them, some at a time."""
        rows = inputs if hasattr(inputs, "toarray") else np.asarray(inputs)
        if rows.ndim != 2:
            raise ModelError(f"inputs have shape {rows.shape}; expected rows x features")
        if hasattr(rows, "tocsr"):
            rows = rows.tocsr()
        for first in range(0, rows.shape[0], _ROWS):
            some = rows[first : first + _ROWS]
            some = some.toarray() if hasattr(some, "toarray") else some
            yield encoded_rows(some, self.facts, first)

    def predict_proba(self, inputs: Any) -> Array:
        """Probability of every label ``(n, L)``; of both classes where a row has one class."""
        return self._as_users_have(self.outputs(inputs)["probabilities"])

    def _as_users_have(self, p: Array) -> Array:
        temperature = self.facts["temperature"]
        p = p if temperature is None else tempered(p, temperature)
        return p if self.facts["classes"] is None else np.hstack([1.0 - p, p])

    def predict(self, inputs: Any) -> Array:
        """0/1 labels ``(n, L)``; classes ``(n,)`` where a row has one class."""
        on, classes = self.decided(self.outputs(inputs)), self.facts["classes"]
        return on if classes is None else np.array(classes)[on[:, 0]]

    def decided(self, outputs: dict[str, Array]) -> Array:
        """0/1 labels ``(n, L)`` of outputs, by the rule that the model was exported with."""
        p, rule = outputs["probabilities"], self.facts["decision"]
        if rule["rule"] == "expected":
            p = tempered(p, rule["temperature"], offset=rule["offset"])
            on = best_jaccard(p) if self.facts["beta"] is None else best_f(p, self.facts["beta"])
        elif rule["rule"] == "known":
            sets = self.arrays["label_sets"]
            score = (self._scores(outputs) + rule["offset"]) @ sets.T
            on = sets[(score + self.arrays.get("set_scores", 0.0)).argmax(1)]
        else:
            scores = p.astype(np.float64) - self.arrays["threshold"]
            parent = self.arrays.get("parent")
            on = scores >= 0 if parent is None else in_hierarchy(scores, parent)
        return on.astype(np.int64)

    def _scores(self, outputs: dict[str, Array]) -> Array:
        """What each label adds to the score of a set, ``(n, L)``: by its logit, or by a joint."""
        if "label_weights" not in self.arrays:
            return outputs["logits"].astype(np.float64)
        floor = self.facts["floor"]
        p = np.clip(outputs["probabilities"].astype(np.float64), floor, 1.0 - floor)
        return np.log(p / (1.0 - p)) @ self.arrays["label_weights"]

    def lines(self, inputs: Any, *, proba: bool) -> Iterator[dict[str, Any]]:
        outputs, names = self.outputs(inputs), self.facts["labels"]
        rows = zip(
            self.decided(outputs), self._as_users_have(outputs["probabilities"]), strict=True
        )
        for on, p in rows:
            row: dict[str, Any] = {"labels": [names[k] for k in np.flatnonzero(on)]}
            if proba:
                values = (round(float(value), 6) for value in p[-len(names) :])
                row["probabilities"] = dict(zip(names, values, strict=True))
            yield row


def in_hierarchy(scores: Array, parent: Array) -> Array:
    """The sets of largest Σ scores ``(n, L)`` in which the parent of every label on is on, bool.

    A label is on where it and the best of all below it gain together, and its parent is on.

    Args:
        scores: of each label.
        parent: the number of each label's parent, -1 where it has none.
    """
    levels, above = [], np.flatnonzero(parent < 0)
    while len(above := np.flatnonzero(np.isin(parent, above))):
        levels.append(above)
    value = np.array(scores.T)
    for level in reversed(levels):
        np.add.at(value, parent[level], np.maximum(value[level], 0.0))
    on = value >= 0
    for level in levels:
        on[level] &= on[parent[level]]
    return on.T


def _features(arrays: dict[str, Array], path: Path) -> Array:
    """The features in a file: ``X``, its only array, or the parts of a CSR matrix."""
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        if (form := arrays.get("format")) is not None and form.item() != b"csr":
            raise ModelError(f"{path} holds a {form.item().decode()} matrix; save it as CSR")
        dense = np.zeros(arrays["shape"], dtype=np.float32)
        row = np.repeat(np.arange(len(dense)), np.diff(arrays["indptr"]))
        dense[row, arrays["indices"]] = arrays["data"]
        return dense
    if "X" not in arrays and len(arrays) != 1:
        raise ModelError(f"{path} holds {', '.join(arrays)}; the features must be called X")
    return arrays.get("X", next(iter(arrays.values())))
