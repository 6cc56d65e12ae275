"""The one-pass threshold search against the plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import (
    METRICS,
    apply_threshold,
    default_grid,
    example_f1,
    macro_f1,
    tune_threshold,
)
from lossnet.tasks.multilabel.metrics import COUNTED
from lossnet.tasks.multilabel.thresholds import _reached, curve

GRIDS = {
    "default": default_grid(),
    "coarse": np.array([0.1, 0.5, 0.9]),
    "one": np.array([0.3]),
    "crowded": np.array([0.5, 0.50001, 0.50002, 0.7]),
    "outside": np.array([-1.0, 0.0, 0.4, 1.0, 2.0]),
}


def make(seed: int, n: int = 137, L: int = 19) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities with ties, values on the grid, empty and full rows."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, L)) < 0.15).astype(np.uint8)
    proba = np.clip(0.3 * Y + rng.beta(0.5, 3, (n, L)), 0, 1)
    proba[::3] = np.round(proba[::3], 2)
    proba[0], proba[1], proba[2] = 0, 1, 0.5
    Y[3], Y[4] = 0, 1
    Y[:, 5] = 0
    return Y, proba


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", COUNTED)
def test_curves_equal_the_loop_exactly(name: str, grid: str, dtype: type) -> None:
    for seed in range(3):
        Y, proba = make(seed)
        proba = proba.astype(dtype)
        cuts = GRIDS[grid]
        loop = np.array(
            [METRICS[name].function(Y, proba.astype(np.float64) >= cut) for cut in cuts]
        )
        found = curve(name, Y.astype(bool), proba.astype(np.float64), cuts)
        assert found.tolist() == loop.tolist()
        threshold, value = tune_threshold(Y, proba, metric=name, grid=cuts)
        assert threshold.shape == ()
        assert value == loop.max()
        assert value == METRICS[name](Y, proba, threshold)
        best = cuts[loop == loop.max()]
        assert abs(threshold - 0.5) == pytest.approx(np.abs(best - 0.5).min(), abs=1e-12)


def test_every_label_metric_has_a_curve() -> None:
    assert set(COUNTED) == {name for name, m in METRICS.items() if m.needs == "labels"}


@pytest.mark.parametrize("grid", GRIDS)
def test_reached_equals_searchsorted(grid: str) -> None:
    cuts = GRIDS[grid]
    near = np.concatenate([cuts, np.nextafter(cuts, -9), np.nextafter(cuts, 9)])
    values = np.concatenate([near, np.linspace(0, 1, 5000), [0.0, 1.0]])
    for some in (values, values[(values >= 0) & (values <= 1)], values[:0]):
        assert (_reached(some, cuts) == np.searchsorted(cuts, some, side="right")).all()


def test_ties_go_to_the_threshold_nearest_one_half() -> None:
    Y, proba = [[1, 0], [0, 1]], [[1.0, 0.0], [0.0, 1.0]]
    assert tune_threshold(Y, proba)[0] == 0.5
    assert tune_threshold(Y, proba, grid=[0.1, 0.35, 0.9])[0] == 0.35
    assert tune_threshold(Y, proba, grid=[0.6, 0.4])[0] == 0.6


def test_a_function_is_searched_by_the_loop() -> None:
    Y, proba = make(7)

    def dropped(gold: np.ndarray, predicted: np.ndarray) -> float:
        return example_f1(gold, predicted, empty="drop")

    threshold, value = tune_threshold(Y, proba, metric=dropped)
    values = [dropped(Y, apply_threshold(proba, cut)) for cut in default_grid()]
    assert value == max(values)
    assert dropped(Y, apply_threshold(proba, threshold)) == value
    with pytest.raises(DataError, match="'dropped' is NaN"):
        tune_threshold(np.zeros_like(Y), proba, metric=dropped)


@pytest.mark.parametrize("name", COUNTED)
def test_per_label_is_never_worse_than_shared(name: str) -> None:
    for seed in range(5):
        Y, proba = make(seed, n=60)
        shared, value = tune_threshold(Y, proba, metric=name)
        own, own_value = tune_threshold(Y, proba, metric=name, per_label=True)
        assert own.shape == (Y.shape[1],)
        assert own_value >= value
        assert own_value == METRICS[name](Y, proba, own)
        rare = Y.sum(axis=0) < 3
        assert (own[rare] == shared).all()


def test_per_label_is_the_best_macro_f1_of_the_grid() -> None:
    Y, proba = make(1)
    _, value = tune_threshold(Y, proba, metric="macro-f1", per_label=True, min_positives=0)
    best = [
        max(macro_f1(Y[:, [k]], proba[:, [k]] >= cut) for cut in default_grid())
        for k in range(Y.shape[1])
    ]
    assert value == pytest.approx(np.mean(best))


def test_per_label_finds_each_labels_scale() -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 2)) < 0.5).astype(int)
    proba = Y * [0.09, 0.6] + [0.01, 0.3]
    own, value = tune_threshold(Y, proba, metric="micro-f1", per_label=True)
    assert value == 1.0
    assert 0.01 < own[0] <= 0.1
    assert 0.3 < own[1] <= 0.9


def test_apply_threshold() -> None:
    proba = np.array([[0.5, 0.49], [0.1, 0.9]], dtype=np.float32)
    cut = apply_threshold(proba, 0.5)
    assert cut.dtype == np.uint8
    assert cut.tolist() == [[1, 0], [0, 1]]
    assert apply_threshold(proba, [0.05, 0.95]).tolist() == [[1, 0], [1, 0]]
    with pytest.raises(DataError, match=r"shape \(3,\).*each of the 2 labels"):
        apply_threshold(proba, [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="NaN"):
        apply_threshold(proba, np.nan)


def test_bad_settings_are_named() -> None:
    Y, proba = make(0)
    with pytest.raises(SettingError, match="does not depend on a threshold"):
        tune_threshold(Y, proba, metric="map")
    with pytest.raises(DataError, match="expected probabilities"):
        tune_threshold(Y, proba * 9 - 4)
    with pytest.raises(SettingError, match="grid"):
        tune_threshold(Y, proba, grid=[])
    assert tune_threshold(Y, proba * 9 - 4, grid=[-1, 0, 1])[0] in (-1, 0, 1)
