"""``preset="paper"``: what it fills in, what a user's own values keep, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger, TextClassifier
from lossnet.cli.methods import _flat
from lossnet.errors import DataError, SettingError
from lossnet.recipes import build
from lossnet.tasks.registry import tasks

FACTS = Path("/work/shared/reference/seal_best_hparams.json")
#: Quick enough for a test; the rest is as the preset says.
QUICK = {"max_epochs": 2, "method_params": {"rounds": 1, "energy_steps": 1}, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    return X, (X[:, :3] > 0).astype(int)


def test_fills_in_what_the_user_left_at_its_default() -> None:
    clf = MultiLabelClassifier("seal-nce", preset="paper:cal500", dropout=0.3, patience=7)
    assert (clf.hidden, clf.global_hidden, clf.threshold) == ((500,) * 5, 400, 0.5)
    assert (clf.max_epochs, clf.decode) == (300, "threshold")
    assert (clf.dropout, clf.patience) == (0.3, 7)
    params = clf.resolved_params()
    assert params["hidden"] == (500,) * 5
    assert params["energy_dropout"] == 0.2
    assert clf.get_params()["hidden"] == MultiLabelClassifier().hidden


def test_method_params_override_those_of_the_preset_one_by_one() -> None:
    own = {"samples": 3, "task_optimiser": {"lr": 0.5}}
    found = MultiLabelClassifier(preset="paper", method_params=own).resolved_method_params()
    assert found["samples"] == 3
    assert found["task_optimiser"]["lr"] == 0.5
    assert found["task_optimiser"]["clip"] == 10.0
    assert found["entropy_weight"] == 0.0


def test_bibtex_nce_is_the_released_schedule() -> None:
    method = MultiLabelClassifier("seal-nce", preset="paper")._check_settings()
    assert method.steps_per_batch == {"energy": 60, "task": 5}
    energy, task = method.phases[0].updates
    assert (energy.optimiser.lr, energy.optimiser.clip) == (4.513e-5, None)
    assert (task.optimiser.lr, task.optimiser.clip, task.optimiser.plateau) == (1.168e-3, 10.0, 6)


def test_margin_trains_the_task_net_first() -> None:
    method = MultiLabelClassifier("seal-margin", preset="paper:cal500")._check_settings()
    assert [(u.name, u.steps) for u in method.phases[0].updates] == [("task", 10), ("energy", 1)]


def test_the_parts_of_energy_networks() -> None:
    dvn = MultiLabelClassifier("dvn", preset="paper:genbase").resolved_method_params()
    assert dvn["inference"] | {"lr": 0.1094, "adam": True, "keep": "best"} == dvn["inference"]
    assert (dvn["others"], dvn["predict_steps"]) == ("adversarial", 30)
    static = MultiLabelClassifier("seal-static-nce", preset="paper").resolved_method_params()
    assert (static["samples"], static["task_steps"], static["entropy_weight"]) == (80, 10, 0.0)


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.name)
def test_every_row_of_every_task_can_be_built_and_says_why(task) -> None:
    kind = task.estimator
    for method, rows in kind.papers.rows.items():
        assert build(method).needs <= kind.provides
        usual = _flat(method, kind(method))
        for row in rows:
            estimator = kind(method, preset=f"paper:{row}")
            estimator._check_settings()
            assert estimator.resolved_params()["preset"] == f"paper:{row}"
            changed = [
                key for key, value in _flat(method, estimator).items() if value != usual[key]
            ]
            unexplained = [key for key in changed if not kind.papers.reason(key)]
            assert (changed != [], unexplained) == (True, []), (method, row)


@pytest.mark.skipif(not FACTS.exists(), reason="the released settings are not here")
def test_the_table_is_the_released_one() -> None:
    facts = json.loads(FACTS.read_text())
    kinds = {"seal-nce": "dynamic_nce", "seal-ranking": "dynamic_ranking", "dvn": None}
    kinds |= {"seal-regression": "dynamic_regression", "seal-margin": "dynamic_margin"}
    kinds |= {"dvn": "energy_gbi_regression", "seal-static-nce": "static_nce"}
    for method, kind in kinds.items():
        for data in MultiLabelClassifier.papers.rows[method]:
            released = facts[data][kind]
            clf = MultiLabelClassifier(method, preset=f"paper:{data}")
            built, net = clf._check_settings(), released["loss_net"]
            assert clf.hidden == (net["hidden_dim"],) * net["num_layers"]
            assert clf.global_hidden == net["global_hidden"]
            steps = released["effective_steps_per_batch"]
            last = {u.name: u for u in built.phases[-1].updates}
            for name, optimiser in (("energy", "loss_net"), ("task", "task_net")):
                if released[f"{optimiser}_optimizer"]:
                    update, rate = last[name], released[f"{optimiser}_optimizer"]["lr"]
                    assert update.optimiser.lr == pytest.approx(rate, rel=1e-3)
                    assert update.steps * built.phases[-1].repeats == steps[optimiser]


def test_clone_search_and_set_params(rows) -> None:
    base = MultiLabelClassifier("cross-entropy", preset="paper:genbase", **QUICK)
    base.set_params(method_params=None)
    again = clone(base)
    assert again.preset == "paper:genbase"
    assert again.get_params() == base.get_params()
    again.set_params(preset="paper:cal500")
    assert again.hidden == (500,) * 5
    again.set_params(preset=None)
    assert again.hidden == (400, 400)
    grid = {"preset": [None, "paper:genbase"], "method": ["cross-entropy"]}
    search = GridSearchCV(base, grid, cv=2).fit(*rows)
    assert search.best_params_["preset"] in (None, "paper:genbase")


def test_fit_leaves_the_parameters_and_a_loaded_model_keeps_the_preset(rows, tmp_path) -> None:
    clf = MultiLabelClassifier("seal-nce", preset="paper:genbase", **QUICK)
    before = repr(clf.get_params())
    clf.fit(*rows)
    assert repr(clf.get_params()) == before
    assert clf.threshold_ == 0.5
    assert clf.nets_["task"].features.out_features == 400
    clf.save(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())["parameters"]
    assert (stored["preset"], stored["hidden"], stored["patience"]) == ("paper:genbase", [400], 20)
    loaded = MultiLabelClassifier.load(tmp_path)
    assert loaded.preset == "paper:genbase"
    assert np.array_equal(loaded.predict_proba(rows[0]), clf.predict_proba(rows[0]))
    # What is given to load wins over the preset, defaults too.
    assert MultiLabelClassifier.load(tmp_path, decode="auto").decode == "auto"
    refitted = loaded.fit(*rows)
    assert np.array_equal(refitted.predict_proba(rows[0]), clf.predict_proba(rows[0]))


def test_resumes_only_with_the_same_preset(rows, tmp_path) -> None:
    file = tmp_path / "checkpoint"
    clf = MultiLabelClassifier("seal-nce", preset="paper:genbase", **QUICK)
    expected = clf.fit(*rows, checkpoint=file).predict_proba(rows[0])
    again = clone(clf).fit(*rows, checkpoint=file, resume_from_checkpoint=True)
    assert np.array_equal(again.predict_proba(rows[0]), expected)
    with pytest.raises(DataError, match=r"other settings.*preset"):
        clone(clf).set_params(preset=None).fit(*rows, checkpoint=file, resume_from_checkpoint=True)


@pytest.mark.parametrize("preset", ["papers", "", "paper:", 3, True, ["paper"]])
def test_a_value_that_is_no_preset_is_an_error(preset, rows) -> None:
    with pytest.raises(SettingError, match=r"None, '0.1', 'paper' or 'paper:ROW'.*cal500"):
        MultiLabelClassifier("seal-nce", preset=preset).fit(*rows)


def test_an_unknown_row_is_an_error_that_lists_the_rows(rows) -> None:
    with pytest.raises(SettingError, match=r"'cal50'.*did you mean 'cal500'.*bibtex"):
        MultiLabelClassifier("seal-nce", preset="paper:cal50").fit(*rows)


def test_a_method_without_a_paper_is_an_error(rows) -> None:
    with pytest.raises(SettingError, match=r"no settings of 'structured-tuning'.*seal-nce"):
        MultiLabelClassifier("structured-tuning", preset="paper").fit(*rows)
    with pytest.raises(SettingError, match="goes with a method's name"):
        MultiLabelClassifier(build("seal-nce"), preset="paper").fit(*rows)


def test_a_bad_preset_changes_nothing_that_is_only_read() -> None:
    clf = MultiLabelClassifier("seal-nce", preset="nonsense")
    assert clf.hidden == (400, 400)
    assert "nonsense" in repr(clf)
    assert SequenceTagger(preset="nonsense").hidden == TextClassifier().hidden[0] / 4


def test_former_defaults_of_tags_and_images() -> None:
    tagger = SequenceTagger(preset="0.1")
    assert (tagger.method, tagger.chain) == ("infnet-plus", False)
    segmenter = ImageSegmenter(preset="0.1")
    assert (segmenter.method, segmenter.crops) == ("alen", 4)
    assert segmenter.resolved_method_params()["share"] == 1.0
    assert SequenceTagger(preset="0.1", chain=True).chain is True
