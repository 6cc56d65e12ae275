"""The joint around the default's outputs: where it is learnt, used and stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exclusive_labels import one_of_three

from lossnet import MultiLabelClassifier
from lossnet.constraints import AtMostOne, Satisfies
from lossnet.errors import DataError, SettingError
from lossnet.exporting.runtime.base import load
from lossnet.tasks.multilabel import MultiLabelData
from lossnet.tasks.multilabel.logit_classifier import LogitClassifier
from lossnet.tasks.multilabel.logits import logits_of

QUICK: dict[str, Any] = {"hidden": (16,), "max_epochs": 4, "trees": 10, "random_state": 0}
EXACT: dict[str, Any] = {**QUICK, "metric": "subset-accuracy"}


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return one_of_three(200)


@pytest.fixture(scope="module")
def fitted(rows) -> MultiLabelClassifier:
    return MultiLabelClassifier(**EXACT).fit(*rows)


def test_the_default_learns_a_joint_for_exact_match(fitted, rows) -> None:
    assert isinstance(fitted.joint_, LogitClassifier)
    assert fitted.decision_ == fitted.joint_.decision_
    assert fitted.joint_.training_rows_ == fitted.training_rows_ == 170  # no validation rows
    X, Y = rows
    fitted.set_params(decode="mode")
    try:
        found = fitted.joint_.set_params(decode="mode").predict(
            logits_of(fitted.predict_proba(X), 1e-4)
        )
        np.testing.assert_array_equal(fitted.predict(X), found)
    finally:
        fitted.set_params(decode="auto")
        fitted.joint_.set_params(decode="auto")
    gain = fitted.structure_gain(X, Y)
    assert gain.nats == pytest.approx(
        fitted.joint_.structure_gain(logits_of(fitted.predict_proba(X), 1e-4), Y).nats
    )


@pytest.mark.parametrize(
    "params",
    [
        {"metric": "example-f1"},
        {"joint": False},
        {"members": 1},
        {"decode": "threshold"},
        {"refine": "net"},
        {"threshold": 0.5},
        {"metric": "micro-f1"},
    ],
)
def test_elsewhere_none_is_learnt(rows, params) -> None:
    X, Y = rows
    assert not hasattr(MultiLabelClassifier(**{**EXACT, **params}).fit(X[:80], Y[:80]), "joint_")


def test_one_can_be_asked_for(rows) -> None:
    X, Y = rows[0][:80], rows[1][:80]
    plain = {**QUICK, "method": "cross-entropy", "members": 2}
    by_samples = MultiLabelClassifier(**plain, decode="samples").fit(X, Y)
    assert by_samples.decision_.rule == "samples"
    assert by_samples.predict(X).shape == Y.shape
    asked = MultiLabelClassifier(**plain, joint=True).fit(X, Y)
    assert asked.structure_gain(X, Y).exact
    asked.set_params(metric="subset-accuracy").tune_threshold(X, Y)
    assert set(asked.decision_.tried) == {"threshold", "known", "mode"}
    with pytest.raises(SettingError, match="members must be at least 2, got 1"):
        MultiLabelClassifier(**{**plain, "members": 1}, joint=True).fit(X, Y)
    with pytest.raises(SettingError, match="joint must be True, False or None, got 'yes'"):
        MultiLabelClassifier(**plain, joint="yes").fit(X, Y)
    for asking, what in (({"joint": True}, "joint=True"), ({"decode": "mode"}, "decode='mode'")):
        with pytest.raises(DataError, match=f"{what}.* 40 training rows with all labels known"):
            MultiLabelClassifier(**plain, **asking).fit(X[:30], Y[:30])
        with pytest.raises(DataError, match="needs 2 labels and 40 training rows"):
            MultiLabelClassifier(**plain, **asking).fit(X, Y[:, 0])
    with pytest.raises(SettingError, match="needs a task-net that predicts alone"):
        MultiLabelClassifier(**{**plain, "method": "alen", "trees": 0}, joint=True).fit(X, Y)


def test_too_few_complete_rows_or_a_single_label_have_none(rows) -> None:
    X, Y = rows
    few = MultiLabelClassifier(**EXACT).fit(X[:30], Y[:30])
    assert not hasattr(few, "joint_")
    assert few.predict(X).shape == Y.shape
    partial = Y.astype(float)
    partial[:150, 0] = np.nan
    some = MultiLabelClassifier(**EXACT, validation_fraction=0).fit(X, partial)
    assert some.joint_.training_rows_ == 50
    partial[:, 1] = np.where(np.arange(200) % 2, partial[:, 1], np.nan)
    assert not hasattr(MultiLabelClassifier(**EXACT).fit(X, partial), "joint_")
    assert not hasattr(MultiLabelClassifier(**EXACT).fit(X, Y[:, :1]), "joint_")


def test_predictions_keep_to_constraints(rows) -> None:
    X, Y = rows
    rule = AtMostOne("label_0", "label_1")
    model = MultiLabelClassifier(**EXACT, constraints=[rule]).fit(X, Y)
    for decode in ("mode", "known", "auto"):
        assert model.set_params(decode=decode).predict(X)[:, :2].sum(1).max() <= 1


def test_it_is_stored_with_the_model(fitted, rows, tmp_path: Path) -> None:
    X, Y = rows
    before = fitted.predict(X)
    for keep in (True, False):
        again = MultiLabelClassifier.load(fitted.save(tmp_path / "m", keep_energy=keep))
        assert ("energy" in again.nets_) == keep  # the joint has energies of its own
        np.testing.assert_array_equal(again.predict(X), before)
        assert again.structure_gain(X, Y).nats == fitted.structure_gain(X, Y).nats
        np.testing.assert_array_equal(
            again.set_params(decode="mode").predict(X), fitted.set_params(decode="mode").predict(X)
        )
        fitted.set_params(decode="auto")


def test_a_damaged_joint_is_an_error(fitted, tmp_path: Path) -> None:
    import json

    folder = fitted.save(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    config["joint"]["labels"]["names"] = ["a", "b", "c"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="damaged"):
        MultiLabelClassifier.load(folder)


def test_scores_of_known_sets_are_the_joint(fitted, rows) -> None:
    joint, logits = fitted.joint_, logits_of(fitted.predict_proba(rows[0]))
    sets, weight = joint.label_sets_, 0.75
    found = joint.scores_of_known(weight)
    scores = logits @ found["label_weights"] @ sets.T + found["set_scores"]
    for one, score in zip(sets, scores.T, strict=True):
        energy = joint.energy(logits, np.tile(one, (len(logits), 1)))
        np.testing.assert_allclose(score, logits @ one - weight * energy, atol=1e-4)


def test_decisions_among_known_sets_are_exported(fitted, rows, tmp_path: Path) -> None:
    chosen = fitted.decision_
    fitted.set_params(decode="mode")
    try:
        with pytest.raises(SettingError, match="set decode='threshold' or decode='known'"):
            fitted.export(tmp_path / "e")
        fitted.set_params(decode="known")
        fitted.decision_ = replace(chosen, rule="known", weight=0.75, offset=0.5)
        folder = fitted.export(tmp_path / "e", format="torch")
        np.testing.assert_array_equal(load(folder).predict(rows[0]), fitted.predict(rows[0]))
    finally:
        fitted.set_params(decode="auto").decision_ = chosen


def test_constraints_are_kept_by_a_model_that_was_loaded(rows, tmp_path: Path) -> None:
    X, Y = rows
    model = MultiLabelClassifier(**EXACT, decode="mode", constraints=[Satisfies(at_most_one)])
    folder = model.fit(X, Y).save(tmp_path / "m")
    again = MultiLabelClassifier.load(folder, constraints=[Satisfies(at_most_one)])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    other = MultiLabelClassifier.load(folder, constraints=[AtMostOne("label_0", "label_2")])
    assert other.predict(X)[:, [0, 2]].sum(1).max() <= 1


def at_most_one(P: np.ndarray) -> np.ndarray:
    return P.sum(1) <= 1


def test_rows_that_break_a_rule_are_warned_of_once(rows) -> None:
    X, Y = rows[0], rows[1].copy()
    Y[:20] = 1
    with pytest.warns(UserWarning, match="break the constraints") as caught:
        MultiLabelClassifier(**EXACT, constraints=[AtMostOne("label_0", "label_1")]).fit(X, Y)
    assert sum("break the constraints" in str(one.message) for one in caught) == 1


def test_refinement_does_not_change_what_the_joint_is_around(fitted, rows) -> None:
    before = fitted.structure_gain(*rows).nats
    fitted.set_params(refine="net")
    try:
        assert fitted.structure_gain(*rows).nats == before
    finally:
        fitted.set_params(refine=None)


def test_the_scale_of_weights_changes_nothing(fitted, rows) -> None:
    X, Y = rows
    logits = logits_of(fitted.predict_proba(X))
    found = [
        MultiLabelClassifier(**EXACT).fit(X, Y, sample_weight=np.full(200, scale)).joint_
        for scale in (1.0, 8.0)
    ]
    first, second = (one.energy(logits, Y) for one in found)
    np.testing.assert_allclose(second, first, atol=1e-4)


def test_of_many_rows_some_are_learnt_from_and_all_sets_are_known(rows, monkeypatch) -> None:
    monkeypatch.setattr("lossnet.tasks.multilabel.joint._MOST_ENTRIES", 180)
    X, Y = rows[0], rows[1].copy()
    Y[7] = 1
    model = MultiLabelClassifier(**EXACT).fit(X, Y)
    assert model.joint_.training_rows_ == 60
    assert len(model.label_sets_) == len(model.joint_.label_sets_) == 4


def test_data_with_names_and_weights(rows) -> None:
    X, Y = rows
    data = MultiLabelData(X, Y, label_names=["a", "b", "c"])
    model = MultiLabelClassifier(**EXACT).fit(data, sample_weight=np.linspace(0, 2, len(X)))
    assert model.joint_.label_names_ == ["a", "b", "c"]
    assert model.joint_.training_rows_ == 169  # a row of weight 0 is left out
