"""A 1-D y of two classes is one label."""

import numpy as np
import pytest

from lossnet.errors import DataError


@pytest.mark.parametrize(
    "classes", [(0, 1), ("no", "yes"), (-1.0, 1.0), (False, True), (np.uint8(3), np.uint8(7))]
)
@pytest.mark.parametrize("form", [np.array, list, lambda y: __import__("pandas").Series(y)])
def test_two_classes_of_any_type(classifier, data, classes, form) -> None:
    X, Y = data
    y = [classes[on] for on in Y[:, 0]]
    model = classifier(max_epochs=30, method_params={"task_optimiser": {"lr": 0.02}}).fit(
        X, form(y)
    )
    assert list(model.classes_) == list(classes)
    predicted, proba = model.predict(X), model.predict_proba(X)
    assert predicted.shape == (80,)
    assert proba.shape == (80, 2)
    assert np.allclose(proba.sum(1), 1)
    assert np.array_equal(predicted, model.classes_[(proba[:, 1] >= model.threshold_).astype(int)])
    assert model.score(X, y) > 0.85


def test_one_column_is_the_same_label(classifier, data) -> None:
    X, y = data[0], data[1][:, 0]
    column, plain = classifier().fit(X, y[:, None]), classifier().fit(X, y)
    assert column.predict(X).shape == (80, 1)
    assert np.array_equal(column.predict_proba(X)[:, 0], plain.predict_proba(X)[:, 1])


def test_more_than_two_classes_are_refused(classifier, data) -> None:
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*multiclass"):
        classifier().fit(data[0], np.arange(80) % 3)


def test_numbers_are_no_classes(classifier, data) -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        classifier().fit(data[0], data[0][:, 0])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        classifier().fit(data[0], np.where(data[1][:, 0] == 1, np.nan, 0.0))


@pytest.mark.parametrize("strange", [None, {"a"}, 3, float("nan")])
def test_mixed_values_are_no_classes(classifier, data, strange) -> None:
    y = np.array(["yes", "no"] * 40, dtype=object)
    y[5] = strange
    with pytest.raises(DataError, match=r"y holds .*; give one class per row"):
        classifier().fit(data[0], y)


def test_one_class_is_refused(classifier, data) -> None:
    with pytest.raises(DataError, match="one class only"):
        classifier().fit(data[0], np.zeros(80))


def test_validation_classes_must_be_known(classifier, data) -> None:
    X = data[0]
    y = np.where(data[1][:, 0] == 1, "yes", "no")
    model = classifier(max_epochs=2).fit(X, y, validation_data=(X, list(y)))
    assert model.best_metric_ is not None
    strange = y.astype(object)
    strange[3] = "maybe"
    with pytest.raises(DataError, match="'maybe', which is absent from training"):
        classifier().fit(X, y, validation_data=(X, strange))
    with pytest.raises(DataError, match="expected one class per row"):
        classifier().fit(X, y, validation_data=(X, data[1]))


def test_energy_of_classes(classifier, data) -> None:
    X, y = data[0], np.where(data[1][:, 0] == 1, "yes", "no")
    model = classifier("seal-nce").fit(X, y)
    assert model.energy(X, y).shape == (80,)
