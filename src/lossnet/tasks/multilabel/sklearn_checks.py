"""Where the classifier departs from scikit-learn's conventions."""

_CUT = "predict cuts at the tuned threshold_; the check wants 0.5, and passes with threshold=0.5"
_BATCHES = (
    "a row given twice is in two mini-batches, one of weight 2 in one: alike in expectation, not "
    "step by step; the split and the scales of columns count rows, not weights"
)
_STOPPED = (
    "early stopping keeps the epoch of the best validation metric, whatever class_weight is; the "
    "check passes with validation_fraction=0 and threshold=0.5"
)

#: For ``sklearn.utils.estimator_checks.check_estimator(..., expected_failed_checks=...)``.
EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_classifier_multioutput": _CUT,
    "check_classifiers_train": _CUT,
    "check_class_weight_classifiers": _STOPPED,
    "check_sample_weight_equivalence_on_dense_data": _BATCHES,
    "check_sample_weight_equivalence_on_sparse_data": _BATCHES,
}
