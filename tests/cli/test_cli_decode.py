"""Rules of decision on the command line: ``--decode`` to train, evaluate and predict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL, SMALL_NET, Result, discs, one_line

Run = Callable[..., Result]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    (train, masks), (test, truth) = discs(20), discs(10, seed=1)
    parts = {"train_images": train, "train_masks": masks}
    parts |= {"val_images": test, "val_masks": truth, "test_images": test, "test_masks": truth}
    np.savez(tmp_path / "discs.npz", **parts)
    return tmp_path / "discs.npz"


def test_images_are_decided_by_the_rule_that_is_named(
    lossnet: Run, tmp_path: Path, images: Path
) -> None:
    out, how = tmp_path / "model", ["--method", "cross-entropy", "--set", *SMALL_NET]
    found = lossnet("train", images, "--out", out, "--decode", "expected", *how)
    assert found.code == 0, found.err
    assert "decides by expected (temperature" in found.out
    assert json.loads((out / "config.json").read_text())["decision"]["rule"] == "expected"
    for rule in ("expected", "argmax"):
        shown = lossnet("evaluate", out, images, "--decode", rule, "--json")
        assert json.loads(shown.out)["decision"]["rule"] == rule
    masks = {}
    for rule in ("expected", "argmax"):
        where = tmp_path / f"{rule}.npz"
        assert lossnet("predict", out, images, "--decode", rule, "--out", where).code == 0
        masks[rule] = np.load(where)["masks"]
    assert masks["expected"].sum() != masks["argmax"].sum()


def test_rules_that_cannot_serve_are_one_line(
    lossnet: Run, tmp_path: Path, images: Path, model: Path, trained_on: Path
) -> None:
    out = ["--out", tmp_path / "model"]
    descends = ["--method", "alen", "--decode", "expected"]
    text = one_line(lossnet("train", images, *out, *descends))
    assert "predicts with the task-net alone" in text
    assert "unknown decode" in one_line(lossnet("train", trained_on, *out, "--decode", "best"))
    both = ["--decode", "mode", "--threshold", "0.4"]
    assert "exclude each other" in one_line(lossnet("evaluate", model, trained_on, *both))
    both = ["--decode", "mode", "--refine", "net"]
    assert "exclude each other" in one_line(lossnet("predict", model, trained_on, *both))


def test_a_rule_that_needs_the_loss_net_needs_it_kept(
    lossnet: Run, tmp_path: Path, trained_on: Path
) -> None:
    from lossnet import MultiLabelClassifier

    out = tmp_path / "model"
    quick = [*SMALL[:-1], "metric=subset-accuracy", "--quiet"]
    assert lossnet("train", trained_on, "--out", out, "--decode", "threshold", *quick).code == 0
    bare = MultiLabelClassifier.load(out).save(tmp_path / "bare", keep_energy=False)
    for command in ("evaluate", "predict"):
        assert lossnet(command, out, trained_on, "--decode", "mode").code == 0
        text = one_line(lossnet(command, bare, trained_on, "--decode", "mode"))
        assert "needs the loss-net, which was not kept" in text
