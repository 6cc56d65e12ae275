"""Training: history, progress, seeds, early stopping, checkpoints."""

import numpy as np
import pytest
import torch

from lossnet import build
from lossnet.errors import DataError, SettingError, TrainingError
from lossnet.tasks.multilabel import METRICS, Metric
from lossnet.training import Checkpoint


def weights(model):
    return [p.numpy() for _, net in sorted(model.nets_.items()) for p in net.state_dict().values()]


def same_weights(a, b):
    return all(np.array_equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))


def test_history_has_a_row_for_each_epoch(classifier, data) -> None:
    model = classifier("seal-nce", max_epochs=3).fit(*data)
    assert [row["epoch"] for row in model.history_] == [1, 2, 3]
    for row in model.history_:
        assert set(row) == {"phase", "epoch", "loss/energy", "loss/task", "metric", "seconds"}
        assert all(np.isfinite(v) for key, v in row.items() if key != "phase")
    static = classifier("seal-static-nce", max_epochs=2).fit(*data)
    phases = list(dict.fromkeys(row["phase"] for row in static.history_))
    assert phases == [phase.name for phase in static.method_.phases]


def test_progress_bar_shows_losses_and_metric(classifier, data, capsys) -> None:
    classifier("seal-nce", verbose=1, metric="hamming").fit(*data)
    shown = capsys.readouterr().err
    assert "seal-nce" in shown
    assert "task loss" in shown
    assert "energy loss" in shown
    assert "validation hamming" in shown
    classifier("seal-nce", max_epochs=1).fit(*data)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "dvn"])
def test_same_seed_same_weights(classifier, data, method) -> None:
    first = classifier(method, max_epochs=2).fit(*data)
    torch.manual_seed(99)
    second = classifier(method, max_epochs=2).fit(*data)
    assert same_weights(first, second)
    assert first.threshold_ == second.threshold_
    other = classifier(method, max_epochs=2, random_state=1).fit(*data)
    assert not same_weights(first, other)


def test_fit_leaves_the_global_generators_alone(classifier, data) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    numpy_state = np.random.get_state()[1].copy()  # noqa: NPY002
    classifier("seal-nce", max_epochs=1).fit(*data).predict(data[0])
    assert torch.equal(torch.rand(3), expected)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002


def test_random_state_may_be_a_generator_or_none(classifier, data) -> None:
    def drawn(state):
        return classifier(max_epochs=1, random_state=state).fit(*data)

    assert same_weights(drawn(np.random.RandomState(3)), drawn(np.random.RandomState(3)))
    assert same_weights(drawn(np.int64(3)), drawn(3))
    shared = np.random.RandomState(3)
    assert not same_weights(drawn(shared), drawn(shared))
    assert not same_weights(drawn(None), drawn(None))


@pytest.mark.parametrize("metric", ["example-f1", "subset-accuracy", "map", "own"])
def test_early_stopping_restores_the_best_epoch(classifier, data, metric) -> None:
    X, Y = data
    if metric == "own":
        metric = lambda Y, P: float((Y == P).mean())  # noqa: E731
    params = {"metric": metric, "method_params": {"task_optimiser": {"lr": 0.05}}}
    model = classifier(max_epochs=60, patience=3, **params)
    model.fit(X, Y, validation_data=(X, Y))
    values = [row["metric"] for row in model.history_]
    best = int(np.argmax(values))
    assert len(values) == min(60, best + 1 + 3)
    assert model.best_metric_ == pytest.approx(values[best])
    shorter = classifier(max_epochs=best + 1, patience=60, **params)
    assert same_weights(shorter.fit(X, Y, validation_data=(X, Y)), model)


def test_early_stopping_watches_the_metric_it_is_told(classifier, data) -> None:
    calls = []

    def falling(Y, proba):
        calls.append(1)
        return -float(len(calls))

    metric = Metric("falling", falling, needs="probabilities")
    model = classifier(max_epochs=50, patience=4, metric=metric).fit(*data)
    assert len(model.history_) == 5


def test_fitted_nets_are_frozen(classifier, data) -> None:
    model = classifier("seal-nce", max_epochs=1).fit(*data)
    for net in model.nets_.values():
        assert not net.training
        assert not any(p.requires_grad for p in net.parameters())
    assert set(model.nets_) == {"task", "energy"}


def test_a_method_object_is_trained_as_its_name(classifier, data) -> None:
    named = classifier("seal-nce", method_params={"samples": 5}).fit(*data)
    given = classifier(build("seal-nce", {"samples": 5})).fit(*data)
    assert same_weights(named, given)


def test_a_net_that_writes_to_its_input_does_no_harm(classifier, data) -> None:
    X, Y = data
    held = X.copy()

    def greedy(features, labels):
        return torch.nn.Sequential(torch.nn.ReLU(inplace=True), torch.nn.Linear(features, labels))

    model = classifier(task_net=greedy, standardise=False).fit(X, Y, validation_data=(X, Y))
    first = model.predict_proba(X)
    assert np.array_equal(X, held)
    assert np.array_equal(model.predict_proba(X), first)


def test_many_rows_are_predicted_as_few(classifier, data) -> None:
    model = classifier("seal-nce", refine="net").fit(*data)
    many = np.tile(data[0], (30, 1))
    for refine in (None, "net"):
        proba = model.set_params(refine=refine).predict_proba(many)
        assert np.allclose(proba[-80:], model.predict_proba(data[0]), atol=1e-5)


class KilledError(Exception):
    pass


@pytest.mark.parametrize("method", ["seal-nce", "seal-static-nce"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_resume_gives_the_uninterrupted_weights(
    classifier, data, tmp_path, monkeypatch, method, after
) -> None:
    path = tmp_path / "run" / "checkpoint.safetensors"
    whole = classifier(method, max_epochs=3).fit(*data)
    written = Checkpoint.on_epoch
    count = 0

    def killed(self, trainer):
        nonlocal count
        if count == after:
            raise KilledError
        count += 1
        self.seconds = 0.0
        written(self, trainer)

    monkeypatch.setattr(Checkpoint, "on_epoch", killed)
    model = classifier(method, max_epochs=3)
    try:
        model.fit(*data, checkpoint=path)
    except KilledError:
        assert not hasattr(model, "nets_")
    monkeypatch.undo()
    other = {"verbose": 0, "refine": "net"}
    resumed = classifier(method, max_epochs=3, **other)
    resumed.fit(*data, checkpoint=path, resume_from_checkpoint=True)
    assert same_weights(resumed, whole)
    drop = {"seconds"}
    assert [{k: v for k, v in row.items() if k not in drop} for row in resumed.history_] == [
        {k: v for k, v in row.items() if k not in drop} for row in whole.history_
    ]


def test_resume_refuses_other_settings_and_data(classifier, data, tmp_path) -> None:
    X, Y = data
    path = tmp_path / "c.safetensors"
    classifier(max_epochs=1).fit(X, Y, checkpoint=path)

    def resumed(model, X, Y):
        return model.fit(X, Y, checkpoint=path, resume_from_checkpoint=True)

    with pytest.raises(DataError, match=r"other settings \(different: dropout, energy_dropout\)"):
        resumed(classifier(max_epochs=1, dropout=0.1), X, Y)
    with pytest.raises(DataError, match=r"other settings \(different: data\)"):
        resumed(classifier(max_epochs=1), X + 1, Y)
    with pytest.raises(DataError, match="seed"):
        resumed(classifier(max_epochs=1, random_state=4), X, Y)
    with pytest.raises(SettingError, match="random_state must be the integer"):
        resumed(classifier(max_epochs=1, random_state=None), X, Y)
    with pytest.raises(SettingError, match="pass checkpoint="):
        classifier().fit(X, Y, resume_from_checkpoint=True)
    with pytest.raises(DataError, match="no checkpoint"):
        classifier().fit(X, Y, checkpoint=tmp_path / "none", resume_from_checkpoint=True)


def test_settings_of_a_checkpoint_do_not_depend_on_addresses(classifier, data, tmp_path) -> None:
    path = tmp_path / "c.safetensors"

    def model():
        return classifier(
            max_epochs=1, metric=Metric("m", METRICS["hamming"].function), task_net=Linear()
        )

    model().fit(*data, checkpoint=path)
    model().fit(*data, checkpoint=path, resume_from_checkpoint=True)


class Linear:
    def __call__(self, features, labels):
        return torch.nn.Linear(features, labels)


def test_an_unwritable_checkpoint_is_found_before_training(classifier, data, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    calls = []
    model = classifier(metric=Metric("m", lambda Y, P: float(len(calls.append(1) or calls))))
    with pytest.raises(DataError, match="cannot write"):
        model.fit(*data, checkpoint=tmp_path / "file" / "c.safetensors")
    assert len(calls) == 1
    assert not hasattr(model, "nets_")


def test_a_loss_that_is_not_finite_names_the_update(classifier, data, tmp_path) -> None:
    path = tmp_path / "c.safetensors"
    model = classifier(
        "seal-nce", method_params={"task_optimiser": {"lr": 1e30}, "energy_optimiser": {"lr": 1e30}}
    )
    with pytest.raises(TrainingError, match=r"the loss of the '(task|energy)' update became"):
        model.fit(*data, checkpoint=path)
    assert not hasattr(model, "nets_")
    assert path.exists()


def test_numpy_integers_are_as_good_as_others(classifier, data) -> None:
    plain, given = {"batch_size": 16, "max_epochs": 1, "hidden": (8,)}, {}
    for name, value in plain.items():
        given[name] = np.array(value, dtype=np.int32)[()]
    assert same_weights(classifier(**given).fit(*data), classifier(**plain).fit(*data))
