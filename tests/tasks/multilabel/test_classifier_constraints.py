"""Constraints of the classifier: decisions, training on them, storage."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lossnet import MultiLabelClassifier, TextClassifier
from lossnet.constraints import AtLeastOne, AtMostOne, Implies, Satisfies, bind
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import MultiLabelData, load_splits

NAMES = [f"l{k}" for k in range(6)]
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
#: Noise, so that a net's own answers contradict each other.
Y = (X[:, [0, 1, 2, 3, 4, 0]] + 2 * rng.normal(size=(120, 6)) > 0).astype(np.uint8)
TREE = {1: [0], 2: [0], 3: [1]}
DATA = MultiLabelData(X, Y, label_names=NAMES, parents=TREE)
RULES = [
    Implies("l1", "l0"),
    Implies("l3", "l1"),
    AtMostOne("l0", "l4", "l5"),
    AtLeastOne("l2", "l5"),
]


def at_most_two(Y: np.ndarray) -> np.ndarray:
    return Y.sum(1) <= 2


def quick(method: str = "cross-entropy", **params: Any) -> MultiLabelClassifier:
    own = {"hidden": (8,), "global_hidden": 4, "max_epochs": 3, "random_state": 0}
    return MultiLabelClassifier(method, **{**own, **params})


@pytest.mark.filterwarnings("ignore:.*break the constraints")
@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce"])
@pytest.mark.parametrize("threshold", ["tuned", "tuned-per-label", 0.3])
@pytest.mark.parametrize("rules", [None, RULES, [*RULES, Satisfies(at_most_two)]])
def test_predictions_never_break_them(method, threshold, rules) -> None:
    clf = quick(method, threshold=threshold, constraints=rules).fit(DATA)
    bound = bind(DATA.constraints if rules is None else rules, NAMES)
    far = 10 * rng.normal(size=(300, 5))
    for inputs in (X, far):
        assert bound.allows(clf.predict(inputs)).all()
    free = quick(method, threshold=threshold, constraints=[]).fit(DATA)
    assert not bound.allows(free.predict(X)).all()
    assert np.array_equal(free.predict_proba(X), clf.predict_proba(X))


def test_training_rows_that_break_them_are_counted() -> None:
    broken = int((~bind(RULES, NAMES).allows(Y)).sum())
    with pytest.warns(UserWarning, match=f"{broken} of 120 training rows break the constraints"):
        quick(constraints=RULES).fit(DATA)


@pytest.mark.filterwarnings("ignore:.*break the constraints")
def test_a_hierarchy_is_taken_from_the_data() -> None:
    clf = quick().fit(DATA)
    assert clf.constraints_.declared == DATA.constraints
    assert clf.constraints is None
    assert quick(constraints=()).fit(DATA).constraints_.declared == ()
    assert quick().fit(X, Y).constraints_.declared == ()
    assert quick().fit(X, DATA).constraints_.declared == DATA.constraints


@pytest.mark.filterwarnings("ignore:.*break the constraints")
@pytest.mark.parametrize("metric", ["example-f1", "jaccard", "hamming", "subset-accuracy"])
@pytest.mark.parametrize("labels", [6, 12])
def test_every_rule_keeps_to_them(metric, labels) -> None:
    """Six labels are enumerated, twelve are sampled."""
    sets = np.hstack([Y, Y[::-1]])[:, :labels]
    names = [f"l{k}" for k in range(labels)]
    data = MultiLabelData(X, sets, label_names=names)
    clf = quick("seal-nce", constraints=RULES, metric=metric, threshold=0.4).fit(data)
    bound, broken = bind(RULES, names), {}
    for rule in clf._rules_for(clf.method_, named=True):
        clf.set_params(decode=rule)
        assert bound.allows(clf.predict(X)).all()
        free = copy.copy(clf)
        free.constraints_ = bind([], names)
        broken[rule] = int((~bound.allows(free.predict(X))).sum())
    broken.pop("known", None)  # the known sets are valid ones
    assert broken
    assert all(broken.values()), broken


@pytest.mark.filterwarnings("ignore:.*break the constraints")
def test_descent_and_refinement_keep_to_them() -> None:
    bound = bind(RULES, NAMES)
    dvn = quick("dvn", max_epochs=1, constraints=RULES).fit(DATA)
    refined = quick("seal-nce", constraints=RULES, refine="net").fit(DATA)
    assert bound.allows(dvn.predict(X)).all()
    assert bound.allows(refined.predict(X)).all()


@pytest.mark.filterwarnings("ignore:.*break the constraints")
def test_the_metric_is_of_valid_predictions() -> None:
    clf = quick(constraints=RULES, metric="hamming").fit(DATA, validation_data=DATA)
    assert clf.best_metric_ == pytest.approx((clf.predict(X) == Y).mean())
    assert clf.score(X, Y) == (clf.predict(X) == Y).all(1).mean()


@pytest.mark.filterwarnings("ignore:.*break the constraints")
@pytest.mark.parametrize("rules", [None, RULES, ({"implies": ["l1", 0]},)])
def test_a_model_folder_keeps_them(tmp_path, rules) -> None:
    clf = quick(constraints=rules).fit(DATA)
    clf.save(tmp_path / "model")
    again = MultiLabelClassifier.load(tmp_path / "model")
    assert again.constraints_.declared == clf.constraints_.declared
    assert np.array_equal(again.predict(X), clf.predict(X))
    again.save(tmp_path / "again")
    other = MultiLabelClassifier.load(tmp_path / "again", constraints=[AtMostOne("l0", "l1")])
    assert not (other.predict(X)[:, :2].sum(1) > 1).any()


@pytest.mark.filterwarnings("ignore:.*break the constraints")
def test_functions_are_not_stored(tmp_path) -> None:
    """With many labels, the training sets that a search falls back on are."""
    names = [f"l{k}" for k in range(20)]
    sets = np.random.default_rng(1).integers(2, size=(120, 20)).astype(np.uint8)
    rules = [Satisfies(lambda Y: Y.sum(1) % 5 == 0), AtLeastOne("l1", "l2")]
    clf = quick(constraints=rules).fit(MultiLabelData(X, sets, label_names=names))
    assert clf.constraints_.allows(clf.predict(X)).all()
    clf.save(tmp_path / "model")
    with pytest.raises(SettingError, match=r"not stored; pass the same one: load\(\.\.\., constr"):
        MultiLabelClassifier.load(tmp_path / "model")
    again = MultiLabelClassifier.load(tmp_path / "model", constraints=rules)
    assert len(again.constraints_.known) == len(clf.constraints_.known) > 0
    assert np.array_equal(again.predict(X), clf.predict(X))


@pytest.mark.filterwarnings("ignore:.*break the constraints")
def test_structured_tuning_trains_on_them() -> None:
    """The more the term counts, the fewer violations the probabilities have."""
    found = []
    for weight in (0.0, 3.0):
        own = {"constraint_weight": weight, "task_optimiser": {"lr": 0.02}}
        params = {"max_epochs": 10, "validation_fraction": 0.0, "method_params": own}
        clf = quick("structured-tuning", constraints=RULES, batch_size=8, **params).fit(DATA)
        proba = torch.as_tensor(clf.predict_proba(X))
        found.append(float(clf.constraints_(proba[None]).mean()))
    assert found[1] < 0.7 * found[0]
    assert "violations" in clf.history_[0]


@pytest.mark.parametrize(
    ("params", "kind", "message"),
    [
        ({"constraints": [Implies("l0", "x")]}, SettingError, "unknown label 'x'"),
        (
            {"constraints": [Implies("l0", "l1"), Implies("l1", "l0")]},
            SettingError,
            "from a label to itself: 'l[01]' -> 'l[01]' -> 'l[01]'",
        ),
        (
            {"constraints": [AtMostOne("l0", "l1"), AtLeastOne("l0"), AtLeastOne("l1")]},
            SettingError,
            "no label set satisfies",
        ),
        ({"constraints": Implies("l0", "l1")}, SettingError, "must be a list of rules"),
        ({"constraints": ["l0"]}, SettingError, "a constraint must be Implies"),
        ({"method": "structured-tuning"}, SettingError, "trains on constraints; pass some"),
        (
            {"method": "structured-tuning", "constraints": [Satisfies(at_most_two)]},
            SettingError,
            "cannot train on Satisfies",
        ),
    ],
)
def test_bad_constraints_are_one_line_before_training(params, kind, message) -> None:
    clf = quick(**params)
    with pytest.raises(kind, match=message) as error:
        clf.fit(MultiLabelData(X, Y, label_names=NAMES))
    assert "\n" not in str(error.value)
    assert not hasattr(clf, "nets_")


def test_a_cycle_in_the_data_says_how_to_ignore_it() -> None:
    data = MultiLabelData(X, Y, label_names=NAMES, parents={0: [1], 1: [0]})
    with pytest.raises(
        DataError, match=r"hierarchy: Implies leads .* pass constraints=\[\] to ign"
    ):
        quick().fit(data)


def test_texts_have_them_too() -> None:
    texts = ["good dog", "good poodle", "bad cat", "bad dog"] * 6
    lists = [["dog"], ["dog", "poodle"], ["cat"], ["dog"]] * 6
    own = {"hidden": (4,), "max_epochs": 2, "threshold": 0.0, "random_state": 0}
    rules = [Implies("poodle", "dog"), AtMostOne("cat", "dog")]
    clf = TextClassifier("cross-entropy", constraints=rules, **own).fit(texts, lists)
    found = clf.predict_labels(texts)
    assert {len(labels) for labels in found} <= {1, 2}
    assert all(("dog" in labels) != ("cat" in labels) for labels in found)


def test_a_benchmark_s_hierarchy_is_never_broken(mlc: Path) -> None:
    data = load_splits(mlc / "spo_fun")
    train = data.train.subset(range(300))
    clf = quick(hidden=(32,), threshold=0.1, max_epochs=2).fit(train)
    assert len(clf.constraints_.declared) == 481
    assert data.test is not None
    found = clf.predict(data.test)
    assert clf.constraints_.allows(found).all()
    assert found.any(1).mean() > 0.9
    free = clf.predict_proba(data.test) >= 0.1
    assert not clf.constraints_.allows(free).all()
    for child, (parent,) in (train.parents or {}).items():
        assert (found[:, child] <= found[:, parent]).all()


@pytest.mark.parametrize("rules", [None, RULES, [AtLeastOne("l0", "l1")]])
def test_a_model_with_constraints_can_be_pickled(rules) -> None:
    quick: dict[str, Any] = {"hidden": (8,), "max_epochs": 2, "random_state": 0}
    model = MultiLabelClassifier("cross-entropy", constraints=rules, **quick).fit(DATA)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
