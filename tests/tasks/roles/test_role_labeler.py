"""The estimator of roles."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from role_examples import GOLD, small_roles

from lossnet import SemanticRoleLabeler, SequenceTagger
from lossnet.energies import ChainEnergy, TagAttention, TagEnergy, TagPairs
from lossnet.errors import DataError, SettingError
from lossnet.nets import TokenFeatures
from lossnet.tasks.roles import RoleData, role_scores
from lossnet.tasks.sequence.decoding import tag_rules
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
    train, test = small_roles(100), small_roles(40, seed=1)
    small = {"dropout": 0.0, "energy_dropout": 0.0, "batch_size": 8, "validation_fraction": 0.0}
    params = {} if method == "crf" else {"task_optimiser": {"lr": 1e-2}}
    params |= {"energy_steps": 1} if method == "seal-nce" else {}
    found = labeler(method, 12, method_params=params, **small).fit(train)
    assert found.score(test) > 0.9


def test_structure_gain() -> None:
    """Samples keep to the rules of the tags, so the gain is beyond a task-net that does so too."""
    data = small_roles()
    found = labeler("seal-nce", 1).fit(data).structure_gain(data.tokens, data.predicates, data.tags)
    assert not found.exact
    assert found.rows == len(data)
    assert found.low <= found.nats <= found.high


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


@pytest.mark.parametrize("method", ["cross-entropy", "crf", "structured-tuning"])
def test_a_token_may_have_no_role_even_if_all_had_one_in_training(method: str) -> None:
    found = labeler(method).fit([["go"]] * 4, [0] * 4, [["B-V"]] * 4)
    assert found.tags_ == ["B-V", "O"]
    assert found.predict([["the", "dog", "barks"]], [2]) == [["O", "O", "B-V"]]


def test_roles_absent_from_training_are_none_to_a_validation_loss() -> None:
    found = labeler(epochs=1).fit(small_roles())
    new = RoleData.of([["dogs", "bark"]], [1], [["B-NEW", "B-V"]])
    target = found._source(new).batch(slice(0, 1)).target
    assert [found.tags_[k] for k in target[0].argmax(-1)] == ["O", "B-V"]


@pytest.mark.parametrize("length", [1, 2, 4])
def test_validation_data_is_a_triple(length: int) -> None:
    data = small_roles()
    wrong = (data.tokens, data.tags, data.predicates, data.tags)[:length]
    rule = f"a triple of sentences, predicates and their tags, .* of length {length}"
    with pytest.raises(DataError, match=rule):
        labeler().fit(data, validation_data=wrong)


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
    train, held, _ = labeler(validation_fraction=0.3)._split(data, None, 0)
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


def small_energy(method: str = "seal-nce", **more) -> object:
    found = labeler(method, epochs=1, **more).fit(small_roles())
    again = pickle.loads(pickle.dumps(found))
    assert again.predict(small_roles()) == found.predict(small_roles())
    return found.nets_["energy"]


def test_the_loss_net_sees_all_tags_together() -> None:
    local, attention = small_energy(energy_tags="attention").parts
    assert isinstance(local, TagEnergy)
    assert isinstance(attention, TagAttention)
    assert attention.words is None
    for more in ({}, {"global_energy": "forward"}):
        *_, pairs = small_energy(**more).parts
        assert isinstance(pairs, TagPairs)
        assert pairs.pairs.any()
    with pytest.raises(SettingError, match="unknown energy_tags"):
        small_energy(energy_tags="words")


def test_exact_methods_have_the_chain_alone() -> None:
    assert isinstance(small_energy("crf"), ChainEnergy)


@pytest.mark.parametrize("features", ["own", "copy", "shared"])
def test_attention_may_read_the_words(features: str) -> None:
    energy = small_energy(energy_tags="attention+words", energy_features=features)
    local, attention = energy.parts
    assert attention.words is local.features
    assert energy.reads == ("task" if features == "shared" else None)
    networks = [m for m in energy.modules() if isinstance(m, TokenFeatures)]
    assert len(networks) == (0 if features == "shared" else 1)


def test_features_are_shared_where_they_can_be() -> None:
    assert small_energy().reads == "task"
    assert small_energy(energy_features="own").reads is None
    assert small_energy("dvn", method_params={"predict_steps": 2}).reads is None
    assert labeler("crf").resolved_params()["energy_features"] == "own"
    assert labeler("seal-nce").resolved_params()["energy_features"] == "shared"


def test_local_energies_by_hand() -> None:
    energy = TagEnergy(torch.nn.Linear(3, 3), 4)
    x, mask = torch.randn(2, 5, 3), torch.arange(5) < torch.tensor([[5], [2]])
    y = torch.rand(6, 2, 5, 4)
    with torch.no_grad():
        found = energy(energy.encode(x, mask), y, mask)
        each = (y * energy.unary(energy.features(x))).sum(-1)
    torch.testing.assert_close(found, (each * mask).sum(-1))


def test_words_are_read_by_the_attention() -> None:
    """The same tags have another energy under other words, beyond what the chain says."""
    data = small_roles()
    found = labeler("seal-nce", epochs=1, energy_tags="attention+words", energy_features="own").fit(
        data
    )
    energy = found.nets_["energy"]
    batch = found._source(data).batch(slice(0, 2))
    y = batch.target.unsqueeze(0)
    with torch.no_grad():
        _, attention = energy.encode(batch.x, batch.mask)
        swapped = {key: value.flip(0) for key, value in attention.items()}
        one, other = (energy.parts[1](h, y, batch.mask) for h in (attention, swapped))
    assert not torch.allclose(one, other)


def test_structured_tuning_lowers_violations() -> None:
    """Tags that repeat a core role, and a term that says they should not."""
    words = [["a", "b", "runs", "c"]] * 20
    tags = [["B-ARG0", "B-ARG0", "B-V", "O"], ["B-ARG0", "O", "B-V", "B-ARG1"]] * 10
    shares = []
    for method, params in (
        ("cross-entropy", {}),
        ("structured-tuning", {"constraint_weight": 30.0}),
    ):
        more = {"dropout": 0.0, "validation_fraction": 0.0, "batch_size": 4}
        params |= {"task_optimiser": {"lr": 1e-2}}
        found = labeler(method, 10, method_params=params, **more).fit(words, [2] * 20, tags)
        y = torch.as_tensor(np.stack(found.predict_proba(words, [2] * 20))).unsqueeze(0)
        shares.append(found._output()[1].constraint(y).mean())
    assert shares[1] < 0.2 * shares[0]
    with pytest.raises(SettingError, match="needs a constraint"):
        SequenceTagger("structured-tuning").fit([["a"]], [["O"]])


def test_the_loss_net_learns_from_valid_samples() -> None:
    found = labeler("seal-nce", epochs=1).fit(small_roles())
    logits = torch.zeros(2, 9, len(found.tags_))
    rules = tag_rules(found.tags_, "IOB2")
    drawn = {}
    for follow in (True, False):
        y = found.set_params(follow_scheme=follow)._output()[1].sample(logits, 20)
        tags = y.long().argmax(-1)
        drawn[follow] = rules.follows[tags[..., :-1], tags[..., 1:]].all()
    assert drawn == {True: True, False: False}
