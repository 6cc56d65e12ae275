"""Estimators in the manner of scikit-learn."""

from lossnet.estimators.image import ImageSegmenter
from lossnet.estimators.multilabel import EXPECTED_FAILED_CHECKS, MultiLabelClassifier
from lossnet.estimators.sequence import SequenceTagger

__all__ = ["EXPECTED_FAILED_CHECKS", "ImageSegmenter", "MultiLabelClassifier", "SequenceTagger"]
