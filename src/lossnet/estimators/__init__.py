"""Estimators in the manner of scikit-learn."""

from lossnet.estimators.multilabel import MultiLabelClassifier

__all__ = ["MultiLabelClassifier"]
