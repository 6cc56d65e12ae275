"""Labels as users hold them, and as the nets are trained on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite

from lossnet.data.disk_rows import DiskRows
from lossnet.errors import DataError
from lossnet.tasks.multilabel.arrays import check_labels, is_large, sparse_rows
from lossnet.tasks.multilabel.label_sets import LabelSets

#: What :meth:`Labels.to_json` gives: see :func:`lossnet.files.check_form`.
LABELS_FORM = ({"names": [str], "named": bool}, {"classes": ([str], [bool], [float]), "dtype": str})
_LISTS = "for label lists see sklearn.preprocessing.MultiLabelBinarizer"


def check_known(data: LabelSets) -> None:
    """Raise where a label is not known in any training row: nothing can be learnt of it."""
    known = data.known
    if known is not None and not (some := known.any(axis=0)).all():
        label = data.label_names[int(np.argmin(some))]
        remedy = "leave it out, or give training rows in which it is known"
        raise DataError(f"label {label!r} is not known (NaN) in any training row; {remedy}")


@dataclass(frozen=True)
class Labels:
    """What the columns of the label matrix are.

    Args:
        names: one for each label.
        named: whether the names came with the data; then other data is matched by name.
        classes: the two classes of a 1-D y, the second being label 1; None for a matrix.
        sparse: whether the matrix was a scipy sparse one; then predictions are as well.
    """

    names: list[str]
    named: bool = False
    classes: np.ndarray | None = None
    sparse: bool = False

    @classmethod
    def of(cls, Y: Any) -> Labels:
        """What the columns of training labels are; :meth:`encode` gives their matrix.

        Takes indicator matrices as numpy arrays, lists, scipy sparse matrices and frames, and
        a 1-D y of two classes.
        """
        values, names = _array(Y)
        if values.ndim == 1:
            return cls(["y"], classes=_two_classes(values))
        if names and (twice := Counter(names).most_common(1)[0])[1] > 1:
            raise DataError(f"two columns of Y are called {twice[0]!r}; give each its own name")
        made_up = [f"label_{i}" for i in range(values.shape[1])]
        given = Y.Y if isinstance(Y, LabelSets) else Y
        return cls(names or made_up, named=bool(names), sparse=hasattr(given, "tocsr"))

    def encode(self, Y: Any) -> Any:
        """Labels as a matrix ``(n, L)`` of uint8, or float32 with NaN where they are not known.

        Columns of a frame are found by their names. A sparse matrix that is large stays so.
        """
        values = self._columns(Y)
        if self.classes is None:
            return check_labels(values, "Y", self.names)
        strange = ~np.isin(values, self.classes)
        if strange.any():
            rule = f"which is absent from training; its classes are {self.classes.tolist()}"
            raise DataError(f"Y holds {values[strange][0]!r}, {rule}")
        return (values == self.classes[1]).astype(np.uint8)[:, None]

    def relaxed(self, Y: Any) -> Any:
        """Label sets or points between them, ``(n, L)`` numbers in [0, 1]; sparse if large."""
        if self.classes is not None or isinstance(Y, DiskRows):
            return self.encode(Y)
        values = self._columns(Y)
        stored = values.data if hasattr(values, "tocsr") else values
        if values.dtype.kind not in "biuf" or not ((stored >= 0) & (stored <= 1)).all():
            raise DataError("Y must lie between 0 and 1 everywhere")
        return values

    def _columns(self, Y: Any) -> Any:
        """``Y`` as an array of the shape seen in training, its columns in training's order."""
        values, names = _array(Y)
        one = self.classes is not None
        if one and values.shape[1:] == (1,):
            values = values[:, 0]
        expected = "one class per row" if one else f"{len(self.names)} labels"
        if values.shape[1:] != (() if one else (len(self.names),)):
            raise DataError(f"Y has shape {values.shape}; expected {expected}, as in training")
        if names is None or one or not self.named or names == self.names:
            return values
        place = {name: k for k, name in enumerate(names)}
        if missing := [label for label in self.names if label not in place]:
            rule = f"which Y had in training; its columns are {', '.join(names)}"
            raise DataError(f"Y has no column {missing[0]!r}, {rule}")
        return values[:, [place[label] for label in self.names]]

    def to_json(self) -> Any:
        """The names, or after a 1-D y its classes, as JSON can hold them."""
        if self.classes is None:
            return {"names": self.names, "named": self.named, "sparse": self.sparse}
        return {"classes": self.classes.tolist(), "dtype": self.classes.dtype.str}

    @classmethod
    def from_json(cls, value: Any) -> Labels:
        """The labels that :meth:`to_json` gave."""
        if "classes" not in value:
            named, sparse = (bool(value.get(name)) for name in ("named", "sparse"))
            return cls(list(value["names"]), named=named, sparse=sparse)
        classes = np.array(value["classes"], dtype=value["dtype"])
        if classes.shape != (2,):
            raise DataError(f"a 1-D y has two classes; found {len(classes)}")
        return cls(["y"], classes=classes)

    def decode(self, on: np.ndarray) -> Any:
        """Predictions in the form training labels had, from an ``(n, L)`` matrix of 0 and 1."""
        if self.sparse:
            return csr_matrix(on, dtype=np.int64)
        on = on.astype(np.int64)
        return on if self.classes is None else self.classes[on[:, 0]]


def _array(Y: Any) -> tuple[Any, list[str] | None]:
    """``Y`` as a 1-D or 2-D array, and the names of its columns where it brought any.

    A sparse matrix that is large is CSR, on disk if it is there.
    """
    if isinstance(Y, LabelSets):
        return Y.Y, Y.label_names
    if is_large(Y):
        return sparse_rows(Y), None
    names = [str(column) for column in Y.columns] if hasattr(Y, "columns") else None
    try:
        values = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
        if values.dtype == object and values.ndim == 2:
            values = values.astype(np.float64)
        elif values.dtype == object and all(isinstance(value, Real) for value in values.flat):
            values = np.array(values.tolist())
    except (TypeError, ValueError) as error:
        rule = f"give an indicator matrix of 0 and 1; {_LISTS}"
        raise DataError(f"Y is not a matrix of numbers ({error}); {rule}") from error
    if values.ndim not in (1, 2) or values.shape[-1] == 0:
        expected = "(rows, labels), or one class per row"
        raise DataError(f"Y has shape {values.shape}; expected {expected}")
    return values, names


def _two_classes(y: np.ndarray) -> np.ndarray:
    """The two classes of a 1-D y, sorted."""
    if y.dtype == object and (others := [v for v in y if not isinstance(v, str)]):
        rule = f"give one class per row, all numbers or all strings; {_LISTS}"
        raise DataError(f"y holds {others[0]!r}; {rule}")
    if y.dtype != object:
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        rule = f"Only binary classification is supported. The type of the target is {kind}."
        raise DataError(f"{rule} For many labels give an indicator matrix of 0 and 1")
    classes = np.unique(y)
    if len(classes) < 2:
        raise DataError(f"y holds one class only, {str(classes[0])!r}; two are needed to train")
    return classes
