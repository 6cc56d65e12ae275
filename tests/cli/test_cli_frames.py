"""Files with words next to numbers, and models of DataFrames, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL, Result, one_line

from lossnet import MultiLabelClassifier

pd = pytest.importorskip("pandas")
Run = Callable[..., Result]
LABELS = ["warm", "mine"]


@pytest.fixture
def frame() -> pd.DataFrame:
    """Numbers, words, yes/no, booleans and codes, some missing."""
    rng = np.random.default_rng(0)
    own = {"age": rng.normal(40, 10, 60), "colour": rng.choice(["red", "green", "blue"], 60)}
    own |= {"smoker": rng.choice(["yes", "no"], 60), "member": rng.random(60) < 0.5}
    found = pd.DataFrame({**own, "zip": rng.choice([101, 202, 303], 60)})
    found.loc[3, "colour"] = found.loc[4, "smoker"] = None
    found.loc[5, ["age", "zip"]] = np.nan
    return found


def truth(frame: pd.DataFrame) -> pd.DataFrame:
    values = [frame["colour"] == "red", frame["zip"] == 202]
    return pd.DataFrame(np.stack(values, axis=1).astype(int), columns=LABELS)


def predictions(path: Path) -> list[list[int]]:
    rows = [json.loads(line)["labels"] for line in path.read_text().splitlines()]
    return [[int(label in row) for label in LABELS] for row in rows]


def test_a_file_of_a_frame_trains_a_model_for_frames(lossnet: Run, frame, tmp_path: Path) -> None:
    labelled = pd.concat([frame, truth(frame).add_prefix("label:")], axis=1)
    labelled.to_csv(tmp_path / "frame.csv", index=False)
    frame.to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "model"
    codes = ["--set", "categorical_features=[zip]"]
    result = lossnet("train", tmp_path / "frame.csv", "--out", out, *SMALL, *codes)
    assert result.code == 0, result.err
    model = MultiLabelClassifier.load(out)
    (codes_of,) = model.encoding_.coded
    assert (codes_of.name, codes_of.words) == ("zip", ("101", "202", "303"))
    assert lossnet("evaluate", out, tmp_path / "frame.csv").code == 0
    written = tmp_path / "new.jsonl"
    assert lossnet("predict", out, tmp_path / "new.csv", "--out", written).code == 0
    assert model.predict(frame).tolist() == predictions(written)
    assert model.predict(frame[:1]).tolist() == predictions(written)[:1]


def test_a_model_of_a_frame_predicts_a_file(lossnet: Run, frame, tmp_path: Path) -> None:
    quick = {"hidden": (8,), "max_epochs": 3, "random_state": 0, "categorical_features": ["zip"]}
    model = MultiLabelClassifier("cross-entropy", **quick).fit(frame, truth(frame))
    out, written = model.save(tmp_path / "model"), tmp_path / "new.jsonl"
    turned = frame[frame.columns[::-1]]
    turned.to_csv(tmp_path / "new.csv", index=False)
    assert lossnet("predict", out, tmp_path / "new.csv", "--out", written).code == 0
    assert model.predict(frame).tolist() == predictions(written)
    turned.assign(colour="mauve").to_csv(tmp_path / "new.csv", index=False)
    result = lossnet("predict", out, tmp_path / "new.csv", "--out", written)
    assert "'colour=mauve' is absent from training" in result.err
    for name in ("age", "colour"):
        turned.drop(columns=name).to_csv(tmp_path / "new.csv", index=False)
        assert f"'{name}' is missing" in one_line(lossnet("predict", out, tmp_path / "new.csv"))


def test_unknown_codes_are_noted_and_unknown_columns_refused(
    lossnet: Run, frame, tmp_path: Path
) -> None:
    labelled = pd.concat([frame, truth(frame).add_prefix("label:")], axis=1)
    labelled.to_csv(tmp_path / "frame.csv", index=False)
    out, source = tmp_path / "model", tmp_path / "frame.csv"
    wrong = lossnet("train", source, "--out", out, *SMALL, "--set", "categorical_features=[zib]")
    assert "categorical_features names 'zib', no column of X; did you mean 'zip'" in one_line(wrong)
    assert (
        lossnet("train", source, "--out", out, *SMALL, "--set", "categorical_features=[zip]").code
        == 0
    )
    frame.assign(zip=7).to_csv(tmp_path / "new.csv", index=False)
    result = lossnet("predict", out, tmp_path / "new.csv", "--out", tmp_path / "new.jsonl")
    assert "note: categories absent from training count as missing: 'zip': '7'" in result.err
