"""NaN in X: replaced by the means of the training rows, wherever the rows to predict come from."""

import numpy as np
import scipy.sparse as sp

from lossnet import MultiLabelClassifier
from lossnet.tasks.multilabel.imputer import Imputer


def test_means_of_the_known_values_and_zero_where_there_are_none() -> None:
    nan = np.nan
    X = np.array([[1, nan, 0, 5], [3, nan, nan, 0], [nan, nan, 6, 0]], dtype=np.float32)
    for form in (np.asarray, sp.csr_array, sp.csr_matrix):
        impute = Imputer.of(form(X))
        assert np.allclose(impute.means, [2, 0, 3, 5 / 3])
        filled = impute(form(X))
        filled = filled.toarray() if sp.issparse(filled) else filled
        assert np.allclose(filled, [[1, 0, 0, 5], [3, 0, 3, 0], [2, 0, 6, 0]])
    assert np.isnan(X).sum() == 5  # the caller's rows stay as they are


def test_prediction_uses_the_means_of_training(classifier, data, tmp_path) -> None:
    X, Y = data[0] + 2, data[1]
    holes = X.copy()
    holes[::5, 0] = holes[::3, 4] = np.nan
    model = classifier(validation_fraction=0.0).fit(holes, Y)
    means = np.nanmean(holes, 0)
    assert np.allclose(model.imputer_.means, means)
    row = holes[15:16]
    filled = np.where(np.isnan(row), means, row)
    alone = model.predict_proba(row)
    assert np.allclose(alone, model.predict_proba(filled), atol=1e-6)
    assert np.allclose(alone, model.predict_proba(sp.csr_array(row)), atol=1e-6)
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(row), alone)


def test_validation_rows_do_not_count(classifier, data) -> None:
    X, Y = data
    held_out = X + 100
    held_out[0, 0] = np.nan
    model = classifier().fit(X, Y, validation_data=(held_out, Y))
    assert np.allclose(model.imputer_.means, X.mean(0), atol=1e-5)
