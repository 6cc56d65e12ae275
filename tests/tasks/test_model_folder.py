"""Model folders: the same predictions after load, and clear errors for what cannot be read."""

import hashlib
import json
import resource
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

import lossnet.tasks.model_folder
from lossnet import MultiLabelClassifier, SequenceTagger, build
from lossnet.checks import describe
from lossnet.energies import LabelEnergy
from lossnet.errors import DataError, SettingError
from lossnet.proposals import GBI, NetOutput
from lossnet.recipes import METHODS
from lossnet.tasks.model_folder import CONFIG

pd = pytest.importorskip("pandas")


def same(a, b, X) -> None:
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))
    assert np.array_equal(a.predict(X), b.predict(X))
    assert a.predict(X).dtype == b.predict(X).dtype


def test_parameters_changed_since_fit_are_not_saved(classifier, data, tmp_path) -> None:
    model = classifier("seal-nce", hidden=(4,), max_epochs=1).fit(*data)
    for changed in ({"hidden": (5,)}, {"method": "cross-entropy"}):
        before = model.get_params(deep=False)
        with pytest.raises(SettingError, match="fitted with other parameters than the estimator"):
            model.set_params(**changed).save(tmp_path / "model")
        assert not (tmp_path / "model").exists()
        model.set_params(**before)
    model.set_params(refine="net", verbose=0, max_epochs=7)  # the nets are what they were
    same(model, MultiLabelClassifier.load(model.save(tmp_path / "model")), data[0])


def the_file(folder, name):
    (path,) = folder.glob(f"{name}-*")
    return path


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("cross-entropy", {}),
        ("seal-nce", {"threshold": "tuned-per-label", "method_params": {"samples": 3}}),
        ("seal-nce", {"refine": "net", "threshold": 0.4}),
        ("seal-nce", {"refine": "random", "hidden": [4, 4], "metric": "map"}),
        ("dvn", {"standardise": False}),
        ("spen", {}),
        ("seal-static-margin", {}),
        ("seal-nce", {"hidden": np.array([4]), "dropout": np.float32(0.25)}),
    ],
)
def test_loaded_models_predict_the_same(classifier, data, tmp_path, method, params) -> None:
    X, Y = 3 * data[0] + 1, data[1]
    model = classifier(method, **{"max_epochs": 2, **params}).fit(X, Y)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    other = MultiLabelClassifier.load(model.save(tmp_path / "new" / "model"))
    assert torch.equal(torch.get_rng_state(), state)
    same(model, other, X)
    assert np.array_equal(other.threshold_, model.threshold_)
    assert other.history_ == model.history_
    assert other.best_metric_ == model.best_metric_
    assert other.label_names_ == model.label_names_
    assert other.method_.name == method
    shown, expected = other.get_params(deep=False), model.resolved_params()
    assert tuple(shown.pop("hidden")) == tuple(expected.pop("hidden"))
    assert shown == expected
    same(other.fit(X, Y), model, X)


def test_changed_defaults_change_no_stored_model(classifier, data, tmp_path, monkeypatch) -> None:
    model = classifier("dvn", method_params={"energy_optimiser": {"lr": 0.01}}).fit(*data)
    model.save(tmp_path / "m")
    tagger = SequenceTagger("ssvm", hidden=4, max_epochs=1, random_state=0)
    sentences = [["a", "b", "c"], ["b", "a"]] * 5
    tagger.fit(sentences, [["O", "B-x", "I-x"], ["B-x", "O"]] * 5).save(tmp_path / "t")
    settled = describe([model.resolved_params(), tagger.resolved_params()])
    recipe = METHODS["dvn"].__kwdefaults__
    monkeypatch.setitem(recipe, "predict_steps", 1)
    monkeypatch.setitem(recipe, "inference", GBI(3, 0.5))
    monkeypatch.setitem(MultiLabelClassifier.__init__.__kwdefaults__, "global_hidden", 7)
    monkeypatch.setattr(SequenceTagger, "_task_defaults", lambda *_: {"margin": 9.0})
    assert MultiLabelClassifier("dvn").resolved_method_params()["predict_steps"] == 1
    one, two = MultiLabelClassifier.load(tmp_path / "m"), SequenceTagger.load(tmp_path / "t")
    same(one, model, data[0])
    assert two.predict(sentences) == tagger.predict(sentences)
    assert describe([one.resolved_params(), two.resolved_params()]) == settled


def test_the_vocabulary_has_a_file_of_its_own(tmp_path) -> None:
    tagger = SequenceTagger("cross-entropy", hidden=4, max_epochs=1, chars=True)
    folder = tagger.fit([["zebra", "runs"]] * 4, [["B-x", "O"]] * 4).save(tmp_path)
    assert "zebra" not in (folder / CONFIG).read_text()
    assert json.loads(the_file(folder, "vocabulary").read_text())["words"] == ["runs", "zebra"]


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (-1.0, 2.0), (False, True)])
def test_the_classes_of_a_1d_y_come_back(classifier, data, tmp_path, classes) -> None:
    X, y = data[0], np.array(classes)[data[1][:, 0]]
    model = classifier("seal-nce").fit(X, y)
    other = MultiLabelClassifier.load(model.save(tmp_path / "m"))
    same(model, other, X)
    assert list(other.classes_) == list(classes)
    named = classifier().fit(X, pd.Series(y.astype(object)))
    same(named, MultiLabelClassifier.load(named.save(tmp_path / "n")), X)


def test_names_come_back(classifier, data, tmp_path) -> None:
    X = pd.DataFrame(data[0], columns=[f"größe {i}" for i in range(6)])
    Y = pd.DataFrame(data[1], columns=["a", "ü", "c"])
    model = classifier("seal-nce").fit(X, Y)
    other = MultiLabelClassifier.load(model.save(tmp_path / "m"))
    same(model, other, X)
    assert list(other.feature_names_in_) == list(X.columns)
    assert other.label_names_ == ["a", "ü", "c"]
    assert np.array_equal(other.energy(X, Y[["c", "a", "ü"]]), model.energy(X, Y))
    with pytest.raises(ValueError, match="feature names"):
        other.predict(X.rename(columns={"größe 0": "x"}))


def test_without_the_energy_refining_is_refused(classifier, data, tmp_path) -> None:
    X, Y = data
    model = classifier("seal-nce").fit(X, Y)
    model.save(tmp_path / "m", keep_energy=False)
    other = MultiLabelClassifier.load(tmp_path / "m")
    assert set(other.nets_) == {"task"}
    same(model, other, X)
    with pytest.raises(SettingError, match="refine needs the net 'energy'"):
        MultiLabelClassifier.load(tmp_path / "m", refine="net")
    with pytest.raises(SettingError, match="was not kept"):
        other.energy(X, Y)
    for needs in (classifier("dvn"), classifier("seal-nce", refine="net")):
        needs.fit(X, Y).save(tmp_path / "n", keep_energy=False)
        same(needs, MultiLabelClassifier.load(tmp_path / "n"), X)


def test_refine_when_loading(classifier, data, tmp_path) -> None:
    X, Y = data
    model = classifier("seal-nce").fit(X, Y)
    model.save(tmp_path / "m")
    other = MultiLabelClassifier.load(tmp_path / "m", refine="net")
    assert np.array_equal(other.predict_proba(X), model.set_params(refine="net").predict_proba(X))


def own_net(features: int, labels: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 5), nn.Tanh(), nn.Linear(5, labels))


def own_energy(features: int, labels: int) -> LabelEnergy:
    return LabelEnergy(features, labels, hidden=(3,), global_hidden=2)


def test_own_nets_must_be_passed_again(classifier, data, tmp_path) -> None:
    X, Y = data
    model = classifier("seal-nce", task_net=own_net, energy_net=own_energy).fit(X, Y)
    model.save(tmp_path / "m")
    with pytest.raises(SettingError, match=r"made with .*_net=<function own_.*not stored"):
        MultiLabelClassifier.load(tmp_path / "m")
    with pytest.raises(SettingError, match=r"load\(\.\.\., energy_net=\.\.\.\)"):
        MultiLabelClassifier.load(tmp_path / "m", task_net=own_net)
    with pytest.raises(DataError, match="do not fit the net 'task'"):
        MultiLabelClassifier.load(tmp_path / "m", task_net=nn.Linear, energy_net=own_energy)
    same(
        MultiLabelClassifier.load(tmp_path / "m", task_net=own_net, energy_net=own_energy), model, X
    )
    model.save(tmp_path / "m", keep_energy=False)
    with pytest.warns(UserWarning, match="energy_net=.*predictions do not need it"):
        same(MultiLabelClassifier.load(tmp_path / "m", task_net=own_net), model, X)


@pytest.mark.parametrize(
    ("name", "value"),
    [("method", build("seal-nce")), ("refine", GBI(3, 0.1, start=NetOutput()))],
)
def test_own_methods_and_refinements_must_be_passed_again(
    classifier, data, tmp_path, name, value
) -> None:
    model = classifier(**{"method": "seal-nce", name: value}).fit(*data)
    model.save(tmp_path / "m")
    with pytest.raises(SettingError, match=f"load\\(..., {name}=...\\)"):
        MultiLabelClassifier.load(tmp_path / "m")
    same(MultiLabelClassifier.load(tmp_path / "m", **{name: value}), model, data[0])


def test_what_predictions_do_not_need_is_only_warned_about(classifier, data, tmp_path) -> None:
    model = classifier(
        metric=lambda Y, P: float((Y == P).mean()), random_state=np.random.RandomState(0)
    ).fit(*data)
    model.save(tmp_path / "m")
    with pytest.warns(UserWarning, match="set (metric|random_state) before you fit again") as found:
        other = MultiLabelClassifier.load(tmp_path / "m")
    assert len(found) == 2
    same(model, other, data[0])


def test_unfitted_models_are_not_saved(classifier, tmp_path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        classifier().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


# Damage ------------------------------------------------------------------------------------------


@pytest.fixture
def folder(classifier, data, tmp_path):
    return classifier("seal-nce", max_epochs=1).fit(*data).save(tmp_path / "model")


@pytest.mark.parametrize("name", ["weights", "labels", "history"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_damaged_files_are_named(folder, name, damage) -> None:
    path = the_file(folder, name)
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    path.write_bytes(
        content if damage == "flip" else content[: len(content) // 2 * (damage == "cut")]
    )
    with pytest.raises(DataError, match=f"{path.name} is damaged"):
        MultiLabelClassifier.load(folder)


@pytest.mark.parametrize("name", ["weights", "labels", "history"])
def test_missing_files_are_named(folder, name) -> None:
    path = the_file(folder, name)
    path.unlink()
    with pytest.raises(DataError, match=f"cannot read {name}.*{path.name}"):
        MultiLabelClassifier.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=99, lossnet="9.0"), r"written by lossnet 9.0 in format 99"),
        (lambda c: c.update(format="1"), "is not the config of a model"),
        (lambda c: c["parameters"].update(depth=3), "unknown parameter 'depth'"),
        (lambda c: c["parameters"].update(method="seal-xyz"), "unknown method 'seal-xyz'"),
        (lambda c: c["parameters"].update(method_params={"k": 1}), "cannot load the model in"),
        (lambda c: c.update(estimator="SequenceTagger"), "holds a SequenceTagger, not a Multi"),
        (lambda c: c.pop("parameters"), "damaged: parameters is None, expected dict"),
        (lambda c: c.pop("nets"), "damaged: nets is None, expected list"),
        (lambda c: c.pop("files"), "damaged: files is None, expected dict"),
        (lambda c: c.pop("objects"), "damaged: objects is None"),
        (lambda c: c.pop("features"), "config.json is damaged"),
        (lambda c: c.update(features=9), r"imputer/means has shape \(6,\); expected \(9,\)"),
        (lambda c: c["parameters"].update(hidden=[3]), "do not fit the net"),
        (lambda c: c["files"].pop("labels.json"), r"damaged: KeyError\('labels'\)"),
        (lambda c: c["files"]["labels.json"].pop("name"), "cannot read labels.json"),
        (lambda c: c["files"].update({"labels.json": 3}), "cannot read labels.json"),
    ],
)
def test_configs_that_cannot_be_used(folder, change, message) -> None:
    path = folder / CONFIG
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        MultiLabelClassifier.load(folder)


def test_files_outside_the_folder_are_not_read(folder, tmp_path) -> None:
    path = folder / CONFIG
    config = json.loads(path.read_text())
    shutil.move(the_file(folder, "labels"), tmp_path / "labels.json")
    config["files"]["labels.json"]["name"] = "../labels.json"
    path.write_text(json.dumps(config))
    with pytest.raises(DataError, match=r"cannot read labels\.json"):
        MultiLabelClassifier.load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"format": 1', "\xff"])
def test_configs_that_are_no_json(folder, text) -> None:
    (folder / CONFIG).write_bytes(text.encode("latin1"))
    with pytest.raises(DataError, match=CONFIG):
        MultiLabelClassifier.load(folder)


def test_places_that_hold_no_model(folder, tmp_path) -> None:
    with pytest.raises(DataError, match="is not a model folder"):
        MultiLabelClassifier.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is not a model folder"):
        MultiLabelClassifier.load(folder / CONFIG)
    (folder / CONFIG).unlink()
    with pytest.raises(DataError, match=r"config\.json does not exist"):
        MultiLabelClassifier.load(folder)


def test_load_refuses_parameters_that_do_not_exist(folder) -> None:
    with pytest.raises(SettingError, match="did you mean 'device'"):
        MultiLabelClassifier.load(folder, devise="cpu")
    with pytest.raises(SettingError, match=r"cannot load the model in .*device must be 'cpu'"):
        MultiLabelClassifier.load(folder, device="gpu")


def change_config(folder, change) -> None:
    config = json.loads((folder / CONFIG).read_text())
    change(config)
    (folder / CONFIG).write_text(json.dumps(config))


def replace_file(folder, name: str, content: bytes) -> None:
    """Put other content into a model folder, its checksum too."""
    path = the_file(folder, name)
    path.write_bytes(content)
    full = f"{name}{path.suffix}"
    checksum = hashlib.sha256(content).hexdigest()
    change_config(folder, lambda c: c["files"][full].update(sha256=checksum))


def test_absurd_sizes_are_refused_before_memory_is_taken(folder) -> None:
    for hidden in ([30_000, 30_000], [2**31 - 1] * 3, [1] * 10**5):
        change_config(folder, lambda c, hidden=hidden: c["parameters"].update(hidden=hidden))
        with pytest.raises(ValueError, match=r"do not fit the net|overflow|must be at most"):
            MultiLabelClassifier.load(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 2**20  # kB


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, value) -> None:
    tensors = safetensors.torch.load(the_file(folder, "weights").read_bytes())
    next(t for name, t in tensors.items() if name.startswith("net/task")).view(-1)[0] = value
    replace_file(folder, "weights", safetensors.torch.save(tensors))
    with pytest.raises(DataError, match=r"net/task.* not finite; train again"):
        MultiLabelClassifier.load(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels", b"3"),
        ("labels", b'{"names": [1, 2, 3], "named": true}'),
        ("labels", b'{"names": "abc", "named": true}'),
        ("labels", b'{"classes": [1, 2, 3], "dtype": "<i8"}'),
        ("labels", b"[" * 100_000),
        ("labels", b"9" * 5_000),
        ("history", b'{"phase": 1}'),
        ("history", b"[3]"),
        ("weights", b""),
    ],
)
def test_wrong_types_are_refused(folder, name, content) -> None:
    replace_file(folder, name, content)
    with pytest.raises(DataError, match="damaged"):
        MultiLabelClassifier.load(folder)


def test_places_that_cannot_be_written(folder, tmp_path) -> None:
    model = MultiLabelClassifier.load(folder)
    taken = tmp_path / "file"
    taken.write_text("mine")
    with pytest.raises(DataError, match="is a file; expected a folder"):
        model.save(taken)
    with pytest.raises(DataError, match="cannot write"):
        model.save(taken / "child")
    assert taken.read_text() == "mine"


def test_nothing_in_a_folder_is_a_pickle(folder) -> None:
    names = sorted(path.name.partition("-")[0] for path in folder.iterdir())
    assert names == [CONFIG, "history", "history.csv", "history.jsonl", "labels", "weights"]
    for path in folder.glob("*.json"):
        json.loads(path.read_text())
    assert json.loads(the_file(folder, "labels").read_text())["names"] == [
        "label_0",
        "label_1",
        "label_2",
    ]


# Saving over an older model ----------------------------------------------------------------------


class KilledError(Exception):
    pass


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_save_leaves_the_old_or_the_new_model(
    classifier, data, tmp_path, monkeypatch, writes, moment
) -> None:
    X, Y = data
    old = classifier("seal-nce").fit(X, Y)
    new = classifier("seal-nce", random_state=1).fit(
        X, pd.DataFrame(Y[:, ::-1], columns=["c", "b", "a"])
    )
    folder = old.save(tmp_path / "m")
    count = 0

    def killing(write):
        def wrapped(*args):
            nonlocal count
            count += 1
            if count == writes + 1:
                if moment == "after":
                    write(*args)
                raise KilledError
            return write(*args)

        return wrapped

    for name in ("atomic_write", "write_json"):
        original = getattr(lossnet.tasks.model_folder, name)
        monkeypatch.setattr(lossnet.tasks.model_folder, name, killing(original))
    with pytest.raises(KilledError):
        new.save(folder)
    monkeypatch.undo()
    committed = writes == 3 and moment == "after"
    found = MultiLabelClassifier.load(folder)
    same(found, new if committed else old, X)
    assert found.label_names_ == (["c", "b", "a"] if committed else old.label_names_)
    new.save(folder)
    same(MultiLabelClassifier.load(folder), new, X)
    assert len(list(folder.iterdir())) == 6


def test_saving_over_a_model_keeps_what_is_not_its_own(classifier, data, folder) -> None:
    mine = (
        "notes.txt",
        "weights.safetensors",
        "weights-final.safetensors",
        "history-20261117.json",
    )
    for name in mine:
        (folder / name).write_text("mine")
    model = classifier(random_state=3).fit(*data)
    model.save(folder)
    model.save(folder)
    same(MultiLabelClassifier.load(folder), model, data[0])
    assert [(folder / name).read_text() for name in mine] == ["mine"] * 4
    assert len(list(folder.iterdir())) == 4 + 6


class Fixed(MultiLabelClassifier):
    """A user's own classifier that leaves few parameters to choose."""

    def __init__(self, hidden=(4,)) -> None:
        super().__init__("cross-entropy", hidden=hidden, max_epochs=1, random_state=0)


def test_subclasses_with_fewer_parameters_come_back(data, tmp_path) -> None:
    model = Fixed().fit(*data)
    model.save(tmp_path / "m")
    same(Fixed.load(tmp_path / "m"), model, data[0])


def test_load_takes_a_threshold_and_names_parameters_that_do_not_fit(tmp_path):
    X, Y = [[0.0], [1.0]] * 10, [[0, 1], [1, 0]] * 10
    MultiLabelClassifier(hidden=(4,), max_epochs=1, random_state=0).fit(X, Y).save(tmp_path)
    assert MultiLabelClassifier.load(tmp_path, threshold=0.3).threshold_ == 0.3
    with pytest.raises(DataError, match="or does not fit the given hidden: the weights do not"):
        MultiLabelClassifier.load(tmp_path, hidden=(3,))
