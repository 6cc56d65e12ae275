"""``energy_features`` of every task: own, copied or shared; refused where there are none."""

import numpy as np
import pytest
import torch

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger
from lossnet.errors import SettingError
from lossnet.nets import LabelMLP, SharedFeatures
from lossnet.recipes import METHODS, build
from lossnet.tasks.method_checks import check_features, feature_net

SENTENCES = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "barks"]] * 8
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V"]] * 8
#: The net whose features a method's loss-net can read, where it is not the task-net.
READS = {
    **dict.fromkeys(("dvn", "crf", "ssvm", "seal-static-regression"), None),
    **dict.fromkeys(("seal-static-margin", "seal-static-nce"), "noise"),
    "infnet": "augmented",
}


def tagger(**params) -> SequenceTagger:
    quick = {"hidden": 4, "word_width": 5, "max_epochs": 1, "random_state": 0}
    return SequenceTagger("seal-nce", **quick, **params)


def images() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    masks = (np.arange(8)[:, None] + rng.integers(0, 8, (12, 1, 1)) > 8) * np.ones((1, 1, 8))
    return masks + 0.1 * rng.normal(size=masks.shape), masks.astype(int)


def segmenter(**params) -> ImageSegmenter:
    quick = {"width": 8, "max_epochs": 1, "crop": None, "average": 1, "random_state": 0}
    return ImageSegmenter("seal-nce", **quick, **params)


@pytest.mark.parametrize("name", METHODS)
def test_which_features_a_loss_net_can_read(name) -> None:
    method = build(name)
    expected = READS.get(name, "task") if "energy" in method.nets else None
    assert feature_net(method) == expected
    if expected is not None or "energy" not in method.nets:
        return check_features("shared", method, own_energy=False)
    with pytest.raises(SettingError, match=f"needs a task-net .* '{name}' has none; use 'own'"):
        check_features("copy", method, own_energy=False)


@pytest.mark.parametrize("method", ["seal-nce", "infnet", "infnet-plus", "alen", "nce-energy"])
def test_classifier_with_shared_features(classifier, data, tmp_path, method) -> None:
    X, Y = data
    model = classifier(method, energy_features="shared").fit(X, Y)
    assert isinstance(model.nets_["energy"].features, SharedFeatures)
    model.set_params(refine="net", threshold=0.5)
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "kept"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.energy(X, Y), model.energy(X, Y))


def test_a_model_without_its_loss_net_keeps_what_predicts(classifier, data, tmp_path) -> None:
    X, Y = data
    model = classifier("seal-nce", energy_features="shared").fit(X, Y)
    model.save(tmp_path / "small", keep_energy=False)
    loaded = MultiLabelClassifier.load(tmp_path / "small")
    assert set(loaded.nets_) == {"task"}
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_loss_net_that_predicts_keeps_the_net_it_reads(classifier, data, tmp_path) -> None:
    X, Y = data
    random = {"start": "random"}  # without a pass of the task-net
    model = classifier("nce-energy", method_params=random, energy_features="shared").fit(X, Y)
    model.save(tmp_path / "small", keep_energy=False)
    loaded = MultiLabelClassifier.load(tmp_path / "small")
    assert set(loaded.nets_) == {"task", "energy"}
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_copy_starts_with_the_task_nets_weights(classifier, data) -> None:
    X, Y = data
    model = classifier("seal-nce", energy_features="copy").fit(X, Y)
    nets = model._build_nets(model.method_.nets, seed=3)
    pairs = zip(*(nets[name].features.parameters() for name in ("task", "energy")), strict=True)
    for left, right in pairs:
        assert torch.equal(left, right)
        assert left.data_ptr() != right.data_ptr()
    others = model._new_nets(model.method_.nets, seed=3)
    assert torch.equal(others["energy"].label_embeddings, nets["energy"].label_embeddings)


@pytest.mark.parametrize("choice", ["copy", "shared"])
@pytest.mark.parametrize("more", [None, "both+words"])
def test_tagger(choice, more, tmp_path) -> None:
    model = tagger(energy_features=choice, global_energy=more, pretrain_global=more is not None)
    model.fit(SENTENCES, TAGS)
    model.set_params(refine="net")
    loaded = SequenceTagger.load(model.save(tmp_path / "model"))
    expected = model.predict_proba(SENTENCES[:3])
    for found, value in zip(loaded.predict_proba(SENTENCES[:3]), expected, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("task_net", ["unet", "fcn"])
def test_segmenter_with_shared_maps(task_net, tmp_path) -> None:
    pictures, masks = images()
    model = segmenter(task_net=task_net, energy_features="shared").fit(pictures, masks)
    assert model.nets_["energy"].features.first.kernel_size == (1, 1)
    model.set_params(refine="net")
    loaded = ImageSegmenter.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(pictures), model.predict_proba(pictures))


def test_segmenter_with_a_copy() -> None:
    pictures, masks = images()
    segmenter(task_net="fcn", energy_features="copy").fit(pictures, masks)
    with pytest.raises(SettingError, match="FCNFeatures for the loss-net and UNetFeatures"):
        segmenter(task_net="unet", energy_features="copy").fit(pictures, masks)
    with pytest.raises(SettingError, match="got none for the loss-net"):
        segmenter(energy_net="score-map", energy_features="copy").fit(pictures, masks)


def test_a_map_of_scores_shares_nothing() -> None:
    with pytest.raises(SettingError, match="needs energy_net='critic', got 'unet-map'"):
        ImageSegmenter("alen", energy_features="shared").fit(*images())


def test_wrong_settings(classifier, data) -> None:
    with pytest.raises(SettingError, match="did you mean 'shared'"):
        classifier("seal-nce", energy_features="share").fit(*data)
    with pytest.raises(SettingError, match="'dvn' has none; use 'own'"):
        classifier("dvn", energy_features="shared").fit(*data)
    with pytest.raises(SettingError, match="reads='task'"):
        classifier("seal-nce", energy_features="shared", energy_net=lambda *_: None).fit(*data)
    with pytest.raises(SettingError, match=r"a Linear, .* derive it from lossnet.nets.Headed"):
        classifier("seal-nce", energy_features="shared", task_net=torch.nn.Linear).fit(*data)


def test_a_task_net_of_your_own(classifier, data) -> None:
    def wide(features: int, labels: int) -> LabelMLP:
        return LabelMLP(features, labels, hidden=(12,))

    model = classifier("seal-nce", energy_features="shared", task_net=wide).fit(*data)
    assert model.nets_["energy"].features.out_features == 12
    with pytest.raises(SettingError, match="same shapes"):
        classifier("seal-nce", energy_features="copy", task_net=wide).fit(*data)


def test_a_method_without_a_loss_net_ignores_it(classifier, data) -> None:
    classifier("cross-entropy", energy_features="shared").fit(*data)


def test_an_energy_of_your_own_that_reads(classifier, data) -> None:
    from lossnet.energies import LabelEnergy

    def energy(features: int, labels: int) -> LabelEnergy:
        return LabelEnergy(features, labels, features=SharedFeatures(8))

    X, Y = data
    model = classifier("seal-nce", energy_net=energy).fit(X, Y)
    assert np.isfinite(model.energy(X, Y)).all()
