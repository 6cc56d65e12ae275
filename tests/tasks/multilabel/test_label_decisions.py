"""Label sets decided for a metric, against brute force over all of them."""

import numpy as np
import pytest
from scipy.special import logsumexp

from lossnet import MultiLabelClassifier
from lossnet.errors import SettingError
from lossnet.tasks.multilabel import METRICS, get_metric, ising

QUICK = {"hidden": (16,), "global_hidden": 8, "max_epochs": 4, "random_state": 0, "batch_size": 32}
DATA = ising(coupling=2.0, labels=4, features=3, n_train=300, n_validation=200, n_test=60, seed=1)
TEST = DATA.test.X


def fitted(method="seal-nce", **settings):
    model = MultiLabelClassifier(method, **{**QUICK, **settings})
    return model.fit(DATA.train, validation_data=DATA.validation)


def states(labels=4):
    return ((np.arange(2**labels)[:, None] >> np.arange(labels)) & 1).astype(np.uint8)


def exact(model, weight=1.0, offset=0.0):
    """Every label set and its probability for every test row, by the definition."""
    every, proba = states(), np.clip(model.predict_proba(TEST).astype(np.float64), 1e-12, 1 - 1e-7)
    log_q = np.log(proba) @ every.T + np.log1p(-proba) @ (1 - every.T)
    energies = [model.energy(TEST, np.tile(y, (len(TEST), 1))) for y in every]
    joint = -np.stack(energies, 1).astype(np.float64)
    joint += log_q if model.method_.meaning.joint == "ratio" else 0.0
    found = weight * joint + (1 - weight) * log_q + offset * every.sum(1)
    return every, np.exp(found - logsumexp(found, 1, keepdims=True))


def best(every, p, metric):
    """The set of highest expected metric for every row."""
    function = get_metric(metric)
    values = np.array([[function(t[None], g[None]) for t in every] for g in every])
    return p @ values.T


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking"])
@pytest.mark.parametrize(
    ("rule", "metric"),
    [("mode", "subset-accuracy"), ("samples", "example-f1"), ("samples", "hamming"),
     ("samples", "jaccard"), ("samples", "example-f2")],
)  # fmt: skip
def test_decisions_by_the_joint_are_the_best_of_all_label_sets(method, rule, metric):
    model = fitted(method, metric=metric, decode=rule)
    decision = model.decision_
    assert decision.rule == rule
    every, p = exact(model, decision.weight, decision.offset)
    expected = best(every, p, metric)
    predicted = model.predict(TEST)
    reached = expected[np.arange(len(TEST)), predicted @ (1 << np.arange(4))]
    assert reached == pytest.approx(expected.max(1), abs=1e-5)


@pytest.mark.parametrize("metric", ["example-f1", "example-f0.5", "jaccard"])
def test_expected_decisions_are_the_best_for_independent_labels(metric):
    model = fitted("cross-entropy", metric=metric, decode="expected")
    logits = np.log(p := model.predict_proba(TEST).astype(np.float64)) - np.log1p(-p)
    tempered = 1 / (1 + np.exp(-(logits + model.decision_.offset) / model.decision_.temperature))
    every = states()
    p = np.exp(np.log(tempered) @ every.T + np.log1p(-tempered) @ (1 - every.T))
    expected = best(every, p, metric)
    reached = expected[np.arange(len(TEST)), model.predict(TEST) @ (1 << np.arange(4))]
    assert reached == pytest.approx(expected.max(1), abs=1e-6)


def test_auto_is_never_below_the_threshold_on_validation_data():
    for metric in ("subset-accuracy", "example-f1", "hamming"):
        decision = fitted(metric=metric).decision_
        usual = decision.tried["threshold"]
        assert decision.tried[decision.rule] >= usual
        assert (
            decision.rule == "threshold" or decision.tried[decision.rule] - usual > decision.error
        )


def test_a_metric_of_all_rows_keeps_the_threshold():
    assert fitted(metric="micro-f1").decision_.rule == "threshold"


def test_minimum_risk_for_a_function_of_your_own():
    def half_right(Y, P):
        return float(((Y == P).sum(1) >= 3).mean())

    assert fitted(metric=half_right).decision_.rule == "threshold"
    model = fitted(metric=half_right, decode="samples")
    every, p = exact(model, model.decision_.weight)
    expected = best(every, p, half_right)
    reached = expected[np.arange(len(TEST)), model.predict(TEST) @ (1 << np.arange(4))]
    assert reached == pytest.approx(expected.max(1), abs=1e-5)


def test_predictions_do_not_depend_on_other_rows():
    model = fitted(metric="subset-accuracy", decode="mode", decode_samples=20)
    together = model.predict(TEST)
    assert np.array_equal(together[:7], model.predict(TEST[:7]))


def test_a_decision_is_saved_and_loaded(tmp_path):
    model = fitted(metric="subset-accuracy", decode="mode")
    folder = model.save(tmp_path / "model", keep_energy=False)
    again = MultiLabelClassifier.load(folder)
    assert again.decision_ == model.decision_
    assert np.array_equal(again.predict(TEST), model.predict(TEST))


def test_decode_can_be_set_after_fit():
    model = fitted(metric="subset-accuracy", decode="mode")
    cut = (model.predict_proba(TEST) >= model.threshold_).astype(np.uint8)
    model.set_params(decode="threshold")
    assert np.array_equal(model.predict(TEST), cut)
    model.set_params(decode="auto").tune_decision(DATA.validation)
    assert set(model.decision_.tried) == {"threshold", "known", "mode"}


def test_without_its_loss_net_a_model_still_chooses_among_the_other_rules(tmp_path):
    model = fitted(decode="threshold", metric="subset-accuracy")
    folder = model.save(tmp_path / "m", keep_energy=False)
    model = MultiLabelClassifier.load(folder, decode="auto").tune_decision(DATA.validation)
    assert set(model.decision_.tried) == {"threshold", "known"}
    assert model.set_params(decode="known").predict(TEST).shape == (len(TEST), 4)


def test_a_rule_without_a_loss_net_is_refused(tmp_path):
    with pytest.raises(SettingError, match="'mode' needs a loss-net that gives probabilities"):
        fitted("cross-entropy", metric="subset-accuracy", decode="mode")
    with pytest.raises(SettingError, match="unknown decode"):
        fitted(decode="best")
    with pytest.raises(SettingError, match="decode_samples"):
        fitted(decode_samples=0)
    with pytest.raises(SettingError, match="leave one of them out"):
        fitted(decode="samples", refine="net")
    folder = fitted(decode="threshold", metric="subset-accuracy").save(
        tmp_path / "m", keep_energy=False
    )
    with pytest.raises(SettingError, match="loss-net, which was not kept"):
        MultiLabelClassifier.load(folder, decode="mode").predict(TEST)


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce"])
def test_known_sets_are_those_of_training_rows_and_the_most_probable_is_taken(method):
    parts = ising(coupling=3.0, labels=6, features=3, n_train=80, n_validation=80, seed=2)
    model = MultiLabelClassifier(method, metric="subset-accuracy", decode="known", **QUICK)
    model.fit(parts.train, validation_data=parts.validation)
    known = {tuple(row) for row in parts.train.Y}
    predicted = model.predict(parts.test.X)
    assert {tuple(row) for row in predicted} <= known
    assert {tuple(row) for row in model.label_sets_} == known
    if method == "cross-entropy":
        p = np.clip(model.predict_proba(parts.test.X).astype(np.float64), 1e-12, 1 - 1e-7)
        sets, offset = model.label_sets_, model.decision_.offset
        log_q = np.log(p) @ sets.T + np.log1p(-p) @ (1 - sets.T) + offset * sets.sum(1)
        reached = log_q[np.arange(len(p)), [(sets == row).all(1).argmax() for row in predicted]]
        assert reached == pytest.approx(log_q.max(1), abs=1e-4)


WIDE = ising(coupling=2.0, labels=12, features=4, n_train=300, n_validation=100, n_test=40, seed=3)


def test_samples_for_exact_match_take_the_most_probable_one():
    model = MultiLabelClassifier("seal-nce", metric="subset-accuracy", decode="samples", **QUICK)
    model.fit(WIDE.train, validation_data=WIDE.validation)
    sampled = model.predict(WIDE.test.X)
    model.set_params(decode="threshold")
    cut = model.predict(WIDE.test.X)
    weight = model.decision_.weight

    def log_p(Y):
        p = np.clip(model.predict_proba(WIDE.test.X).astype(np.float64), 1e-12, 1 - 1e-7)
        log_q = (np.where(Y, np.log(p), np.log1p(-p))).sum(1)
        return -weight * model.energy(WIDE.test.X, Y) + (1 - weight) * log_q

    assert (log_p(sampled) >= log_p(cut) - 1e-4).all()


def test_ten_labels_are_decided_for_jaccard_in_one_table():
    parts = ising(coupling=2.0, labels=10, features=4, n_train=200, n_validation=60, n_test=30)
    model = MultiLabelClassifier("seal-nce", metric="jaccard", decode="samples", **QUICK)
    model.fit(parts.train, validation_data=parts.validation)  # minutes if rows are taken one by one
    assert model.predict(parts.test.X).shape == (30, 10)


def test_many_labels_are_searched_where_the_net_is_unsure():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), rng.random((60, 80)) < 0.05
    model = MultiLabelClassifier("seal-nce", metric="subset-accuracy", decode="mode", **QUICK)
    model.fit(X, Y.astype(int), validation_data=(X, Y.astype(int)))
    assert model.predict(X).shape == (60, 80)


def test_a_decision_does_not_outlive_its_metric_or_a_given_threshold():
    model = fitted(metric="subset-accuracy", decode="mode")
    cut = (model.predict_proba(TEST) >= model.threshold_).astype(np.uint8)
    model.set_params(metric="micro-f1", decode="auto")
    assert np.array_equal(model.predict(TEST), cut)
    model.set_params(metric="subset-accuracy", threshold=0.9).tune_threshold(DATA.validation)
    assert np.array_equal(model.predict(TEST), model.predict_proba(TEST) >= 0.9)


def test_without_validation_data_nothing_is_shifted():
    model = MultiLabelClassifier("seal-nce", validation_fraction=0.0, decode="expected", **QUICK)
    decision = model.fit(DATA.train).decision_
    assert (decision.temperature, decision.offset) == (1.0, 0.0)
    model.set_params(metric="subset-accuracy", decode="mode")
    assert (model._decision().weight, model._decision().offset) == (1.0, 0.0)


def test_a_metric_of_your_own_is_no_library_metric_whatever_its_name():
    def jaccard(Y, P):
        return float((Y & P).sum() / max((Y | P).sum(), 1))

    assert fitted(metric=jaccard, max_epochs=1).decision_.rule == "threshold"
    with pytest.raises(SettingError, match="needs"):
        fitted(metric="micro-f1", decode="samples")


def test_the_net_runs_once_while_rules_are_tried(monkeypatch):
    runs, own = [], MultiLabelClassifier._outputs

    def counted(self, *given, **options):
        runs.append(options)
        return own(self, *given, **options)

    model = fitted("cross-entropy", metric="example-f1")
    monkeypatch.setattr(MultiLabelClassifier, "_outputs", counted)
    model.tune_decision(DATA.validation)
    assert len(runs) == 1


def test_every_metric_of_labels_has_a_decision():
    for name, metric in METRICS.items():
        if metric.needs == "labels":
            assert fitted(metric=name, max_epochs=1).decision_.rule in (
                "threshold", "expected", "samples", "mode", "known",
            )  # fmt: skip
