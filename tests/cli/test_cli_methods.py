"""lossnet methods and lossnet describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Result

from lossnet.recipes import METHODS, defaults, listing, summary

Run = Callable[..., Result]


def test_every_method_has_a_line(lossnet: Run) -> None:
    *lines, blank, automatic = lossnet("methods").out.splitlines()
    assert blank == ""
    assert automatic == lossnet("methods", "auto").out.strip()
    assert automatic.startswith("auto, for multilabel data: seal-nce with members=4, trees=300")
    assert [line.split()[0] for line in lines[1:]] == list(METHODS)
    for line, name in zip(lines[1:], METHODS, strict=True):
        assert summary(name) in line
        assert ("task-net, one pass" in line) != ("energy, " in line.split("task-net")[0][60:])


@pytest.mark.parametrize("name", ["cross-entropy", "dvn", "seal-ranking", "implicit-nce"])
def test_one_method_with_its_parameters(lossnet: Run, name: str) -> None:
    text = lossnet("methods", name).out
    for key, value, choices in listing(name, defaults(name)):
        words = [key, str(value), *" | ".join(map(str, choices)).split()]
        assert any(line.split() == words for line in text.splitlines()), key
    assert "paper 00" in text


def test_defaults_that_a_task_sets_otherwise(lossnet: Run) -> None:
    lines = lossnet("methods", "infnet-plus").out.splitlines()
    (own,) = [line for line in lines if line.startswith("for sequence")]
    assert own == (
        "for sequence data: energy_weight 0.3, augmented_xent_weight 0.0, energy_optimiser.lr 0.001"
    )
    assert "for image data: cost pixel-iou, " in lossnet("methods", "alen").out
    plain, searched = lossnet("methods", "crf").out.split("(--set")[1].split("\n\n", 1)
    assert plain.splitlines()[-1].startswith("  energy_optimiser.decay")
    assert searched.splitlines()[-1].split() == ["energy_optimiser.weight_decay", "1e-06..0.1:log"]


def test_describe(lossnet: Run, tmp_path: Path) -> None:
    Y = np.array([[1, 1, 0]] * 10 + [[0, 0, 1]] * 30)
    path = tmp_path / "toy.npz"
    np.savez(path, X=np.ones((40, 4)), Y=Y, label_names=["sun", "warm", "rain"])
    text = lossnet("describe", path).out
    assert "cardinality  1.250 labels per row" in text
    assert "label sets   2 distinct" in text
    assert "density      0.4167" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["rain", "30", "75.0", "%"] in rows
    assert ["sun", "warm", "10", "4.00"] in rows  # p(a, b) / (p(a) p(b)) = .25 / .25²


def test_describe_shows_parts(lossnet: Run) -> None:
    assert "train," in lossnet("describe", "digits-completion").out
