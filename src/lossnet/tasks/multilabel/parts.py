"""Data to train on: its parts, and how they go to an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.multilabel.formats.readers import Labels
    from lossnet.tasks.multilabel.splits import Splits


def load_parts(
    source: str,
    *,
    labels: Labels = None,
    validation: str | None = None,
    test: str | None = None,
) -> Splits:
    """The parts to train, validate and test on.

    A source without parts of its own is divided 60/20/20, always the same way; where validation
    or test data are given, all its rows are for training.
    """
    from lossnet.tasks.multilabel.loading import load, load_files, load_splits
    from lossnet.tasks.multilabel.splits import Splits

    if validation is None and test is None:
        return load_splits(source, labels=labels)
    given = {"validation": validation, "test": test}
    if has_parts(source):
        own = load_splits(source, labels=labels)
        parts = {"validation": own.validation, "test": own.test}
        for part, other in given.items():
            if other is not None:
                parts[part] = _like(load(other, labels=labels), own.train, other)
        return Splits(own.train, **parts)
    files = [source, *(other for other in given.values() if other is not None)]
    if all(Path(file).is_file() for file in files):
        # Read together, so that words are coded alike.
        train, *read = load_files(files, labels=labels)
    else:
        train, *read = (load(file, labels=labels) for file in files)
    names = [part for part, other in given.items() if other is not None]
    checked = [_like(data, train, file) for data, file in zip(read, files[1:], strict=True)]
    return Splits(train, **dict(zip(names, checked, strict=True)))


def has_parts(source: str) -> bool:
    """Whether a source itself says which rows are for training and which for testing."""
    from lossnet.tasks.multilabel.loading import _existing
    from lossnet.tasks.multilabel.splits import _files

    path = _existing(source)
    if path is None:
        return True
    if not path.is_dir():
        return False
    return (path / "split.json").is_file() or "train" in _files(path)[1]


def missing_values(*parts: MultiLabelData) -> list[str]:
    """A note on what a model does about missing values, where there are any."""
    count = sum(data.n_missing for data in parts)
    what = "1 missing value is" if count == 1 else f"{count:,} missing values are"
    return [f"{what} replaced by the mean of the training rows"] if count else []


class NamedLabels:
    """A label matrix that brings its labels' names to ``fit``, as a pandas frame does."""

    def __init__(self, data: MultiLabelData) -> None:
        self.columns = data.label_names
        self.Y = data.Y

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.Y if dtype is None else self.Y.astype(dtype)


def fit(model: MultiLabelClassifier, splits: Splits, **options: Any) -> None:
    """Train on the training part, with the validation part where there is one."""
    held_out = splits.validation
    model.fit(
        splits.train.X,
        NamedLabels(splits.train),
        validation_data=None if held_out is None else (held_out.X, NamedLabels(held_out)),
        **options,
    )


def _like(data: MultiLabelData, train: MultiLabelData, source: str) -> MultiLabelData:
    """``data`` with the columns of the training part, in its order."""
    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.multilabel.inputs import features_like
    from lossnet.tasks.multilabel.rows import Known, labels_like

    X, notes = features_like(data, train.feature_names)
    Y = labels_like(data, Known(train.label_names, train.n_features), source)
    names = train.feature_names, train.label_names
    return MultiLabelData(X, Y, *names, data.name, train.parents, [*data.notes, *notes])
