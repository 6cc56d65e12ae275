"""NaN in Y: labels that are not known, from fitting to scoring."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lossnet import MultiLabelClassifier
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import MultiLabelData, evaluate, load
from lossnet.tasks.multilabel.arrays import known_of


@pytest.fixture
def partial(data):
    """The rows of ``data``, and their labels with a third not known."""
    X, Y = data
    gone = np.random.default_rng(5).random(Y.shape) < 0.33
    return X, np.where(gone, np.nan, Y.astype(float))


def weights_of(model) -> list[torch.Tensor]:
    return [weight for net in model.nets_.values() for weight in net.state_dict().values()]


METHODS = ["cross-entropy", "seal-nce", "seal-margin", "seal-regression-s", "spen", "alen"]


@pytest.mark.parametrize("method", METHODS)
def test_every_step_runs(classifier, partial, method, tmp_path) -> None:
    X, Y = partial
    model = classifier(method, max_epochs=2).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert 0.0 <= model.score(X, Y) <= 1.0
    assert 0.0 <= model.best_metric_ <= 1.0
    model.tune_threshold(X, Y)
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("form", ["nan", "none", "frame", "data"])
def test_forms_of_unknown(classifier, partial, form) -> None:
    pd = pytest.importorskip("pandas")
    X, Y = partial
    given = {
        "nan": (X, Y.astype(np.float32)),
        "none": (X, [[None if v != v else int(v) for v in row] for row in Y]),
        "frame": (X, pd.DataFrame(Y)),
        "data": (MultiLabelData(X, Y),),
    }[form]
    models = [classifier().fit(*given), classifier().fit(X, Y)]
    for one, other in zip(*map(weights_of, models), strict=True):
        assert torch.equal(one, other)


def test_float_labels_that_are_all_known_are_as_integers(classifier, data) -> None:
    X, Y = data
    models = [classifier("seal-nce").fit(X, labels) for labels in (Y, Y.astype(float))]
    for one, other in zip(*map(weights_of, models), strict=True):
        assert torch.equal(one, other)


def test_rows_of_which_nothing_is_known_contribute_nothing(classifier, partial) -> None:
    X, Y = partial
    lone, some = np.full((7, Y.shape[1]), np.nan), np.random.default_rng(0).normal(size=(7, 6))
    longer = np.vstack([X, some]), np.vstack([Y, lone])
    kept = (~np.isnan(Y)).any(axis=1)
    validation = {"validation_data": (X, Y)}
    models = [
        classifier("seal-nce").fit(*longer, **validation),
        classifier("seal-nce").fit(X[kept], Y[kept], validation_data=longer),
    ]
    for one, other in zip(*map(weights_of, models), strict=True):
        assert torch.equal(one, other)
    assert models[0].threshold_ == models[1].threshold_
    assert models[0].score(*longer) == models[0].score(X, Y)


def test_a_label_of_which_nothing_is_known_is_named(classifier, data) -> None:
    pd = pytest.importorskip("pandas")
    X, Y = data[0], pd.DataFrame(data[1].astype(float), columns=["a", "b", "both"])
    Y["b"] = np.nan
    with pytest.raises(DataError, match="label 'b' is not known \\(NaN\\) in any training row"):
        classifier().fit(X, Y)
    with pytest.raises(DataError, match="the training data has no row with known labels"):
        classifier().fit(X, np.full(data[1].shape, np.nan))
    with pytest.raises(DataError, match="validation_data has no row with known labels"):
        classifier().fit(*data, validation_data=(X, np.full(data[1].shape, np.nan)))


def test_methods_without_a_task_net_say_so(classifier, partial) -> None:
    with pytest.raises(SettingError, match="not known, and 'dvn' has no task-net to fill them in"):
        classifier("dvn").fit(*partial)


def test_score_and_thresholds_read_known_labels(classifier, partial, data) -> None:
    X, Y = partial
    model = classifier(max_epochs=30, threshold="tuned-per-label").fit(X, Y)
    on = model.predict(X)
    some = (~np.isnan(Y)).any(axis=1)
    right = [(row == own)[~np.isnan(own)].all() for row, own in zip(on[some], Y[some], strict=True)]
    assert model.score(X, Y) == np.mean(right)
    weight = np.arange(1.0, len(X) + 1)
    assert model.score(X, Y, sample_weight=weight) == pytest.approx(
        np.average(right, weights=weight[some])
    )
    assert evaluate(Y, model.predict_proba(X))["entries"] == (~np.isnan(Y)).sum()
    model.calibrate(X, Y)
    assert model.temperature_ > 0


@pytest.mark.parametrize(("metric", "decode"), [("subset-accuracy", "auto"), ("jaccard", "auto")])
def test_decisions_are_chosen_on_known_labels(classifier, partial, metric, decode) -> None:
    X, Y = partial
    model = classifier("seal-nce", metric=metric, decode=decode).fit(X, Y)
    assert set(np.unique(model.label_sets_)) <= {0, 1}
    assert len(model.label_sets_) <= (~np.isnan(Y)).all(axis=1).sum()
    assert model.predict(X).shape == Y.shape


def test_known_sets_need_rows_that_are_known_completely(classifier, partial) -> None:
    X, Y = partial
    Y = Y.copy()
    Y[np.arange(len(Y)), np.arange(len(Y)) % 3] = np.nan
    model = classifier("seal-nce", metric="subset-accuracy", max_epochs=1).fit(X, Y)
    assert model.label_sets_.shape == (0, 3)
    assert model.predict(X).shape == Y.shape
    model.set_params(decode="mode")
    assert model.predict(X).shape == Y.shape
    with pytest.raises(SettingError, match="decode='known'"):
        classifier(metric="subset-accuracy", decode="known").fit(X, Y)
    with pytest.raises(DataError, match="0 rows have all labels known"):
        model.structure_gain(X, Y)


def test_structure_is_measured_on_complete_rows(classifier, partial) -> None:
    X, Y = partial
    model = classifier("seal-nce", max_epochs=2).fit(X, Y)
    complete = (~np.isnan(Y)).all(axis=1)
    assert model.structure_gain(X, Y).rows == complete.sum()
    assert model.structure_gain(X, Y) == model.structure_gain(X[complete], Y[complete])


def test_half_of_the_labels_teach_nearly_as_much(classifier) -> None:
    """On labels that follow from the inputs; taken as off, they would teach half of each label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    Y = (X @ rng.normal(size=(5, 6)) > 0.3).astype(float)
    gone = rng.random(Y.shape) < 0.5
    found = {}
    for how, labels in {"all": Y, "nan": np.where(gone, np.nan, Y), "off": Y * ~gone}.items():
        model = classifier(hidden=(32,), max_epochs=30, threshold=0.5).fit(X[:600], labels[:600])
        found[how] = evaluate(Y[600:], model.predict_proba(X[600:]))["example-f1"]
    assert found["off"] < found["all"] - 0.2
    assert found["nan"] > found["all"] - 0.05


CSV = "a,b,label:u,label:v\n" + "".join(
    f"{k % 7},{k % 3},{'' if k % 4 == 1 else k % 2},{'?' if k % 5 == 2 else int(k % 3 == 0)}\n"
    for k in range(40)
)
ARFF = "@relation r\n@attribute a numeric\n@attribute u {0,1}\n@attribute v {no,yes}\n@data\n"


def test_files_with_labels_that_are_not_known(write) -> None:
    data = load(write("a.csv", CSV))
    assert data.n_unknown == 18
    assert np.isnan(data.Y[1, 0])
    assert np.isnan(data.Y[2, 1])
    assert data.Y[3].tolist() == [1.0, 1.0]
    found = load(write("b.arff", ARFF + "1,?,yes\n2,1,?\n3,0,no\n"), labels=-2)
    assert np.array_equal(found.Y, [[np.nan, 1], [1, np.nan], [0, 0]], equal_nan=True)
    assert (found.cardinality, found.diversity) == (2 / 3, 1)
    assert found.density == 0.5
    other = load(write("c.arff", ARFF + "1,0,yes\n2,1,?\n3,0,no\n"), labels=-2)
    assert found.checksum() != other.checksum()
    assert known_of(other.subset([0, 2]).Y) is None
    sparse = "@data\n{0 1,1 ?}\n{1 1}\n{0 2}\n"
    listed = load(write("d.arff", ARFF.replace("@data\n", "") + sparse), labels=-2)
    assert np.array_equal(listed.Y, [[np.nan, 0], [1, 0], [0, 0]], equal_nan=True)


def test_texts_with_labels_that_are_not_known() -> None:
    from lossnet import TextClassifier

    texts = ["oil prices rise", "gold falls", "oil and gold", "nothing at all"] * 10
    Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 10, dtype=float)
    Y[::3, 0] = np.nan
    model = TextClassifier("seal-nce", hidden=(8,), global_hidden=4, max_epochs=2, random_state=0)
    model.fit(texts, Y)
    assert 0.0 <= model.score(texts, Y) <= 1.0
    assert model.predict(texts).shape == Y.shape
