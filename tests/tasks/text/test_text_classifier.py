"""TextClassifier: fitted on strings, it predicts labels by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lossnet import TextClassifier
from lossnet.errors import DataError, SettingError
from lossnet.tasks.text import TextData
from lossnet.testing import check_estimator_contract

TOPICS = {"oil": ["crude", "barrel"], "gold": ["ounce", "mine"], "wheat": ["grain", "crop"]}


def news(count: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Texts that hold two words of each of their topics, one or two of them."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(count):
        topics = sorted(rng.choice(list(TOPICS), size=rng.integers(1, 3), replace=False).tolist())
        words = [word for topic in topics for word in TOPICS[topic]]
        rest = rng.choice(["prices", "rose", "fell", "the", "on", "Monday"], size=4).tolist()
        texts.append(" ".join(rng.permutation([*words, *rest])))
        labels.append(topics)
    return texts, labels


TEXTS, LABELS = news(60)


def classifier(method: str = "cross-entropy", **params: Any) -> TextClassifier:
    quick = {"hidden": (32,), "max_epochs": 40, "patience": 40, "batch_size": 4}
    return TextClassifier(method, **{**quick, "random_state": 0, **params})


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    return classifier("seal-nce").fit(*news(200))


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "dvn"])
def test_contract(method: str) -> None:
    check_estimator_contract(classifier(method, max_epochs=2), TEXTS[:20], LABELS[:20])


def test_contract_on_data() -> None:
    check_estimator_contract(classifier(max_epochs=2), TextData(TEXTS[:20], LABELS[:20]))


def test_labels_by_name(fitted: TextClassifier) -> None:
    texts, labels = news(30, seed=1)
    assert fitted.classes_.tolist() == ["gold", "oil", "wheat"]
    assert fitted.predict(texts).shape == fitted.predict_proba(texts).shape == (30, 3)
    right = [one == other for one, other in zip(fitted.predict_labels(texts), labels, strict=True)]
    assert fitted.score(texts, labels) == fitted.score(TextData(texts, labels)) == np.mean(right)
    assert np.mean(right) > 0.9
    energies = fitted.energy(texts, labels)
    np.testing.assert_array_equal(energies, fitted.energy(TextData(texts, labels)))
    assert energies.mean() < fitted.energy(texts, [["gold", "oil", "wheat"]] * 30).mean()


def test_a_matrix_keeps_its_columns() -> None:
    Y = np.array([[int(name in row) for name in ("wheat", "oil", "gold")] for row in LABELS])
    frame = pd.DataFrame(Y, columns=["wheat", "oil", "gold"])
    by_name = classifier().fit(TEXTS, frame)
    assert by_name.classes_.tolist() == ["wheat", "oil", "gold"]
    assert by_name.score(TEXTS, frame[["oil", "gold", "wheat"]]) == by_name.score(TEXTS, LABELS)
    plain = classifier().fit(TEXTS, Y)
    assert plain.classes_.tolist() == ["label_0", "label_1", "label_2"]
    np.testing.assert_array_equal(plain.predict(TEXTS), by_name.predict(TEXTS))
    with pytest.raises(DataError, match=r"\(60, 2\); expected 3 labels"):
        plain.score(TEXTS, Y[:, :2])


def test_labels_that_training_never_saw_count_as_missed(fitted: TextClassifier) -> None:
    texts, labels = news(20, seed=1)
    with_tin = [[*row, "tin"] if k < 5 else row for k, row in enumerate(labels)]
    assert fitted.score(texts[:5], with_tin[:5]) == 0.0
    assert fitted.score(texts[5:], with_tin[5:]) > 0.8
    for threshold in ("tuned", "tuned-per-label"):
        model = classifier(threshold=threshold)
        model.fit(TEXTS, LABELS, validation_data=(texts, with_tin))
        assert model.best_metric_ is not None
        assert model.best_metric_ < 1.0
        assert model.predict(texts).shape == (20, 3)
        assert model.tune_threshold(texts, with_tin).predict(texts).shape == (20, 3)


def test_empty_and_strange_texts_can_be_predicted(fitted: TextClassifier) -> None:
    assert len(fitted.predict_labels(["", " ", "words never seen", "crude barrel " * 80_000])) == 4
    with pytest.raises(DataError, match=r"row 1 .* is missing"):
        fitted.predict(["a", None])
    with pytest.raises(DataError, match="empty text"):
        fitted.score(["crude", ""], [["oil"], ["oil"]])
    with pytest.raises(DataError, match="a list of strings"):
        fitted.predict("crude")


def test_no_words() -> None:
    with pytest.raises(DataError, match="no word occurs in 2 of the texts"):
        classifier().fit(["!", "?", "..."], [["a"], ["b"], ["a"]])
    with pytest.raises(SettingError, match="max_features must be an integer"):
        classifier(max_features=0).fit(TEXTS, LABELS)


def test_terms(fitted: TextClassifier) -> None:
    assert fitted.n_features_in_ == len(fitted.coder_.terms) == 12
    model = classifier(ngrams=2, min_count=3, max_features=15, max_epochs=1).fit(TEXTS, LABELS)
    assert len(model.coder_.terms) == 15
    assert any(" " in term for term in model.coder_.terms)


def test_a_stored_model_has_no_pickle(fitted: TextClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {
        ".json",
        ".jsonl",
        ".csv",
        ".safetensors",
    }
    again = TextClassifier.load(tmp_path)
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert again.predict_labels(TEXTS) == fitted.predict_labels(TEXTS)
