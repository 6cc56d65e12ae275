"""Rows for a trained model: its features and labels, found by name."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lossnet.errors import DataError
from lossnet.plain_text import some
from lossnet.tasks.multilabel.parts import has_parts, missing_values
from lossnet.tasks.task import Rows, once, part_of, same_source, trained_on

if TYPE_CHECKING:
    import numpy as np

    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.multilabel.formats.readers import Labels


@dataclass(frozen=True)
class Known:
    """What a model knows of the data it was trained on.

    Args:
        label_names: its labels, in order.
        n_features: how many features it takes.
        feature_names: their names, None where the model was saved without them.
        labels_option: which columns were labels, where the files do not say.
        train_checksum: of the training part.
        source: the data that training was given.
    """

    label_names: list[str]
    n_features: int
    feature_names: list[str] | None = None
    labels_option: list[str] | None = None
    train_checksum: str | None = None
    source: str | None = None

    def features(self, data: MultiLabelData) -> list[str]:
        """The names of the features wanted; without any of its own, the data's, if as many."""
        if self.feature_names is not None:
            return self.feature_names
        if data.n_features != self.n_features:
            raise DataError(
                f"{data.name} has {data.n_features} features and the model was trained on "
                f"{self.n_features}; give the columns of the training data"
            )
        return data.feature_names


class Matrices(NamedTuple):
    """Rows in a model's columns: ``X``, and ``Y`` where asked for."""

    X: Any
    Y: np.ndarray[Any, Any] | None


def load_labelled(args: argparse.Namespace, known: Known) -> Rows:
    """The rows to evaluate a model on, with its labels matched by name.

    Without ``--split``: the test part of a source that has parts, or that the model's own training
    part was cut from; else all rows.
    """
    from lossnet.tasks.multilabel.inputs import features_like
    from lossnet.tasks.multilabel.loading import load, load_splits
    from lossnet.tasks.multilabel.splits import split_rows

    source, split = args.data, args.split
    labels = known.labels_option if args.labels is None else args.labels
    read = partial(once, args)
    if split == "all" or (split is None and not has_parts(source)):
        data = read(("all", repr(labels)), lambda: load(source, labels=labels))
        if split is None and _cut_from(data, known.train_checksum):
            # Cut once for all models; the next is asked for the test part.
            splits, split = read(("parts", repr(labels)), lambda: split_rows(data)), "test"
            data = part_of(splits.parts(), split, source, "rows")
    else:
        split = split or "test"
        splits = read(("parts", repr(labels)), lambda: load_splits(source, labels=labels))
        data = part_of(splits.parts(), split, source, "rows")
    X, notes = features_like(data, known.features(data))
    matrices = Matrices(X, labels_like(data, known, source))
    split = split or "all"
    part = (
        _cut_from(data, known.train_checksum)
        if split == "all"
        else splits.train.checksum() == known.train_checksum
    )
    seen = trained_on(
        "rows",
        split,
        same=_is_training_part(matrices, known),
        given=same_source(known.source, source),
        part=part,
        divided=not has_parts(source),
    )
    notes = [*data.notes, *missing_values(data), *notes, *seen]
    return Rows(matrices, data.n_rows, split, notes)


def load_unlabelled(
    source: str, known: Known, *, split: str = "all", labels: Labels = None
) -> Rows:
    """The rows to predict, whether or not the source holds labels."""
    from lossnet.tasks.multilabel.inputs import features_like, load_inputs
    from lossnet.tasks.multilabel.loading import load_splits

    if split == "all":
        data = load_inputs(
            source,
            known_features=known.feature_names or (),
            known_labels=known.label_names,
            labels=labels,
        )
    else:
        labels = known.labels_option if labels is None else labels
        data = part_of(load_splits(source, labels=labels).parts(), split, source, "rows")
    X, notes = features_like(data, known.features(data))
    return Rows(Matrices(X, None), data.n_rows, split, [*data.notes, *missing_values(data), *notes])


def labels_like(data: MultiLabelData, known: Known, source: str) -> np.ndarray[Any, Any]:
    """``data.Y`` with the model's labels in the model's order."""
    import numpy as np

    from lossnet.data.text import extension
    from lossnet.tasks.multilabel.inputs import SVMLIGHT

    strange = [name for name in data.label_names if name not in set(known.label_names)]
    if strange:
        raise DataError(
            f"{source} has labels that training never saw: {some(strange)}; evaluate on the "
            "labels of the training data, or train again with these"
        )
    place = {name: k for k, name in enumerate(data.label_names)}
    missing = [name for name in known.label_names if name not in place]
    # An svmlight file lists the labels that are on: one that never appears is off in all rows.
    if missing and extension(source) not in SVMLIGHT:
        raise DataError(
            f"{source} lacks labels that the model predicts: {some(missing)}; give a column for "
            "each label of the training data"
        )
    Y = np.zeros((data.n_rows, len(known.label_names)), dtype=np.uint8)
    for k, name in enumerate(known.label_names):
        if name in place:
            Y[:, k] = data.Y[:, place[name]]
    return Y


def _is_training_part(rows: Matrices, known: Known) -> bool:
    from lossnet.tasks.multilabel.dataset import MultiLabelData

    if known.train_checksum is None:
        return False
    data = MultiLabelData(rows.X, rows.Y, known.feature_names, known.label_names)  # type: ignore[arg-type]
    return data.checksum() == known.train_checksum


def _cut_from(whole: MultiLabelData, checksum: str | None) -> bool:
    from lossnet.tasks.multilabel.splits import split_rows

    if checksum is None or whole.n_rows < 3:
        return False
    return split_rows(whole).train.checksum() == checksum
