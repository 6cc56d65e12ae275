"""Thresholds: tuned, one or one for each label, or fixed; and refined predictions."""

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.proposals import GBI, NetOutput
from lossnet.tasks.multilabel import METRICS, Metric, get_metric, tune_threshold


@pytest.mark.parametrize("metric", ["example-f1", "micro-f1", "macro-f1", "hamming"])
def test_one_threshold_is_the_best_of_the_grid(classifier, data, metric) -> None:
    X, Y = data
    model = classifier(metric=metric).fit(X, Y, validation_data=(X, Y))
    proba = model.predict_proba(X)
    threshold, value = tune_threshold(Y, proba, metric=metric)
    assert model.threshold_ == threshold
    assert model.best_metric_ == pytest.approx(value)
    assert np.array_equal(model.predict(X), proba >= model.threshold_)
    assert model.best_metric_ == pytest.approx(get_metric(metric)(Y, proba, threshold))


def test_one_threshold_for_each_label(classifier, data) -> None:
    X, Y = data
    model = classifier(threshold="tuned-per-label").fit(X, Y, validation_data=(X, Y))
    proba = model.predict_proba(X)
    assert model.threshold_.shape == (3,)
    assert np.array_equal(model.predict(X), proba >= model.threshold_[None])
    assert model.best_metric_ >= tune_threshold(Y, proba)[1]


@pytest.mark.parametrize("threshold", [0, 0.3, 1.0])
def test_fixed_threshold(classifier, data, threshold) -> None:
    X, Y = data
    model = classifier(threshold=threshold).fit(X, Y)
    assert model.threshold_ == threshold
    assert np.array_equal(model.predict(X), model.predict_proba(X) >= threshold)
    assert model.best_metric_ == max(row["metric"] for row in model.history_)


def test_a_metric_of_probabilities_stops_training_and_f1_tunes(classifier, data) -> None:
    X, Y = data
    model = classifier(metric="map").fit(X, Y, validation_data=(X, Y))
    proba = model.predict_proba(X)
    assert model.best_metric_ == pytest.approx(METRICS["map"](Y, proba))
    assert model.threshold_ == tune_threshold(Y, proba, metric="example-f1")[0]


def test_a_metric_must_be_a_number_before_training_starts(classifier, data) -> None:
    X, Y = data
    nothing = np.zeros_like(Y)
    with pytest.raises(DataError, match="metric 'map' is nan on the validation data"):
        classifier(metric="map").fit(X, Y, validation_data=(X, nothing))


def test_a_metric_that_turns_nan_stops_training(classifier, data) -> None:
    def perfect_or_nan(Y, proba):
        return 1.0 if np.array_equal(Y, proba) else float("nan")

    metric = Metric("odd", perfect_or_nan, needs="probabilities")
    with pytest.raises(DataError, match="metric 'odd' is nan"):
        classifier(metric=metric).fit(*data)


def test_own_metrics(classifier, data) -> None:
    X, Y = data

    def first_label(Y, P):
        return float((Y[:, 0] == P[:, 0]).mean())

    def sharp(Y, proba):
        return -float(np.abs(Y - proba).mean())

    model = classifier(metric=first_label).fit(X, Y, validation_data=(X, Y))
    assert model.best_metric_ == first_label(Y, model.predict(X))
    model = classifier(metric=Metric("sharp", sharp, needs="probabilities"))
    model.fit(X, Y, validation_data=(X, Y))
    assert model.best_metric_ == pytest.approx(sharp(Y, model.predict_proba(X)), abs=1e-6)


@pytest.mark.parametrize("refine", ["net", "samples", "random", GBI(5, 0.1, start=NetOutput())])
def test_refined_predictions_have_their_own_threshold(classifier, data, refine) -> None:
    X, Y = data
    plain = classifier("seal-nce", max_epochs=6).fit(X, Y, validation_data=(X, Y))
    refined = classifier("seal-nce", max_epochs=6, refine=refine)
    refined.fit(X, Y, validation_data=(X, Y))
    proba = refined.predict_proba(X)
    assert not np.allclose(proba, plain.predict_proba(X))
    assert ((proba >= 0) & (proba <= 1)).all()
    assert refined.threshold_ == tune_threshold(Y, proba)[0]
    assert np.array_equal(proba, refined.predict_proba(X))
    if refine != "random":
        assert refined.energy(X, proba).mean() <= plain.energy(X, plain.predict_proba(X)).mean()


def test_refine_after_fit_and_tune_again(classifier, data) -> None:
    X, Y = data
    at_once = classifier("seal-nce", refine="net").fit(X, Y, validation_data=(X, Y))
    later = classifier("seal-nce").fit(X, Y, validation_data=(X, Y)).set_params(refine="net")
    assert np.array_equal(later.predict_proba(X), at_once.predict_proba(X))
    later.tune_threshold(X, Y)
    assert later.threshold_ == at_once.threshold_
    assert later.best_metric_ == at_once.best_metric_
    assert later.set_params(threshold=0.25).tune_threshold(X, Y).threshold_ == 0.25
    with pytest.raises(DataError, match="X has 80 rows and Y has 9"):
        later.tune_threshold(X, Y[:9])


def test_refine_needs_a_loss_net(classifier, data) -> None:
    model = classifier(max_epochs=1).fit(*data).set_params(refine="net")
    with pytest.raises(SettingError, match="refine needs the net 'energy'"):
        model.predict(data[0])
