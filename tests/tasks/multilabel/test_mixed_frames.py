"""DataFrames with words, categories and booleans next to numbers."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lossnet import MultiLabelClassifier
from lossnet.errors import DataError
from lossnet.files import write_json
from lossnet.tasks.multilabel import MultiLabelData
from lossnet.tasks.multilabel.encoding import Encoding

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
ROWS = 80
COLOURS, SIZES = RNG.choice(["blue", "green", "red"], ROWS), RNG.choice(["L", "M"], ROWS)
AGES, MEMBERS = RNG.normal(40, 10, ROWS), RNG.random(ROWS) < 0.5
SMOKERS = RNG.choice(["yes", "no"], ROWS)
Y = np.stack([COLOURS == "red", MEMBERS & (SIZES == "L"), AGES > 40], axis=1).astype(int)
#: What the columns of :func:`frame` become.
ENCODED = np.column_stack(
    [
        *(colour == COLOURS for colour in ("blue", "green", "red")),
        AGES,
        MEMBERS,
        *(size == SIZES for size in ("L", "M")),
        SMOKERS == "yes",
    ]
).astype(np.float32)


def frame(**columns: Any) -> Any:
    """A frame of all kinds, with other columns in place of its own."""
    own = {"colour": COLOURS, "age": AGES, "member": MEMBERS, "size": pd.Categorical(SIZES)}
    return pd.DataFrame({**own, "smoker": SMOKERS, **columns})


@pytest.mark.parametrize("dtype", [object, "string", "category", "str"])
def test_a_model_of_a_frame_is_that_of_its_columns_by_hand(classifier, dtype) -> None:
    X = frame(colour=pd.Series(COLOURS).astype(dtype))
    model, by_hand = classifier("seal-nce").fit(X, Y), classifier("seal-nce").fit(ENCODED, Y)
    assert np.array_equal(model.predict_proba(X), by_hand.predict_proba(ENCODED))
    assert np.array_equal(model.predict(X), by_hand.predict(ENCODED))
    assert np.array_equal(model.energy(X, Y), by_hand.energy(ENCODED, Y))
    assert model.score(X, Y) == by_hand.score(ENCODED, Y)
    assert (model.n_features_in_, model.encoding_.width) == (5, 8)
    assert list(model.feature_names_in_) == list(X.columns)


def test_validation_and_unlabelled_rows_are_encoded_too(classifier) -> None:
    X, params = frame(), {"method_params": {"tune_on": "unlabelled"}}
    other = {"validation_data": (X[50:], Y[50:]), "unlabelled": X[40:]}
    model = classifier("infnet", **params).fit(X[:50], Y[:50], **other)
    E = ENCODED
    other = {"validation_data": (E[50:], Y[50:]), "unlabelled": E[40:]}
    by_hand = classifier("infnet", **params).fit(E[:50], Y[:50], **other)
    assert np.array_equal(model.predict_proba(X), by_hand.predict_proba(E))


def test_columns_are_found_by_name(classifier) -> None:
    X = frame()
    model = classifier().fit(X, Y)
    assert np.array_equal(model.predict_proba(X[X.columns[::-1]]), model.predict_proba(X))
    assert np.array_equal(model.predict_proba(X.to_numpy()), model.predict_proba(X))
    # Few rows hold few of the words.
    assert np.allclose(model.predict_proba(X[:1]), model.predict_proba(X)[:1], atol=1e-6)


def test_what_is_missing_or_absent_from_training_has_zeros_in_all_columns(classifier) -> None:
    model = classifier().fit(frame(), Y)
    X = frame(colour="red")[:4]
    X["colour"] = [None, np.nan, "mauve", "pink"]
    with pytest.warns(UserWarning, match="count as missing: 'colour': 'mauve', 'pink'$") as caught:
        got = model.predict_proba(X)
    assert len(caught) == 1
    by_hand = classifier().fit(ENCODED, Y)
    rows = ENCODED[:4].copy()
    rows[:, :3] = 0
    assert np.array_equal(got, by_hand.predict_proba(rows))


def test_missing_numbers_booleans_and_yes_no_are_the_mean(classifier) -> None:
    X, rows = frame(), ENCODED.copy()
    X["member"] = pd.array([pd.NA, *MEMBERS[1:]], dtype="boolean")
    X.loc[1, "smoker"] = None
    X.loc[2, "age"] = np.nan
    rows[0, 4] = rows[1, 7] = rows[2, 3] = np.nan
    by_hand = classifier().fit(rows, Y)
    assert np.array_equal(classifier().fit(X, Y).predict_proba(X), by_hand.predict_proba(rows))
    model = classifier().fit(frame(), Y)
    with pytest.warns(UserWarning, match="'smoker': 'perhaps'"):
        perhaps = model.predict_proba(frame(smoker="perhaps"))
    assert np.array_equal(perhaps, model.predict_proba(frame(smoker=None)))
    truths = model.predict_proba(frame(smoker=SMOKERS == "yes"))
    assert np.array_equal(truths, model.predict_proba(frame()))


def test_a_category_of_held_out_rows_alone_is_absent_from_training(classifier) -> None:
    X = frame(rare=[f"word {k // 4}" for k in range(ROWS)])  # 20 words of 4 rows
    model = classifier(validation_fraction=0.85).fit(X, Y)
    (rare,) = (one for one in model.encoding_.coded if one.name == "rare")
    assert 0 < len(rare.words) < 20
    assert model.nets_["task"](model._source(model._data(X)).batch(slice(0, 2)).x).shape == (2, 3)
    assert (model.imputer_.means[-len(rare.words) :] > 0).all()  # each is held by a training row


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"colour": 1.5}, "column 'colour' holds numbers .'1.5'. and held words in training"),
        ({"size": pd.Categorical([3] * ROWS)}, "column 'size' holds numbers"),
        ({"age": "old"}, "column 'age' holds the word 'old'; expected numbers, as in training"),
        ({"member": "true"}, "column 'member' holds the word 'true'"),
        ({"smoker": 2}, "column 'smoker' holds numbers .'2'. and held words in training"),
        ({"age": pd.Timestamp("2026-01-01")}, "column 'age' holds dates or durations"),
        ({"colour": ["red", 3] * 40}, "'colour' holds '3' .int. and the word 'red'; give it one"),
        ({"colour": [["red"]] * ROWS}, "column 'colour' holds .*list.; expected numbers, words"),
        ({"extra": 1}, "unseen at fit time:\n- extra"),
    ],
)
def test_other_columns_than_in_training_are_refused(classifier, columns, message) -> None:
    model = classifier(max_epochs=1).fit(frame(), Y)
    with pytest.raises(ValueError, match=message):
        model.predict(frame(**columns))


def test_a_missing_column_is_named(classifier) -> None:
    model = classifier(max_epochs=1).fit(frame(), Y)
    with pytest.raises(ValueError, match="now missing:\n- size"):
        model.predict(frame().drop(columns="size"))
    with pytest.raises(DataError, match="X has 3 features, but the model is expecting 5 features"):
        model.predict(frame().to_numpy()[:, :3])
    numbers = classifier(max_epochs=1).fit(frame()[["age", "member"]], Y)
    with pytest.raises(DataError, match="column 'age' holds the word 'old'"):
        numbers.predict(frame(age="old")[["age", "member"]])


def test_free_text_is_refused(classifier) -> None:
    X = frame(notes=[f"note {k % 41}" for k in range(ROWS)])
    with pytest.raises(DataError, match=r"'notes' is text .*41 different .* 80 rows.*TextClassif"):
        classifier().fit(X, Y)
    model = classifier(max_epochs=1).fit(frame(notes=[f"note {k % 40}" for k in range(ROWS)]), Y)
    assert model.encoding_.width == 8 + len(model.encoding_.coded[-1].words)


def test_words_that_are_all_numbers_are_numbers(classifier) -> None:
    texts = [f"{age:.3f}" for age in AGES]
    model, plain = classifier().fit(frame(age=texts), Y), classifier().fit(frame(), Y)
    assert [one.name for one in model.encoding_.coded] == ["colour", "size", "smoker"]
    assert np.allclose(model.predict_proba(frame()), plain.predict_proba(frame()), atol=1e-2)
    assert np.array_equal(model.predict_proba(frame()), model.predict_proba(frame(age=list(AGES))))


def test_a_stored_model_encodes_as_before(classifier, tmp_path) -> None:
    model = classifier(categorical_features=["age"]).fit(frame(age=np.arange(ROWS) % 7), Y)
    again = MultiLabelClassifier.load(model.save(tmp_path / "model"))
    assert again.encoding_ == model.encoding_
    X = frame(age=3)[["age", "smoker", "size", "member", "colour"]]
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(DataError, match="column 'colour' holds numbers"):
        again.predict(frame(colour=1))


@pytest.mark.parametrize(
    "changed",
    [
        {"column": 9},
        {"column": -1},
        {"kind": "other"},
        {"kind": "yes/no"},
        {"words": ["red", "red", "blue"]},
        {"words": ["red"]},
        {"words": [1]},
    ],
)
def test_damaged_categories_are_found(classifier, tmp_path, changed) -> None:
    folder = classifier(max_epochs=1).fit(frame(), Y).save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["categories"][0] |= changed
    write_json(folder / "config.json", config)
    with pytest.raises(DataError, match="damaged"):
        MultiLabelClassifier.load(folder)


def test_pipelines_and_searches(classifier) -> None:
    X, threshold = frame(), {"threshold": 0.5}
    drop = FunctionTransformer(lambda X: X.drop(columns="age"))
    pipe = make_pipeline(drop, classifier(**threshold)).fit(X, Y)
    plain = classifier(**threshold).fit(X.drop(columns="age"), Y)
    assert np.array_equal(pipe.predict(X), plain.predict(X.drop(columns="age")))
    by_hand = cross_val_score(classifier(**threshold), ENCODED, Y, cv=2)
    assert np.array_equal(cross_val_score(classifier(**threshold), X, Y, cv=2), by_hand)
    grid = {"categorical_features": [None, ["member"]], "hidden": [(4,), (8,)]}
    search = GridSearchCV(classifier(**threshold), grid, cv=2, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(X).shape == Y.shape


def test_frames_and_data_serve_each_other(classifier) -> None:
    """A model of a frame takes data as files are read, and the other way round."""
    X = frame()
    names = ["colour=blue", "colour=green", "colour=red", "age", "member", "size=L", "size=M"]
    data = MultiLabelData(ENCODED, Y, [*names, "smoker"])
    framed, read = classifier().fit(X, Y), classifier().fit(data)
    assert framed.encoding_.file_names == data.feature_names
    assert np.array_equal(framed.predict_proba(data), framed.predict_proba(X))
    assert np.array_equal(read.predict_proba(X), read.predict_proba(data))
    turned = MultiLabelData(ENCODED[:, ::-1], feature_names=data.feature_names[::-1])
    assert np.array_equal(framed.predict_proba(turned), framed.predict_proba(X))
    # Rows that hold few of the words, and another.
    with pytest.warns(UserWarning, match="'colour=mauve' is absent from training"):
        one = read.predict_proba(frame(colour="mauve", smoker="yes")[:1])
    rows = ENCODED[:1].copy()
    rows[:, :3], rows[:, 7] = 0, 1
    assert np.allclose(one, read.predict_proba(rows), atol=1e-6)
    rows[:, 7] = ENCODED[0, 7]
    assert np.allclose(read.predict_proba(frame(colour=None)[:1]), read.predict_proba(rows))
    for name in ("smoker", "colour"):
        with pytest.raises(DataError, match=f"'{name}' is missing"):
            read.predict(X.drop(columns=name))
    with pytest.raises(DataError, match="'colour' is not among them"):
        read.predict(frame(colour=1.5))


def test_numbers_alone_warn_of_nothing(classifier) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = classifier().fit(frame()[["age", "member"]], Y)
        assert model.predict(frame()[["age", "member"]]).shape == Y.shape
    assert model.encoding_ == Encoding(2, (), ("age", "member"))
