"""Rows of features and labels as an estimator reads, divides and batches them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.deciding import LabelDecisions
from lossnet.tasks.multilabel.encoding import Encoding
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.multilabel.inputs import learn_rows, read_rows
from lossnet.tasks.multilabel.stratified import stratified_split
from lossnet.tasks.multilabel.targets import Labels
from lossnet.tasks.standardiser import Standardiser
from lossnet.training import Arrays


class LabelRows(LabelDecisions):
    """What turns users' rows into the data and the batches of :class:`MultiLabelClassifier`."""

    encoding_: Encoding
    imputer_: Imputer
    standardiser_: Standardiser | None
    labels_: Labels
    hidden: Any

    def _data(self, inputs: Any, targets: Any = None) -> MultiLabelData:
        """Rows checked: float32, no infinity; the first, in ``fit``, decide on the columns."""
        first = not hasattr(self, "labels_")
        if isinstance(inputs, MultiLabelData):
            if targets is not None:
                raise DataError(f"{inputs.name} holds its labels; leave out Y")
            targets = inputs if inputs.labelled else None
        elif first and targets is None:
            raise DataError("fit requires y to be passed, but the target y is None")
        if first:
            X, self.encoding_ = learn_rows(self, inputs)
        else:
            X = read_rows(self, inputs, self.encoding_)
        if targets is None:
            return MultiLabelData(X)
        if not first:
            return MultiLabelData(X, self.labels_.encode(targets))
        self._set_labels(labels := Labels.of(targets))
        parents = targets.parents if isinstance(targets, MultiLabelData) else None
        Y = labels.encode(targets)
        return MultiLabelData(X, Y, label_names=labels.names, parents=parents)

    def _set_labels(self, labels: Labels) -> None:
        self.labels_ = labels
        self.label_names_, self.n_labels_ = labels.names, len(labels.names)
        both = np.tile([0, 1], (self.n_labels_, 1))
        self.classes_ = both if labels.classes is None else labels.classes

    def _cut(self, data: MultiLabelData, fraction: float, seed: int) -> Any:
        return stratified_split(data.Y, fraction, np.random.default_rng(seed))

    def _split(self, data: Any, given: Any, seed: int) -> tuple[Any, Any, Any]:
        data, validation, rows = super()._split(data, given, seed)
        if validation is None or given is not None or not isinstance(data, MultiLabelData):
            return data, validation, rows
        # A category that only rows held out have is absent from training.
        self.encoding_, kept = self.encoding_.narrowed(data.X)
        return data.with_features(kept), validation.with_features(kept), rows

    def _batches(self, data: Any, Y: np.ndarray | None, extra: np.ndarray | None = None) -> Any:
        """Batches of the rows with these targets, and perhaps further columns."""
        own = any(map(self._own_factory, ("task", "energy")))
        X, transform = self.imputer_(data.X), self.standardiser_
        how: dict[str, Any] = {"device": self.device, "share": not own, "transform": transform}
        # Nets of the user's own may not take sparse inputs, nor do linear ones.
        return Arrays(X, Y, extra=extra, sparse=not own and len(self.hidden) > 0, **how)
