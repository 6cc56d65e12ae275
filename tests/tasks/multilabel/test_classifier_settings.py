"""Settings that cannot work are refused before training, and leave the estimator as it was."""

import numpy as np
import pytest
import torch
from torch import nn

from lossnet import MultiLabelClassifier, build
from lossnet.costs import get_cost
from lossnet.errors import SettingError
from lossnet.proposals import GBI


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "seal-nec"}, "unknown method 'seal-nec': did you mean 'seal-nce'"),
        ({"method": 5}, "method must be a method's name or a lossnet.Method, got 5"),
        ({"method": ["dvn"]}, "method must be a method's name"),
        ({"method_params": {"sample": 3}}, "did you mean 'samples'"),
        ({"method_params": {"samples": "many"}}, "samples must be an integer, got 'many'"),
        (
            {"method_params": 7},
            "method_params must be a dict of the method's parameters or None, got 7",
        ),
        ({"method": build("dvn"), "method_params": {"cost": "f1"}}, "not with a Method"),
        ({"threshold": "tune"}, "unknown threshold 'tune': did you mean 'tuned'"),
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1, got 1.5"),
        ({"threshold": None}, "threshold must be .*got None"),
        ({"threshold": float("nan")}, "threshold must be .*got nan"),
        ({"metric": "exmple-f1"}, "did you mean 'example-f1'"),
        ({"metric": 3}, "metric=3"),
        ({"refine": "nets"}, "unknown refine 'nets': did you mean 'net'"),
        ({"refine": 3}, "refine must be 'net'.* got 3"),
        ({"refine": GBI(cost=get_cost("f1"))}, "refine needs the truth"),
        ({"method": "cross-entropy", "refine": "net"}, "refine needs the net 'energy'"),
        ({"device": "gpu"}, "device must be 'cpu' or .*got 'gpu'"),
        ({"device": 1.5}, "device must be 'cpu' or .*got 1.5"),
        ({"max_epochs": 0}, "max_epochs must be an integer of at least 1, got 0"),
        ({"max_epochs": 2.5}, "max_epochs must be .*got 2.5"),
        ({"batch_size": -1}, "batch_size must be .*got -1"),
        ({"batch_size": True}, "batch_size must be .*got True"),
        ({"patience": 0}, "patience must be .*got 0"),
        ({"patience": 2.5}, "patience must be .*got 2.5"),
        ({"dropout": 1.0}, "dropout must be a number from 0 to below 1, got 1.0"),
        ({"dropout": "half"}, "dropout must be .*, got 'half'"),
        ({"input_dropout": -0.1}, "input_dropout must be .*, got -0.1"),
        ({"hidden": 400}, r"hidden must be a sequence of integers from 1.*got 400"),
        ({"hidden": (8, 0)}, r"hidden must be .*got \(8, 0\)"),
        ({"hidden": "88"}, "hidden must be .*got '88'"),
        ({"hidden": (8.0,)}, r"hidden must be .*got \(8.0,\)"),
        ({"global_hidden": 0}, "global_hidden must be .*got 0"),
        ({"standardise": "yes"}, "unknown standardise 'yes'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be .*got 1.0"),
        ({"validation_fraction": "some"}, "validation_fraction must be .*got 'some'"),
        ({"task_net": nn.Linear(6, 3)}, "task_net must be None or a function .*, got a Linear"),
        ({"task_net": "mlp"}, "task_net must be None or a function .*, got 'mlp'"),
        ({"energy_net": 3}, "energy_net must be None or a function .*, got 3"),
    ],
)
def test_unusable_settings(data, params, message) -> None:
    model = MultiLabelClassifier(**params)
    before = dict(model.__dict__)
    with pytest.raises(SettingError, match=message):
        model.fit(*data)
    assert model.__dict__ == before


def test_random_state_must_be_one(classifier, data) -> None:
    with pytest.raises(ValueError, match="seed"):
        classifier(random_state="seven").fit(*data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"task_net": lambda d, n: nn.Linear(d, n + 1)}, r"'task' gives \(2, 4\); expected.*2, 3"),
        ({"task_net": lambda d, n: nn.Linear(d + 1, n)}, "'task' cannot be run on the input"),
        ({"task_net": lambda d, n: d}, "'task' gave int; expected a torch.nn.Module"),
        ({"energy_net": lambda d, n: nn.Linear(d, n)}, "without encode"),
        ({"energy_net": lambda d, n: NoBatch()}, r"two candidates \(2,\); expected.*\(2, 2\)"),
    ],
)
def test_own_nets_are_tried_before_training(classifier, data, params, message) -> None:
    model = classifier("seal-nce", **params)
    with pytest.raises(SettingError, match=message):
        model.fit(*data)
    assert not hasattr(model, "nets_")


class NoBatch(nn.Module):
    def encode(self, x, mask=None):
        return x

    def forward(self, h, y, mask=None):
        return torch.zeros(2)


@pytest.mark.parametrize(
    ("params", "broken"),
    [
        ({"max_epochs": 0}, {}),
        ({}, {"Y": "wrong"}),
        ({}, {"validation_data": 3}),
        ({"metric": lambda Y, P: 1 / 0}, {}),
        ({"method_params": {"task_optimiser": {"lr": 1e30}}}, {}),
    ],
)
def test_a_failed_refit_leaves_the_fitted_model(classifier, data, params, broken) -> None:
    X, Y = data
    model = classifier().fit(X, Y)
    proba, threshold, history = model.predict_proba(X), model.threshold_, model.history_
    wide = np.hstack([X, X])
    Y = np.full((80, 3), 2) if "Y" in broken else Y
    with pytest.raises((ValueError, ArithmeticError, RuntimeError)):
        model.set_params(**params).fit(wide, Y, validation_data=broken.get("validation_data"))
    assert model.n_features_in_ == 6
    assert (model.threshold_, model.history_) == (threshold, history)
    assert np.array_equal(model.predict_proba(X), proba)


def test_hidden_takes_lists_arrays_and_nothing(classifier, data) -> None:
    expected = classifier(max_epochs=1).fit(*data).predict_proba(data[0])
    for hidden in ([8], np.array([8])):
        model = classifier(hidden=hidden, max_epochs=1).fit(*data)
        assert np.array_equal(model.predict_proba(data[0]), expected)
    linear = classifier("seal-nce", hidden=(), max_epochs=1).fit(*data)
    assert linear.nets_["task"].label_embeddings.shape == (3, 6)


@pytest.mark.parametrize("width", [1_000_000, 2**31 - 1])
def test_nets_that_memory_cannot_hold(classifier, data, width) -> None:
    with pytest.raises(SettingError, match=r"weights takes .* GB of memory|nets are too large"):
        classifier(hidden=(width, width)).fit(*data)
