"""lossnet evaluate and lossnet predict: columns by name, with and without labels."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL, Result, one_line, write_csv

from lossnet import MultiLabelClassifier
from lossnet.tasks.multilabel import evaluate, load, load_splits

Run = Callable[..., Result]


def metrics_of(result: Result) -> dict[str, dict[str, float]]:
    assert result.code == 0, result.err
    metrics: dict[str, dict[str, float]] = json.loads(result.out)["metrics"]
    return metrics


def test_evaluates_the_test_part_of_its_own_data(
    lossnet: Run, model: Path, trained_on: Path
) -> None:
    result = lossnet("evaluate", model, trained_on, "--json")
    assert json.loads(result.out)["split"] == "test"
    test = load_splits(trained_on).test
    assert test is not None
    clf = MultiLabelClassifier.load(model)
    expected = evaluate(test.Y, clf.predict_proba(test.X), clf.threshold_)
    assert metrics_of(result)["as predicted"] == pytest.approx(expected)
    stored = json.loads((model / "metrics.json").read_text())
    assert metrics_of(result) == stored["test"]
    everything = lossnet("evaluate", model, trained_on, "--split", "all", "--json")
    assert json.loads(everything.out)["rows"] == 40
    text = lossnet("evaluate", model, trained_on).out
    assert "the test part's 8 rows" in text


def test_says_whether_structure_pays(
    lossnet: Run, model: Path, trained_on: Path, tmp_path: Path
) -> None:
    clf, test = MultiLabelClassifier.load(model), load_splits(trained_on).test
    gain = clf.structure_gain(test)
    assert str(gain) in lossnet("evaluate", model, trained_on).out
    found = json.loads(lossnet("evaluate", model, trained_on, "--json").out)["structure"]
    assert found == {model.name: {**asdict(gain), "words": str(gain)}}
    # Not where the loss-net was not kept, nor of a single row.
    lighter = clf.save(tmp_path / "lighter", keep_energy=False)
    both = ["evaluate", model, trained_on, "--compare-with", lighter, "--split", "test"]
    assert lossnet(*both).out.count("loss-net") == str(gain).count("loss-net")
    assert list(json.loads(lossnet(*both, "--json").out)["structure"]) == [model.name]
    one = write_csv(tmp_path / "one.csv", rows=1)
    assert json.loads(lossnet("evaluate", model, one, "--json").out)["structure"] == {}


def test_other_files_are_taken_whole(lossnet: Run, model: Path, tmp_path: Path) -> None:
    other = write_csv(tmp_path / "other.csv", rows=11, seed=3)
    result = lossnet("evaluate", model, other, "--threshold", "0.2", "--json")
    assert (json.loads(result.out)["split"], json.loads(result.out)["rows"]) == ("all", 11)
    assert set(metrics_of(result)) == {"at 0.2", "at 0.5"}
    assert "0 to 1" in one_line(lossnet("evaluate", model, other, "--threshold", "2"))


def test_columns_are_found_by_name(lossnet: Run, model: Path, tmp_path: Path) -> None:
    straight = write_csv(tmp_path / "straight.csv", rows=20, seed=3)
    rows = list(csv.reader(straight.read_text().splitlines()))
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(",".join(reversed(row)) for row in rows))
    plain = lossnet("evaluate", model, straight, "--json")
    assert metrics_of(plain) == metrics_of(lossnet("evaluate", model, turned, "--json"))


def test_columns_that_do_not_fit(lossnet: Run, model: Path, tmp_path: Path) -> None:
    more = write_csv(tmp_path / "more.csv", labels=("sun", "rain", "snow"))
    assert "absent from training: 'snow'" in one_line(lossnet("evaluate", model, more))
    fewer = write_csv(tmp_path / "fewer.csv", labels=("sun",))
    assert "lacks labels that the model predicts: 'rain'" in one_line(
        lossnet("evaluate", model, fewer)
    )
    narrow = write_csv(tmp_path / "narrow.csv", features=("a", "b"))
    message = one_line(lossnet("evaluate", model, narrow))
    assert "2 features and the model was trained on 3: 'c' is missing" in message
    assert message == one_line(lossnet("predict", model, narrow))
    wide = write_csv(tmp_path / "wide.csv", features=("a", "b", "c", "d"))
    assert "'d' is not among them" in one_line(lossnet("evaluate", model, wide))


def test_damaged_models(lossnet: Run, model: Path, trained_on: Path, tmp_path: Path) -> None:
    assert "not a model folder" in one_line(lossnet("evaluate", tmp_path / "none", trained_on))
    (tmp_path / "empty").mkdir()
    assert "holds no model" in one_line(lossnet("evaluate", tmp_path / "empty", trained_on))
    broken = shutil.copytree(model, tmp_path / "broken")
    (weights,) = broken.glob("weights*")
    weights.write_bytes(weights.read_bytes()[:-9])
    assert "damaged" in one_line(lossnet("evaluate", broken, trained_on))
    mixed = shutil.copytree(model, tmp_path / "mixed")
    (mixed / "data.json").write_text((model / "data.json").read_text().replace('"model": "', "&0"))
    one_line(lossnet("predict", mixed, trained_on))
    data = json.loads((model / "data.json").read_text())
    (mixed / "data.json").write_text(json.dumps({**data, "model": "0"}))
    assert "does not belong" in one_line(lossnet("predict", mixed, trained_on))
    (mixed / "data.json").unlink()
    assert lossnet("evaluate", mixed, trained_on).code == 0


def test_predictions(lossnet: Run, model: Path, trained_on: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    assert lossnet("predict", model, trained_on, "--out", out, "--proba").code == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    clf = MultiLabelClassifier.load(model)
    X = load(trained_on).X
    predicted = clf.predict(X)
    for k, line in enumerate(lines):
        on = {name for name, hit in zip(["sun", "rain"], predicted[k], strict=True) if hit}
        assert (line["row"], set(line["labels"])) == (k, on)
        assert list(line["probabilities"].values()) == pytest.approx(
            clf.predict_proba(X[k : k + 1])[0].tolist(), abs=2e-6
        )
    table = tmp_path / "p.csv"
    assert lossnet("predict", model, trained_on, "--out", table).code == 0
    head, *rows = list(csv.reader(table.read_text().splitlines()))
    assert head == ["row", "label:sun", "label:rain"]
    assert np.array_equal(np.array(rows, dtype=int)[:, 1:], predicted)
    written = table.read_text()
    message = one_line(lossnet("predict", model, table, "--out", table))
    assert "is DATA itself; choose another file" in message
    assert table.read_text() == written
    assert ".jsonl file or a .csv" in one_line(
        lossnet("predict", model, trained_on, "--out", "p.txt")
    )
    blocked = lossnet("predict", model, trained_on, "--out", trained_on / "p.csv")
    assert "cannot write" in one_line(blocked)


def test_refined_predictions(lossnet: Run, model: Path, csv_file: Path, tmp_path: Path) -> None:
    for start in ("net", "samples", "random"):
        result = lossnet("predict", model, csv_file, "--refine", start, "--split", "test")
        assert len(result.out.splitlines()) == 8
    plain = tmp_path / "plain"
    method = ["--method", "cross-entropy"]
    assert lossnet("train", csv_file, "--out", plain, *method, *SMALL).code == 0
    message = one_line(lossnet("predict", plain, csv_file, "--refine", "net"))
    assert "needs the net 'energy'" in message


def test_predicts_files_without_labels(lossnet: Run, model: Path, tmp_path: Path) -> None:
    with_labels = write_csv(tmp_path / "with.csv", rows=9, seed=4)
    expected = lossnet("predict", model, with_labels).out
    assert len(expected.splitlines()) == 9
    without = write_csv(tmp_path / "without.csv", rows=9, seed=4, with_labels=False)
    assert lossnet("predict", model, without).out == expected
    X = load(with_labels).X
    np.savez(tmp_path / "plain.npz", X=X, feature_names=["a", "b", "c"])
    assert lossnet("predict", model, tmp_path / "plain.npz").out == expected
    np.savez(tmp_path / "nameless.npz", X=X)
    assert lossnet("predict", model, tmp_path / "nameless.npz").out == expected
    lines = ["@relation r", *(f"@attribute {c} numeric" for c in "abc"), "@data"]
    lines += [",".join(f"{v:.4f}" for v in row) for row in X]
    (tmp_path / "plain.arff").write_text("\n".join(lines))
    assert lossnet("predict", model, tmp_path / "plain.arff").out == expected


def test_words_are_coded_as_in_training(lossnet: Run, tmp_path: Path) -> None:
    lines = ["name,sky,dry,wind,label:sun"]
    skies = ["clear", "grey", "cloud"]
    lines += [
        f"day {k},{skies[k % 3]},{'yes' if k % 2 else 'no'},{k % 5},{int(k % 3 == 0)}"
        for k in range(30)
    ]
    train = tmp_path / "days.csv"
    train.write_text("\n".join(lines))
    assert lossnet("train", train, "--out", tmp_path / "m", *SMALL).code == 0
    everything = lossnet("predict", tmp_path / "m", train, "--proba").out.splitlines()
    one = tmp_path / "one.csv"
    one.write_text(f"{lines[0].removesuffix(',label:sun')}\nday 3,clear,yes,3\n")
    result = lossnet("predict", tmp_path / "m", one, "--proba")
    assert result.code == 0, result.err
    alone = json.loads(result.out)["probabilities"]["sun"]
    together = json.loads(everything[3])["probabilities"]["sun"]
    assert alone == pytest.approx(together, abs=2e-6)
    one.write_text("sky,dry,wind\npurple,yes,3\n")
    result = lossnet("predict", tmp_path / "m", one)
    assert result.code == 0
    assert "'sky=purple' is absent from training" in result.err


def test_svmlight_rows_that_lack_features_and_labels(lossnet: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"{1 + k % 3},{1 + (k + 1) % 3} " + " ".join(f"{j}:{rng.normal():.3f}" for j in range(1, 6))
        for k in range(30)
    ]
    train = tmp_path / "t.svm"
    train.write_text("\n".join(lines))
    assert lossnet("train", train, "--out", tmp_path / "m", *SMALL).code == 0
    few = tmp_path / "few.svm"
    few.write_text("3 2:1 4:0.5\n 1:2\n")
    assert metrics_of(lossnet("evaluate", tmp_path / "m", few, "--json"))
    assert len(lossnet("predict", tmp_path / "m", few).out.splitlines()) == 2
    few.write_text(" 2:1 4:0.5\n 1:2\n")
    assert len(lossnet("predict", tmp_path / "m", few).out.splitlines()) == 2
    few.write_text("9 2:1 4:0.5\n")
    assert "absent from training: '9'" in one_line(lossnet("evaluate", tmp_path / "m", few))


def test_labels_given_in_training_are_remembered(lossnet: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "plain.csv", rows=30)
    path.write_text(path.read_text().replace("label:", ""))
    assert "label" in one_line(lossnet("train", path, "--out", tmp_path / "m", *SMALL))
    given = ["--labels", "-2", *SMALL]
    assert lossnet("train", path, "--out", tmp_path / "m", *given).code == 0
    assert lossnet("evaluate", tmp_path / "m", path).code == 0
    assert len(lossnet("predict", tmp_path / "m", path).out.splitlines()) == 30


def test_models_beside_each_other(
    lossnet: Run, model: Path, trained_on: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    assert lossnet("train", trained_on, "--out", other, "--seed", "1", *SMALL).code == 0
    beside = ["--compare-with", other]
    found = json.loads(lossnet("evaluate", model, trained_on, *beside, "--json").out)
    assert found["split"] == "test"
    for folder, metrics in ((model, found["metrics"]), (other, found["compared_with"]["other"])):
        assert (
            metrics == json.loads(lossnet("evaluate", folder, trained_on, "--json").out)["metrics"]
        )
    head = lossnet("evaluate", model, trained_on, *beside).out.splitlines()[1]
    assert "model as predicted" in head
    assert "other as predicted" in head


def test_all_of_a_folder_is_the_file_of_all_rows(lossnet: Run, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    every = write_csv(folder / "days.csv", rows=9, seed=4)
    expected = lossnet("predict", model, every).out
    (folder / "split.json").write_text('{"train": [8, 0], "test": [3, 2]}')
    assert lossnet("predict", model, folder).out == expected
    (folder / "split.json").unlink()
    for part, rows in (("train", 5), ("test", 3)):
        write_csv(folder / f"days-{part}.csv", rows=rows, seed=5)
    assert lossnet("predict", model, folder).out == expected
    assert len(lossnet("predict", model, folder, "--split", "test").out.splitlines()) == 3
    found = json.loads(lossnet("evaluate", model, folder, "--json").out)
    assert (found["split"], found["rows"]) == ("test", 3)


def test_predicts_a_folder_without_labels(lossnet: Run, model: Path, tmp_path: Path) -> None:
    for part, rows in (("train", 5), ("test", 3)):
        write_csv(tmp_path / f"a-{part}.csv", rows=rows, with_labels=part == "train")
    assert len(lossnet("predict", model, tmp_path).out.splitlines()) == 8
    assert len(lossnet("predict", model, tmp_path, "--split", "test").out.splitlines()) == 3


def test_a_model_of_two_classes(lossnet: Run, tmp_path: Path) -> None:
    data = load(write_csv(tmp_path / "a.csv", labels=("y",)))
    clf = MultiLabelClassifier("cross-entropy", hidden=(4,), max_epochs=1, decode="threshold")
    y = np.where(data.Y[:, 0] == 1, "yes", "no")
    clf.fit(data.X, y).save(tmp_path / "model")
    found = metrics_of(lossnet("evaluate", tmp_path / "model", tmp_path / "a.csv", "--json"))
    clf.threshold_ = 0.5
    assert found["at 0.5"]["hamming"] == pytest.approx(clf.score(data.X, y))
    lines = lossnet("predict", tmp_path / "model", tmp_path / "a.csv", "--proba").out.splitlines()
    proba = [json.loads(line)["probabilities"]["y"] for line in lines]
    assert proba == pytest.approx(clf.predict_proba(data.X)[:, 1].tolist(), abs=2e-6)


def test_draws_reliability_before_and_after_calibration(
    lossnet: Run, model: Path, trained_on: Path, tmp_path: Path
) -> None:
    clf = MultiLabelClassifier.load(model)
    calibrated = clf.calibrate(load_splits(trained_on).test).save(tmp_path / "warm")
    out = tmp_path / "reliability.svg"
    result = lossnet("evaluate", calibrated, trained_on, "--split", "all", "--reliability", out)
    assert result.code == 0, result.err
    assert f"picture: {out}" in result.out
    assert f"calibrated (temperature {clf.temperature_:.3g})" in result.out
    assert "warm, as trained: ECE" in out.read_text("utf-8")
    assert "warm, calibrated: ECE" in out.read_text("utf-8")
    lossnet("evaluate", model, trained_on, "--reliability", out)
    assert "as trained" not in out.read_text("utf-8")
    refused = lossnet("evaluate", model, trained_on, "--reliability", tmp_path / "a.xyz")
    assert refused.code != 0
