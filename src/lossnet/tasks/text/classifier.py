"""Multi-label classification of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from lossnet.checks import check_int
from lossnet.errors import DataError
from lossnet.method import Method
from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.metrics import with_unseen
from lossnet.tasks.multilabel.targets import Labels
from lossnet.tasks.text.label_lists import LabelLists, read_labels
from lossnet.tasks.text.texts import TextData
from lossnet.tasks.text.tfidf import Tfidf


@dataclass(eq=False, repr=False)
class TextClassifier(MultiLabelClassifier):
    """Texts with a set of labels each: an encoder under a :class:`~lossnet.MultiLabelClassifier`.

    :meth:`fit` takes strings and their labels: a list (or set, or tuple) of strings for each text,
    or an indicator matrix ``(n, L)``, dense, sparse or a DataFrame. Every method also accepts a
    :class:`~lossnet.tasks.text.TextData` in place of both. A label in validation or other data
    that training never saw is never predicted: it counts as missed. An empty text is an error in
    labelled data; :meth:`predict` takes it.

    Parameters that are not listed here are those of :class:`~lossnet.MultiLabelClassifier`.

    Args:
        ngrams: a column of the TF-IDF features is a run of at most so many words.
        min_count: number of texts that such a run must occur in.
        max_features: number of columns, those that occur most often.

    Attributes:
        classes_, label_names_: names of the labels, sorted, or in the order of the columns of the
            matrix trained on.

    >>> texts = ["oil prices rise", "gold falls", "oil and gold"] * 10
    >>> clf = TextClassifier("cross-entropy", hidden=(16,), batch_size=4, random_state=0)
    >>> clf = clf.fit(texts, [["oil"], ["gold"], ["gold", "oil"]] * 10)
    >>> clf.predict_labels(["the price of oil"])
    [['oil']]
    """

    _: KW_ONLY
    ngrams: int = 1
    min_count: int = 2
    max_features: int = 10_000

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = tags.input_tags.sparse = tags.input_tags.allow_nan = False
        return tags

    def _check_own_settings(self, method: Method) -> None:
        super()._check_own_settings(method)
        for name in ("ngrams", "min_count", "max_features"):
            check_int(name, getattr(self, name))

    # Data ------------------------------------------------------------------------------------

    def _data(self, inputs: Any, targets: Any = None) -> Any:
        first = not hasattr(self, "labels_")
        if isinstance(inputs, TextData):
            if targets is not None:
                raise DataError(f"{inputs.name} holds its labels; leave out the second argument")
            data, named = inputs, True
        elif targets is None:
            if first:
                raise DataError("fit needs the labels of the texts: fit(texts, labels)")
            return TextData(inputs)
        else:
            data, named = self._paired(inputs, targets)
        if not first:
            return data.in_columns(self.label_names_)
        self._set_labels(LabelLists(data.label_names, named=named))
        return data

    def _paired(self, texts: Any, labels: Any) -> tuple[TextData, bool]:
        """Texts with their labels, and whether these have names of their own."""
        Y, names = read_labels(labels, None, "labels")
        known = getattr(self, "label_names_", None)
        if known is None or names is not None:
            return TextData(texts, Y, names), names is not None  # type: ignore[arg-type]
        if Y.ndim != 2 or Y.shape[1] != len(known):
            expected = f"expected {len(known)} labels, as in training"
            raise DataError(f"the matrix of labels has shape {Y.shape}; {expected}")
        return TextData(texts, Y, known), True

    def _set_labels(self, labels: Labels) -> None:
        super()._set_labels(LabelLists(labels.names, labels.named))
        self.classes_ = np.array(labels.names, dtype=object)

    def _learn(self, data: Any, validation: Any, unlabelled: Any, seed: int) -> None:
        own = {"longest": self.ngrams, "least": self.min_count, "most": self.max_features}
        self.coder_ = Tfidf.learn(data.texts, **own)
        self.n_features_in_ = self.coder_.width
        rows = MultiLabelData(self.coder_.rows(data.texts))
        super()._learn(rows, validation, unlabelled, seed)
        self._learnt = data.texts, rows

    def _batches(self, data: Any, Y: np.ndarray | None) -> Any:
        # What training learnt from is what it starts with.
        texts, rows = self.__dict__.pop("_learnt", (None, None))
        if texts is not data.texts:
            rows = MultiLabelData(self.coder_.rows(data.texts))
        return super()._batches(rows, Y)

    # Predicting ------------------------------------------------------------------------------

    def predict_labels(self, X: Any) -> list[list[str]]:
        """The labels of each text, a list of names."""
        return [[self.label_names_[k] for k in np.flatnonzero(on)] for on in self.predict(X)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Subset accuracy: the share of texts with all labels correct."""
        data = self._scored((X, y))
        right = (with_unseen(self.predict(data), data.n_labels) == data.Y).all(1)
        return float(np.average(right, weights=sample_weight))

    def energy(self, X: Any, Y: Any = None) -> Any:
        """Energy of label sets for their texts, ``(n,)``; lower is better.

        ``Y`` are label lists, or a matrix, also with values between 0 and 1.
        """
        return super().energy(self._unseen(X), Y)

    # Storage ---------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._pack()
        return tensors | self.coder_.tensors(), facts | {"vocabulary": self.coder_.facts()}

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        super()._unpack(tensors, facts)
        self.coder_ = Tfidf.restore(tensors, facts["vocabulary"])
