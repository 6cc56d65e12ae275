"""Estimators in the manner of scikit-learn."""

from lossnet.estimators.multilabel import EXPECTED_FAILED_CHECKS, MultiLabelClassifier

__all__ = ["EXPECTED_FAILED_CHECKS", "MultiLabelClassifier"]
