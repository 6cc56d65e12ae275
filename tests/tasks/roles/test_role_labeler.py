"""The estimator of roles."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from role_examples import GOLD, small_roles

from lossnet import SemanticRoleLabeler
from lossnet.errors import DataError, SettingError
from lossnet.tasks.roles import RoleData, role_scores
from lossnet.testing import check_estimator_contract

SMALL = {"hidden": 8, "word_width": 8, "chars": False, "random_state": 0}


def labeler(method: str = "cross-entropy", epochs: int = 2, **more) -> SemanticRoleLabeler:
    return SemanticRoleLabeler(method, max_epochs=epochs, **SMALL, **more)


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "crf"])
def test_contract(method: str) -> None:
    check_estimator_contract(labeler(method), small_roles())


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "crf"])
def test_learns_who_and_whom(method: str) -> None:
    """Who and whom are the same words: only the predicate's place tells them apart."""
    train, test = small_roles(120), small_roles(40, seed=1)
    found = labeler(method, 25, patience=25, dropout=0.0, energy_dropout=0.0, batch_size=8).fit(
        train
    )
    assert found.score(test) > 0.9


def test_lists_data_and_files_are_one(tmp_path: Path) -> None:
    data = small_roles()
    lists = (data.tokens, data.predicates, data.tags)
    first = labeler().fit(data, validation_data=data)
    second = labeler().fit(*lists, validation_data=lists)
    assert first.predict(data) == second.predict(*lists[:2])
    assert first.score(data) == second.score(*lists)
    (tmp_path / "a.gold_conll").write_text(GOLD)
    tags = first.predict(tmp_path / "a.gold_conll")
    assert [len(row) for row in tags] == [5, 5, 2]


def test_roles_are_valid_and_v_is_the_predicate() -> None:
    data = small_roles()
    for follow in (True, False):
        found = labeler(follow_scheme=follow, epochs=1).fit(data)
        for tags, predicate in zip(found.predict(data), data.predicates, strict=True):
            assert [t for t, tag in enumerate(tags) if tag == "B-V"] == [predicate]
    for row, tags in zip(found.predict_roles(data), found.predict(data), strict=True):
        assert all(tags[start][2:] == role for role, start, _ in row)
        assert "V" not in {span.type for span in row}


def test_another_predicate_gets_other_roles() -> None:
    words = ["Ann", "sees", "Bob", "and", "Eve", "likes", "Rome"]
    tags = [
        ["B-ARG0", "B-V", "B-ARG1", "O", "O", "O", "O"],
        ["O", "O", "O", "O", "B-ARG0", "B-V", "B-ARG1"],
    ]
    found = labeler(epochs=60, dropout=0.0, validation_fraction=0.0, batch_size=4)
    found.fit([words] * 20, [1, 5] * 10, tags * 10)
    assert found.predict([words, words], [1, 5]) == tags


def test_refinement_starts_at_the_net_and_is_tuned() -> None:
    data = small_roles()
    found = labeler("seal-nce").fit(data)
    before = found.predict_proba(data)
    found.set_params(refine="net")
    path = found.refinement_path(data, steps=2)
    assert [steps.shape[0] for steps in path] == [3] * len(data)
    np.testing.assert_allclose(path[0][0], before[0], atol=1e-5)
    found.tune_refinement(data.tokens, data.predicates, data.tags, most=2)
    assert found.refine_steps_ in (0, 1, 2)
    assert found.score(data) >= role_scores(data.tags, found.predict(data)).f1 - 1e-9


@pytest.mark.parametrize("metric", ["role-f1", "perfect", "accuracy"])
def test_metrics_to_choose_by(metric: str) -> None:
    data = small_roles()
    found = labeler(metric=metric).fit(data)
    scores = role_scores(data.tags, found.predict(data))
    values = {"role-f1": scores.f1, "perfect": scores.perfect_share, "accuracy": scores.accuracy}
    assert found.score(data) == values[metric]


def test_validation_roles_absent_from_training_are_missed() -> None:
    rare = RoleData.of([["dogs", "bark"]], [1], [["B-ARGM-CXN", "B-V"]])
    found = labeler().fit(small_roles(), validation_data=rare)
    assert found.score(rare) == 0.0


def test_sentences_stay_together_in_the_validation_split() -> None:
    words = [[f"w{k // 2}", "runs", "and", "jumps"] for k in range(40)]
    data = RoleData.of(words, [1, 3] * 20, [["O", "B-V", "O", "O"], ["O", "O", "O", "B-V"]] * 20)
    train, held = labeler(validation_fraction=0.3)._split(data, None, 0)
    assert {row[0] for row in train.tokens} & {row[0] for row in held.tokens} == set()


def test_wrong_input_is_one_error() -> None:
    data = small_roles()
    with pytest.raises(DataError, match="predicates is None"):
        labeler().fit(data.tokens)
    with pytest.raises(DataError, match="the training data has no tags"):
        labeler().fit(data.tokens, data.predicates)
    with pytest.raises(DataError, match="from 0 to"):
        labeler().fit(data.tokens, [99] * len(data), data.tags)
    with pytest.raises(DataError, match="which holds its own"):
        labeler().fit(data, data.predicates)
    with pytest.raises(DataError, match=r"validation_data: .* row 0 .* 2 tokens have B-V"):
        labeler().fit(data, validation_data=([["a", "b"]], [0], [["B-V", "B-V"]]))
    with pytest.raises(SettingError, match="metric"):
        labeler(metric="span-f1").fit(data)
    with pytest.raises(SettingError, match="needs reward"):
        labeler("seal-reward").fit(data)


def test_pickle_and_folder(tmp_path: Path) -> None:
    data = small_roles()
    found = labeler("seal-nce").fit(data)
    found.save(tmp_path / "model")
    for again in (SemanticRoleLabeler.load(tmp_path / "model"), pickle.loads(pickle.dumps(found))):
        assert again.predict(data) == found.predict(data)
