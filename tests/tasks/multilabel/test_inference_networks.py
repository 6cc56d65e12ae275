"""Inference networks through the classifier: sizes, prediction, folders, unlabelled rows."""

import numpy as np
import pytest
import torch

from lossnet import MultiLabelClassifier
from lossnet.errors import SettingError
from lossnet.nets import Derived

SHARINGS = ["separated", "shared", "stacked"]


def fit(classifier, data, sharing: str, **options) -> MultiLabelClassifier:
    params = {"sharing": sharing, "task_optimiser": {"lr": 0.02}, "energy_optimiser": {"lr": 0.01}}
    return classifier("infnet-plus", method_params=params, **options).fit(*data)


def size(clf: MultiLabelClassifier) -> int:
    return sum(p.numel() for net in clf.nets_.values() for p in net.parameters())


def test_separated_nets_are_larger_than_shared_and_those_than_stacked(classifier, data) -> None:
    models = {sharing: fit(classifier, data, sharing, max_epochs=1) for sharing in SHARINGS}
    assert size(models["separated"]) > size(models["shared"]) > size(models["stacked"])
    below = size(models["stacked"]) - 3 * 3  # three numbers a label
    assert size(models["shared"]) == below + 3 * 8  # one embedding a label
    task = sum(p.numel() for p in models["separated"].nets_["task"].parameters())
    assert size(models["separated"]) == below + task
    for sharing, model in models.items():
        derived = isinstance(model.nets_["augmented"], Derived)
        assert derived == (sharing != "separated")


class Bomb(torch.nn.Module):
    """Stands where a net must not be run."""

    def forward(self, *given):
        raise AssertionError("the cost-augmented net was run")

    logits = forward


@pytest.mark.parametrize("sharing", SHARINGS)
def test_prediction_runs_the_test_time_net_alone(classifier, data, sharing) -> None:
    """From x alone: where the truth is not there to be had."""
    X, _ = data
    clf = fit(classifier, data, sharing)
    expected = clf.predict_proba(X)
    assert clf.method_.predict.nets == {"task"}
    assert not clf.method_.predict.needs
    clf.nets_["augmented"] = Bomb()
    clf.nets_["energy"] = Bomb()
    np.testing.assert_array_equal(clf.predict_proba(X), expected)
    assert clf.predict(X).shape == (80, 3)
    task = torch.sigmoid(clf.nets_["task"](torch.as_tensor(clf._source(clf._unseen(X))._x)))
    np.testing.assert_allclose(expected, task.numpy(), atol=1e-6)


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("keep_energy", [True, False])
def test_a_folder_predicts_the_same(classifier, data, tmp_path, sharing, keep_energy) -> None:
    X, Y = data
    clf = fit(classifier, data, sharing)
    folder = clf.save(tmp_path / "model", keep_energy=keep_energy)
    loaded = MultiLabelClassifier.load(folder)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
    kept = {"task", "energy", "augmented"} if keep_energy else {"task"}
    assert set(loaded.nets_) == kept
    for name in kept:
        stored = loaded.nets_[name].state_dict()
        assert stored.keys() == clf.nets_[name].state_dict().keys()
        for key, value in clf.nets_[name].state_dict().items():
            assert torch.equal(stored[key], value)
    if keep_energy:
        np.testing.assert_array_equal(loaded.energy(X, Y), clf.energy(X, Y))
        refined = MultiLabelClassifier.load(folder, refine="net").predict_proba(X)
        assert not np.array_equal(refined, clf.predict_proba(X))
    else:
        with pytest.raises(SettingError, match="has no loss-net, or it was not kept"):
            loaded.energy(X, Y)
    again = loaded.fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_a_net_of_ones_own_cannot_be_shared_without_features(classifier, data) -> None:
    def own(features, labels):
        return torch.nn.Linear(features, labels)

    message = "the net 'task' is a Linear, which has no features to share"
    with pytest.raises(SettingError, match=message):
        fit(classifier, data, "shared", task_net=own)
    for sharing in ("separated", "stacked"):
        assert fit(classifier, data, sharing, task_net=own, max_epochs=1).predict(data[0]).any()


# Unlabelled rows ---------------------------------------------------------------------------------

TUNED = {"tune_on": "unlabelled", "tune_optimiser": {"lr": 0.01}, "task_optimiser": {"lr": 0.02}}


def test_unlabelled_rows_are_learned_from(classifier, data) -> None:
    X, Y = data
    rng = np.random.default_rng(1)
    some, others = rng.normal(size=(2, 30, 6)).astype(np.float32)
    found = [
        classifier("infnet", method_params=TUNED)
        .fit(X, Y, validation_data=(X, Y), unlabelled=given)
        .predict_proba(X)
        for given in (some, some, others)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_missing_unlabelled_rows(classifier, data) -> None:
    message = r"'infnet' as configured trains on unlabelled rows; pass them: fit\(..., unl"
    with pytest.raises(SettingError, match=message):
        classifier("infnet", method_params=TUNED).fit(*data)


@pytest.mark.parametrize("method", ["cross-entropy", "dvn", "spen"])
def test_superfluous_unlabelled_rows(classifier, data, method) -> None:
    clf = classifier(method)
    message = f"'{method}' as configured has no use for unlabelled rows; leave them out, or use"
    with pytest.raises(SettingError, match=message):
        clf.fit(*data, unlabelled=data[0])
    assert not hasattr(clf, "nets_")


def test_unlabelled_rows_of_other_columns(classifier, data) -> None:
    with pytest.raises(ValueError, match="4 features, but MultiLabelClassifier is expecting 6"):
        classifier("infnet", method_params=TUNED).fit(*data, unlabelled=data[0][:, :4])


def test_validation_rows_must_be_there_to_tune_on(classifier, data) -> None:
    clf = classifier(
        "infnet", method_params={"tune_on": "validation"}, validation_fraction=0.0, max_epochs=1
    )
    with pytest.raises(SettingError, match="trains on validation rows, and none are given"):
        clf.fit(*data)
    clf.set_params(validation_fraction=0.2).fit(*data)
    assert {row["phase"] for row in clf.history_} == {"infnet", "tune"}
