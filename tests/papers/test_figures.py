"""The papers' figures on a tiny data set, and the gradients of Figure 2 by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lossnet.cli import main
from lossnet.energies import LabelEnergy
from lossnet.papers import FIGURES, gbi_training, nets_and_energies
from lossnet.papers.data_sets import DATA_SETS
from lossnet.papers.figures import Studio, draw
from lossnet.papers.label_gradients import association, changes, global_gradients
from lossnet.papers.settings import Kind

pytest.importorskip("matplotlib")


@pytest.fixture
def studio(tiny: Path, tmp_path: Path) -> Studio:
    return Studio(tiny, tmp_path / "figures", ["tiny"], Kind("default"), print)


def on_tiny(name: str) -> Any:
    return dataclasses.replace(FIGURES[name], data=("tiny",), usual=None)


def test_gradients_by_hand() -> None:
    energy = LabelEnergy(in_features=2, labels=3, hidden=(4,), global_hidden=5)
    y = torch.tensor([[0.0, 1.0, 0.3]])
    M, v, c = energy.global_weight, energy.global_readout, energy.global_bias
    expected = M @ (v * torch.sigmoid(y[0] @ M + c))
    assert torch.allclose(global_gradients(energy, y)[0], expected, atol=1e-6)
    eye = torch.eye(3)
    at = [M @ (v * torch.sigmoid(row @ M + c)) for row in (torch.zeros(3), *eye)]
    for i in range(3):
        assert torch.allclose(torch.tensor(changes(energy, 3)[i]), at[i + 1] - at[0], atol=1e-6)


def test_association_by_hand() -> None:
    Y = np.zeros((40, 3), dtype=int)
    Y[:20, 0], Y[:10, 1], Y[:3, 2] = 1, 1, 1
    tied, known = association(Y)
    assert tied[1, 0] == pytest.approx(1.0 - 0.5)  # label 1 implies label 0
    assert tied[0, 1] == pytest.approx(0.5 - 0.25)
    assert known.tolist() == [[False, True, False], [True, False, False], [False] * 3]


def test_label_gradients(studio: Studio, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = draw(on_tiny("seal-figure2"), studio)
    assert [path.name for path in pictures] == [
        "seal-figure2-tiny-dvn.png",
        "seal-figure2-tiny-seal-nce.png",
    ]
    assert all(path.stat().st_size > 1000 for path in pictures)
    assert capsys.readouterr().out.count("fitting") == 2
    draw(on_tiny("seal-figure2"), studio)
    assert not capsys.readouterr().out  # the models were kept


def test_descents_by_training_steps(studio: Studio) -> None:
    parts = studio.parts("tiny")
    found = gbi_training.watched(studio.unfitted("tiny", "seal-nce"), parts)
    assert [step for step, _ in found["task-net"]] == [1, 2]
    assert [len(points) for points in found.values()] == [2, 1, 1]
    pictures = draw(on_tiny("seal-iclr-figures3-5"), studio)
    assert [path.stat().st_size > 1000 for path in pictures] == [True] * 3


def test_refinement_and_training_speed(studio: Studio) -> None:
    pictures = draw(on_tiny("alen-figures2-4"), studio)
    assert [path.name for path in pictures] == ["alen-figure3-tiny.png", "alen-figure4-tiny.png"]


def test_inference_steps(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nets_and_energies, "BALANCE_EPOCHS", 1)
    (picture,) = draw(on_tiny("infnet-figure3"), studio)
    assert picture.stat().st_size > 1000


def test_missing_data_is_named(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--data", str(tiny), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "seal-figure2", *given]) == 2
    assert "expr_FUN.valid.arff" in capsys.readouterr().err
    assert main(["reproduce", "seal-figure2", *given, "--columns", "cal5000"]) == 2
    assert "did you mean 'cal500'?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert "cal500" in DATA_SETS
