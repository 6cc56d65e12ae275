"""``method="auto"``: several nets, trees beside them, and choices on rows that were left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

from lossnet import MultiLabelClassifier, TextClassifier
from lossnet.errors import DataError, SettingError
from lossnet.recipes.members import MEMBERS
from lossnet.tasks.multilabel.trees import votes_in

QUICK = {"hidden": (16,), "max_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6)).astype(np.float32)
    return X, (X[:, :4] + 0.5 * rng.normal(size=(120, 4)) > 0).astype(int)


@pytest.fixture(scope="module")
def fitted(rows) -> MultiLabelClassifier:
    return MultiLabelClassifier(**QUICK).fit(*rows)


# What it is -----------------------------------------------------------------------------------


def test_auto_is_what_the_docs_say(fitted: MultiLabelClassifier) -> None:
    assert fitted.get_params()["method"] == "auto"
    params = fitted.resolved_params()
    assert (params["method"], params["members"], params["trees"]) == ("seal-nce", 4, 300)
    assert params["method_params"]["energy_steps"] == 1
    assert len(fitted.trees_.roots) == 300
    assert fitted.nets_[MEMBERS].members == 4
    assert clone(fitted).get_params() == fitted.get_params()


def test_a_named_method_is_one_net() -> None:
    params = MultiLabelClassifier("seal-nce").resolved_params()
    assert (params["members"], params["trees"]) == (1, 0)
    assert params["method_params"]["energy_steps"] == 2


def test_a_given_parameter_stays() -> None:
    clf = MultiLabelClassifier(members=2, trees=0, method_params={"samples": 7})
    params = clf.resolved_params()
    assert (params["members"], params["trees"]) == (2, 0)
    assert (params["method_params"]["samples"], params["method_params"]["energy_steps"]) == (7, 1)


def test_preset_of_the_former_version(rows) -> None:
    former = MultiLabelClassifier(preset="0.1", **QUICK)
    named = MultiLabelClassifier("seal-nce", **QUICK)
    assert former.resolved_params() == {**named.resolved_params(), "preset": "0.1"}
    found = former.fit(*rows).predict_proba(rows[0])
    np.testing.assert_array_equal(found, named.fit(*rows).predict_proba(rows[0]))


def test_the_paper_has_one_net() -> None:
    params = MultiLabelClassifier(preset="paper").resolved_params()
    assert (params["method"], params["members"], params["trees"]) == ("seal-nce", 1, 0)


def test_an_unknown_preset_names_the_known() -> None:
    with pytest.raises(SettingError, match=r"preset must be None, '0.1', 'paper' or 'paper:ROW'"):
        MultiLabelClassifier(preset="0.0").resolved_params()


def test_a_net_of_the_users_own_is_alone(rows) -> None:
    own = MultiLabelClassifier(task_net=torch.nn.Linear, **QUICK).fit(*rows)
    assert isinstance(own.nets_["task"], torch.nn.Linear)
    assert not hasattr(own, "trees_")
    with pytest.raises(SettingError, match="trees must be 0 with a task_net of your own, got 5"):
        MultiLabelClassifier(task_net=torch.nn.Linear, trees=5, **QUICK).fit(*rows)


def test_shared_features_are_those_of_one_net(rows) -> None:
    shared = MultiLabelClassifier(energy_features="shared", **QUICK).fit(*rows)
    assert MEMBERS not in shared.nets_


@pytest.mark.parametrize("method", ["dvn", "infnet-plus", "alen", "spen"])
def test_trees_take_a_task_net_that_gives_probabilities(method: str) -> None:
    with pytest.raises(SettingError, match=f"trees must be 0 with the method '{method}'"):
        MultiLabelClassifier(method, trees=10).resolved_params()


@pytest.mark.parametrize("trees", [-1, 1.5, "many"])
def test_unusable_numbers_of_trees(trees, rows) -> None:
    with pytest.raises(SettingError, match="trees must be an integer"):
        MultiLabelClassifier(trees=trees).fit(*rows)


def test_texts_have_no_trees() -> None:
    assert TextClassifier().resolved_params()["trees"] == 0
    with pytest.raises(SettingError, match="trees must be 0 for texts, got 10"):
        TextClassifier(trees=10).fit(["a b", "c d"] * 5, [["x"], ["y"]] * 5)


# Trees ----------------------------------------------------------------------------------------


def test_votes_are_columns_of_the_nets_inputs(fitted: MultiLabelClassifier, rows) -> None:
    data = fitted._unseen(rows[0])
    batch = fitted._source(data).batch(slice(0, 10))
    assert batch.x.shape == (10, 6 + 4)
    votes = fitted.trees_(batch.x[:, :6])
    read = votes_in(batch.x, labels=4)
    torch.testing.assert_close(read, votes, atol=1e-5, rtol=0.0)


def test_the_share_of_trees_blends_probabilities(fitted: MultiLabelClassifier, rows) -> None:
    task = fitted.nets_["task"]
    found = {}
    for share in (0.0, 1.0, fitted.trees_share_):
        task.share = share
        found[share] = fitted.predict_proba(rows[0])
    share = fitted.trees_share_
    mean = (1 - share) * found[0.0] + share * found[1.0]
    np.testing.assert_allclose(found[share], mean, atol=1e-5)


# Choices on rows that were left out -----------------------------------------------------------


def test_no_choice_is_made_on_rows_that_a_net_saw(rows) -> None:
    X, Y = rows
    kept = {}

    class Watched(MultiLabelClassifier):
        def _choose_decision(self, data):
            kept["rows"] = self._out_of_fold
            super()._choose_decision(data)

    clf = Watched(trees=0, validation_fraction=0.0, **QUICK).fit(X, Y)
    truth, outputs = kept["rows"]
    np.testing.assert_array_equal(truth, Y)
    assert "_out_of_fold" not in clf.__dict__
    each = torch.sigmoid(clf.nets_[MEMBERS](clf._source(clf._unseen(X)).batch(slice(None)).x))
    own = each[torch.arange(len(X)), torch.as_tensor(clf.folds_)]
    np.testing.assert_allclose(outputs, own, atol=1e-5)


def test_a_threshold_is_tuned_without_validation_rows(rows) -> None:
    X, Y = rows
    clf = MultiLabelClassifier(validation_fraction=0.0, **QUICK).fit(X, (Y > 0) & (X[:, :4] > 1))
    assert clf.threshold_ != 0.5
    alone = MultiLabelClassifier(validation_fraction=0.0, members=1, **QUICK).fit(X, Y)
    assert alone.threshold_ == 0.5


def test_stored_and_loaded(fitted: MultiLabelClassifier, rows, tmp_path: Path) -> None:
    again = MultiLabelClassifier.load(fitted.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(rows[0]), fitted.predict_proba(rows[0]))
    np.testing.assert_array_equal(again.predict(rows[0]), fitted.predict(rows[0]))
    assert again.trees_share_ == fitted.trees_share_
    assert again.get_params()["method"] == "seal-nce"
    small = MultiLabelClassifier.load(fitted.save(tmp_path / "small", keep_energy=False))
    np.testing.assert_array_equal(small.predict_proba(rows[0]), fitted.predict_proba(rows[0]))


def test_resumed_as_if_never_stopped(rows, tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    whole = MultiLabelClassifier(**QUICK).fit(*rows)

    class KilledError(RuntimeError):
        pass

    class Stops(MultiLabelClassifier):
        seen = 0

        def _validated(self, *given):
            type(self).seen += 1
            if type(self).seen == 3:
                raise KilledError
            return super()._validated(*given)

    with pytest.raises(KilledError):
        Stops(**QUICK).fit(*rows, checkpoint=file)
    again = MultiLabelClassifier(**QUICK)
    again.fit(*rows, checkpoint=file, resume_from_checkpoint=True)
    np.testing.assert_array_equal(again.predict_proba(rows[0]), whole.predict_proba(rows[0]))


def test_partial_labels_weights_and_unlabelled_rows(rows) -> None:
    X, Y = rows
    partly = Y.astype(float)
    partly[::3, 1] = np.nan
    weight = np.ones(len(X))
    weight[:10] = 0.0
    clf = MultiLabelClassifier(class_weight="balanced", trees=20, **QUICK)
    clf.fit(X, partly, sample_weight=weight, unlabelled=X[:20] + 0.1)
    assert np.isfinite(clf.predict_proba(X)).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows(n: int, rows) -> None:
    X, Y = rows[0][:n], np.eye(n, dtype=int)[:, :2]
    clf = MultiLabelClassifier(trees=4, **QUICK).fit(X, Y)
    assert clf.predict(X).shape == Y.shape
    with pytest.raises(DataError, match=f"at most the number of training rows, {n}"):
        MultiLabelClassifier(members=n + 1, validation_fraction=0.0, **QUICK).fit(X, Y)


def test_a_damaged_share_is_refused(fitted: MultiLabelClassifier, tmp_path: Path) -> None:
    import json

    folder = fitted.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["trees_share"] = 2.0
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match=r"damaged.*(share|checksum|config)"):
        MultiLabelClassifier.load(folder)


def test_many_rows_have_larger_batches_and_less_patience(rows, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("lossnet.tasks.multilabel.classifier.MANY_ROWS", 50)
    clf = MultiLabelClassifier(trees=4, **QUICK)
    assert (clf.batch_size, clf.patience) == (32, 10)
    clf.fit(*rows)
    assert (clf.batch_size, clf.patience) == (64, 5)
    assert clf.get_params()["batch_size"] is None
    again = MultiLabelClassifier.load(clf.save(tmp_path / "model"))
    assert (again.batch_size, again.patience) == (64, 5)
    own = MultiLabelClassifier(trees=4, batch_size=32, **QUICK).fit(*rows)
    assert (own.batch_size, own.patience) == (32, 5)
    named = MultiLabelClassifier("seal-nce", **QUICK).fit(*rows)
    assert (named.batch_size, named.patience) == (32, 10)


def test_nothing_of_a_fit_is_left_for_the_next(rows) -> None:
    X, Y = rows
    model = MultiLabelClassifier("alen", members=2, **QUICK).fit(X, Y)
    assert not {"_cross_fitted", "_out_of_fold", "_training_votes"} & set(model.__dict__)
    model.set_params(method="cross-entropy", members=1, validation_fraction=0.0)
    assert model.fit(X[:, :5], Y).threshold_ == 0.5


def test_a_refined_output_is_not_mixed_with_others(rows) -> None:
    X, Y = rows
    refined = MultiLabelClassifier(refine="net", trees=4, validation_fraction=0.0, **QUICK)
    assert refined.fit(X, Y).threshold_ == 0.5


def test_an_energy_of_the_users_own_has_one_task_net(rows) -> None:
    from lossnet.energies import LabelEnergy

    own = MultiLabelClassifier(energy_net=LabelEnergy, **QUICK).fit(*rows)
    assert MEMBERS not in own.nets_
    assert own.nets_["energy"].features.layers[0].in_features == 6


def test_texts_with_several_nets() -> None:
    texts = ["oil prices rise", "gold falls", "oil and gold"] * 10
    clf = TextClassifier("cross-entropy", members=2, hidden=(16,), max_epochs=2, random_state=0)
    clf.fit(texts, [["oil"], ["gold"], ["gold", "oil"]] * 10)
    assert clf.predict_proba(texts).shape == (30, 2)
