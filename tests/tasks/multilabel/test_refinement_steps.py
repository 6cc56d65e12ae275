"""How many steps predictions descend on the energy: the path, and choosing along it."""

import numpy as np
import pytest

from lossnet import MultiLabelClassifier
from lossnet.errors import SettingError
from lossnet.proposals import GBI, NetOutput, Samples
from lossnet.tasks.multilabel import get_metric

ALEN = {
    "method_params": {
        "energy_optimiser": {"lr": 0.02},
        "task_optimiser": {"lr": 0.02},
        "inference": {"lr": 0.15},
    }
}


@pytest.fixture
def fitted(classifier, data) -> MultiLabelClassifier:
    return classifier("alen", max_epochs=15, threshold=0.5, **ALEN).fit(*data)


def test_every_entry_is_a_prediction_of_so_many_steps(fitted, data) -> None:
    X, _ = data
    path = fitted.refinement_path(X, steps=7)
    assert path.shape == (8, 80, 3)
    np.testing.assert_array_equal(path[6], fitted.predict_proba(X))  # alen's predict_steps
    for steps in range(8):
        fitted.refine = GBI(
            steps, 0.15, step="normalised", adam=False, start=NetOutput(), keep="last"
        )
        np.testing.assert_array_equal(path[steps], fitted.predict_proba(X))
    assert not np.array_equal(path[0], path[7])


def test_of_several_starts_the_one_of_lowest_energy(fitted, data) -> None:
    X, _ = data
    fitted.refine = GBI(4, 0.05, start=Samples(5))
    path = fitted.refinement_path(X, steps=4)
    for steps in range(5):
        fitted.refine = GBI(steps, 0.05, start=Samples(5))
        np.testing.assert_array_equal(path[steps], fitted.predict_proba(X))


@pytest.mark.parametrize("metric", ["example-f1", "subset-accuracy"])
def test_the_fewest_steps_of_the_best_metric(classifier, data, metric) -> None:
    X, Y = data
    clf = classifier("alen", max_epochs=15, threshold=0.5, metric=metric, **ALEN).fit(X, Y)
    assert clf.refine_steps_ is None
    path = clf.refinement_path(X, steps=9)
    scores = [get_metric(metric)(Y, proba, 0.5) for proba in path]
    assert len(set(scores)) > 1
    assert clf.tune_refinement(X, Y, most=9) is clf
    assert clf.refine_steps_ == next(n for n, score in enumerate(scores) if score == max(scores))
    assert clf.best_metric_ == pytest.approx(max(scores))
    np.testing.assert_array_equal(clf.predict_proba(X), path[clf.refine_steps_])


def test_of_equal_metrics_the_fewest_steps(fitted, data) -> None:
    X, Y = data
    fitted.metric = lambda Y, P: 0.5
    assert fitted.tune_refinement(X, Y, most=5).refine_steps_ == 0
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.refinement_path(X, steps=0)[0])


def test_a_threshold_is_chosen_for_the_steps(classifier, data) -> None:
    X, Y = data
    clf = classifier("alen", max_epochs=15, **ALEN).fit(X, Y)
    clf.tune_refinement(X, Y, most=8)
    best = clf.best_metric_
    metric = get_metric("example-f1")
    assert best == pytest.approx(metric(Y, clf.predict_proba(X), clf.threshold_))
    for proba in clf.refinement_path(X, steps=8):
        for threshold in np.linspace(0.05, 0.95, 10):
            assert metric(Y, proba, threshold) <= best + 1e-9


def test_the_steps_survive_a_folder_and_end_with_the_next_fit(fitted, data, tmp_path) -> None:
    X, Y = data
    path = fitted.refinement_path(X, steps=9)
    before = fitted.predict_proba(X)
    fitted.metric = lambda Y, P: float(np.abs(P - (path[3] >= 0.5)).sum() == 0)
    fitted.tune_refinement(X, Y, most=9)
    steps = fitted.refine_steps_
    assert steps is not None
    assert steps != 6
    assert not np.array_equal(fitted.predict_proba(X), before)
    fitted.metric = "example-f1"
    loaded = MultiLabelClassifier.load(fitted.save(tmp_path / "model"))
    assert loaded.refine_steps_ == steps
    np.testing.assert_array_equal(loaded.predict_proba(X), path[steps])
    loaded.fit(X, Y)
    assert loaded.refine_steps_ is None
    np.testing.assert_array_equal(loaded.predict_proba(X), before)


def test_methods_that_do_not_descend_say_so(classifier, data) -> None:
    X, Y = data
    message = (
        "'seal-margin' predicts without descending on the energy; set refine='net', or use a "
        "method such as alen or dvn"
    )
    clf = classifier("seal-margin", max_epochs=1).fit(X, Y)
    with pytest.raises(SettingError, match=message):
        clf.refinement_path(X)
    with pytest.raises(SettingError, match=message):
        clf.tune_refinement(X, Y)
    assert clf.refine_steps_ is None
    clf.refine = "net"
    assert clf.tune_refinement(X, Y, most=3).refine_steps_ in range(4)


def test_steps_that_cannot_work(fitted, data) -> None:
    X, Y = data
    with pytest.raises(SettingError, match=r"steps must be .*got -1"):
        fitted.refinement_path(X, steps=-1)
    with pytest.raises(SettingError, match=r"steps must be .*got 1\.5"):
        fitted.tune_refinement(X, Y, most=1.5)


def test_steps_chosen_for_one_refinement_do_not_rule_another(fitted, data) -> None:
    X, Y = data
    fitted.metric = lambda Y, P: 0.5  # so that 0 steps are chosen
    fitted.tune_refinement(X, Y, most=5)
    plain = fitted.predict_proba(X)
    fitted.refine = "net"
    refined = fitted.predict_proba(X)
    assert not np.array_equal(plain, refined)
    fitted.refine = None
    np.testing.assert_array_equal(fitted.predict_proba(X), plain)
