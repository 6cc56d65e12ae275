"""SequenceTagger with a reward: learning from it, tags it alone knows, folders, bad input."""

import numpy as np
import pytest
import torch
from citation_reward import CitationReward

from lossnet import MultiLabelClassifier, SequenceTagger
from lossnet.errors import DataError, SettingError
from lossnet.recipes import build
from lossnet.tasks.sequence import Reward
from lossnet.tasks.sequence.sentences import SequenceData

SEMI = ["seal-reward", "implicit-reward"]
WORDS = {"N": ["dog", "cat", "bird", "fox"], "V": ["barks", "runs", "flies", "sees"]}
TAG_OF = {word: tag for tag, words in WORDS.items() for word in words}
SMALL = {
    "hidden": 8,
    "word_width": 8,
    "batch_size": 8,
    "dropout": 0.0,
    "min_count": 1,
    "validation_fraction": 0.0,
    "random_state": 0,
}
FAST = {"energy_optimiser": {"lr": 2e-2}, "task_optimiser": {"lr": 2e-2}}


def sentences(count: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    words = [word for group in WORDS.values() for word in group]
    return [[str(w) for w in rng.choice(words, size=rng.integers(2, 6))] for _ in range(count)]


UNLABELLED, TEST = sentences(60), sentences(30, seed=1)
TRUTH = [[TAG_OF[word] for word in row] for row in TEST]
LABELLED = ([["dog", "barks"]], [["N", "V"]])


def dictionary(tokens, soft):
    """Mean probability of the tag that a list of words gives; columns N, V."""
    right = torch.zeros_like(soft)
    for row, own in enumerate(tokens):
        for t, word in enumerate(own):
            right[row, t, "NV".index(TAG_OF[word])] = 1.0 / len(own)
    return (right * soft).sum((1, 2))


def tagger(method: str = "seal-reward", **settings) -> SequenceTagger:
    params = {**FAST, **settings.pop("params", {})}
    return SequenceTagger(method, method_params=params, **{**SMALL, "max_epochs": 20, **settings})


@pytest.fixture(scope="module")
def fitted() -> SequenceTagger:
    return tagger().fit(*LABELLED, unlabelled=UNLABELLED, reward=dictionary)


def test_the_reward_teaches_what_labels_do_not(fitted) -> None:
    alone = SequenceTagger("cross-entropy", **SMALL, max_epochs=100).fit(*LABELLED)
    assert alone.score(TEST, TRUTH) < 0.8
    assert fitted.score(TEST, TRUTH) > 0.95
    assert {"labelled/task", "unlabelled/task", "unlabelled/energy"} <= fitted.history_[-1].keys()


def test_the_implicit_method_runs() -> None:
    model = tagger("implicit-reward", max_epochs=2)
    model.fit(*LABELLED, unlabelled=UNLABELLED[:16], reward=dictionary)
    assert np.isfinite(model.history_[-1]["implicit norm/energy"])
    assert "unlabelled/energy" in model.history_[-1]


def test_a_tag_that_only_the_reward_knows_is_learned() -> None:
    reward = Reward(lambda tokens, soft: dictionary(tokens, soft[..., [1, 0]]), ("V", "N"))
    nouns = ([["dog", "cat"]], [["N", "N"]])
    model = tagger().fit(*nouns, unlabelled=UNLABELLED, reward=reward)
    assert model.tags_ == ["N", "V"]
    assert model.score(TEST, TRUTH) > 0.95


def test_a_folder_holds_no_reward(fitted, tmp_path) -> None:
    loaded = SequenceTagger.load(fitted.save(tmp_path / "model"))
    assert loaded.predict(TEST) == fitted.predict(TEST)


def test_a_killed_fit_goes_on_to_the_same_weights(tmp_path, fitted) -> None:
    given = {"unlabelled": UNLABELLED, "reward": dictionary, "checkpoint": tmp_path / "c"}
    calls = []

    def dying(tokens, soft):
        calls.append(1)
        if len(calls) > 60:
            raise KeyboardInterrupt
        return dictionary(tokens, soft)

    with pytest.raises(KeyboardInterrupt):
        tagger().fit(*LABELLED, **{**given, "reward": dying})
    model = tagger().fit(*LABELLED, **given, resume_from_checkpoint=True)
    for name, net in model.nets_.items():
        for key, value in net.state_dict().items():
            assert torch.equal(value, fitted.nets_[name].state_dict()[key])


@pytest.mark.parametrize("method", SEMI)
def test_weight_0_is_a_supervised_method(method) -> None:
    params = {"unlabelled_weight": 0.0, "energy_weight": 0.0, "task_optimiser": {"lr": 2e-3}}
    if method == "implicit-reward":
        params["gradient"] = "direct"
    given = (TEST, TRUTH)
    model = SequenceTagger(method, method_params=params, **SMALL, max_epochs=2).fit(*given)
    plain = SequenceTagger("cross-entropy", **SMALL, max_epochs=2).fit(*given)
    for key, value in plain.nets_["task"].state_dict().items():
        assert torch.equal(value, model.nets_["task"].state_dict()[key])
    assert "reward" not in build(method, {"unlabelled_weight": 0.0}).needs


def test_tags_of_unlabelled_sentences_are_left_aside() -> None:
    data = SequenceData([["zebra", "runs"]] * 8, [["X", "Y"]] * 8)
    seen = []

    def keep(tokens, soft):
        seen.append(tokens)
        return soft[:, 0, 0]

    model = tagger(max_epochs=1).fit(*LABELLED, unlabelled=data, reward=keep)
    assert model.tags_ == ["N", "V"]
    assert seen[0][0] == ["zebra", "runs"]


GIVEN = {"unlabelled": UNLABELLED, "reward": dictionary}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: tagger().fit(*LABELLED, unlabelled=UNLABELLED),
            SettingError,
            r"'seal-reward' as configured judges outputs on unlabelled rows by a reward; pass one",
        ),
        (
            lambda: tagger().fit(*LABELLED, reward=dictionary),
            SettingError,
            "'seal-reward' as configured trains on unlabelled rows; pass them",
        ),
        (
            lambda: SequenceTagger("crf", **SMALL).fit(*LABELLED, **GIVEN),
            SettingError,
            "'crf' as configured has no use for a reward; .* one: seal-reward, implicit-reward",
        ),
        (
            lambda: tagger(params={"unlabelled_weight": 0.0}).fit(*LABELLED, **GIVEN),
            SettingError,
            "'seal-reward' as configured has no use for a reward; leave it out",
        ),
        (
            lambda: MultiLabelClassifier("seal-reward").fit(np.eye(4), np.eye(4, dtype=int)),
            SettingError,
            "'seal-reward' needs reward, which MultiLabelClassifier .* that does: SequenceTagger",
        ),
        (
            lambda: MultiLabelClassifier(build("seal-reward")).fit(
                np.eye(4), np.eye(4, dtype=int), unlabelled=np.eye(4)
            ),
            SettingError,
            "needs reward, which MultiLabelClassifier does not provide",
        ),
        (
            lambda: tagger().fit(
                *LABELLED, unlabelled=UNLABELLED, reward=lambda t, s: 2 * dictionary(t, s)
            ),
            DataError,
            r"rewards run from .* expected a tensor of",
        ),
        (
            lambda: tagger().fit(
                *LABELLED, columns={"pos": [["a", "b"]]}, unlabelled=UNLABELLED, reward=dictionary
            ),
            DataError,
            r"trained with .'pos'., got none",
        ),
        (lambda: tagger().fit(*LABELLED, unlabelled=[], reward=dictionary), DataError, "no sent"),
        (
            lambda: tagger().fit(
                [["A.", "Cau"]],
                [["B-author", "I-author"]],
                unlabelled=[["A.", "Cau"]],
                reward=CitationReward(),
            ),
            SettingError,
            r"labelled tags follow IOB2, and the reward's tag 'author' does not \(it knows author",
        ),
    ],
)
def test_bad_input(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
