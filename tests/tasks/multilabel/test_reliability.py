"""How reliable probabilities are, in numbers and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import draw_reliability, reliability

RNG = np.random.default_rng(0)
PROBA = RNG.random((300, 7)) ** 2
Y = RNG.random(PROBA.shape) < PROBA


def test_the_same_as_loops_and_as_scikit_learn() -> None:
    proba = PROBA**2  # not sure enough
    found = reliability(Y, proba, bins=5)
    gaps = 0.0
    for k, (low, high) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
        inside = (proba >= low) & (proba < high)
        assert found.counts[k] == inside.sum()
        assert found.mean[k] == pytest.approx(proba[inside].mean())
        assert found.frequency[k] == pytest.approx(Y[inside].mean())
        gaps += inside.sum() * abs(Y[inside].mean() - proba[inside].mean())
    assert found.ece == pytest.approx(gaps / Y.size)
    assert found.ece > reliability(Y, PROBA).ece
    flat = Y.ravel(), proba.ravel()
    assert found.log_loss == pytest.approx(log_loss(*flat))
    assert found.brier == pytest.approx(brier_score_loss(*flat))
    frequency, mean = calibration_curve(*flat, n_bins=5)
    assert found.frequency == pytest.approx(frequency)
    assert found.mean == pytest.approx(mean)
    assert "2,100 labels" in str(found)


def test_edges_and_empty_bins() -> None:
    found = reliability([[0, 1, 1]], [[0.0, 0.5, 1.0]], bins=4)
    assert found.counts.tolist() == [1, 0, 1, 1]
    assert np.isnan(found.mean[1])
    assert np.isnan(found.frequency[1])
    assert found.ece == pytest.approx(0.5 / 3)
    assert np.isfinite(reliability([[1]], [[0.0]]).log_loss)


def test_what_has_no_reliability() -> None:
    with pytest.raises(SettingError, match="bins must be an integer of at least 1, got 0"):
        reliability(Y, PROBA, bins=0)
    with pytest.raises(DataError, match="expected probabilities"):
        reliability([[1, 0]], [[0.5, 1.5]])
    with pytest.raises(DataError, match="shapes"):
        reliability(Y, PROBA[:1])


def test_the_picture(tmp_path: Path) -> None:
    runs = {"as trained": (Y, PROBA**2), "calibrated": (Y, PROBA)}
    path = draw_reliability(runs, tmp_path / "reliability.png", title="ising")
    assert path.read_bytes().startswith(b"\x89PNG")
    svg = draw_reliability(runs, tmp_path / "reliability.svg").read_text("utf-8")
    assert f"calibrated: ECE {reliability(Y, PROBA).ece:.3f}" in svg
    with pytest.raises(DataError, match="mapping"):
        draw_reliability({}, tmp_path / "none.png")
