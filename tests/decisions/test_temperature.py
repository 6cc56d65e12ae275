"""The temperature of lowest log loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lossnet.decisions import fit_temperature, temper
from lossnet.decisions.temperature import LEAST, MOST
from lossnet.errors import DataError
from lossnet.spaces import Binary, Categorical, Space

GRID = np.geomspace(LEAST, MOST, 2001)


def drawn(space: Space, *, rows: int = 500, scale: float = 1.0) -> tuple[torch.Tensor, ...]:
    """Probabilities whose logits were multiplied by a scale, and outputs of the true ones."""
    draw = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(rows, 4, 3, generator=draw, dtype=torch.float64)
    return space.relax(scale * logits), space.sample(logits, 1, draw)[0].double()


def log_loss(p: torch.Tensor, y: torch.Tensor, space: Space) -> float:
    on = torch.xlogy(y, p).sum()
    return -float(on if space.coupled else on + torch.xlogy(1 - y, 1 - p).sum())


@pytest.mark.parametrize("space", [Binary(), Categorical()])
@pytest.mark.parametrize("scale", [0.6, 1.0, 2.5])
def test_no_temperature_of_a_grid_is_better(space: Space, scale: float) -> None:
    p, y = drawn(space, rows=60, scale=scale)
    found = fit_temperature(p, y, space=space)
    losses = [log_loss(temper(p, t, space=space), y, space) for t in GRID]
    assert log_loss(temper(p, found, space=space), y, space) <= min(losses)
    assert found == pytest.approx(GRID[int(np.argmin(losses))], rel=0.005)


@pytest.mark.parametrize("space", [Binary(), Categorical()])
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_a_known_distortion_is_undone(space: Space, scale: float) -> None:
    p, y = drawn(space, rows=20_000, scale=scale)
    assert fit_temperature(p, y, space=space) == pytest.approx(scale, rel=0.03)
    # In single precision, as nets give them.
    assert fit_temperature(p.float(), y, space=space) == pytest.approx(scale, rel=0.03)


def test_class_numbers_and_masks() -> None:
    p, y = drawn(Categorical(), scale=2.0)
    known = torch.rand(p.shape[:2], generator=torch.Generator().manual_seed(1)) < 0.5
    found = fit_temperature(p, y, known, space=Categorical())
    numbers = y.argmax(-1).where(known, -100)
    assert fit_temperature(p, numbers, known, space=Categorical()) == found
    assert fit_temperature(p[known], y[known], space=Categorical()) == pytest.approx(found)
    assert fit_temperature(p, y, space=Categorical()) != pytest.approx(found, rel=1e-6)
    labels, on = drawn(Binary(), scale=2.0)
    wide = torch.rand(labels.shape, generator=torch.Generator().manual_seed(1)) < 0.5
    expected = fit_temperature(labels[wide].unsqueeze(1), on[wide].unsqueeze(1))
    assert fit_temperature(labels, on, wide) == pytest.approx(expected)


def test_two_classes_are_one_label() -> None:
    p, y = drawn(Binary(), scale=2.0)
    both = [torch.stack([1 - values, values], -1) for values in (p, y)]
    assert fit_temperature(*both, space=Categorical()) == pytest.approx(fit_temperature(p, y))
    torch.testing.assert_close(temper(both[0], 3.0, space=Categorical())[..., 1], temper(p, 3.0))


def test_temperatures_stay_within_bounds() -> None:
    p = torch.tensor([[0.9], [0.1]])
    assert fit_temperature(p, torch.tensor([[1.0], [0.0]])) == pytest.approx(LEAST)
    assert fit_temperature(p, torch.tensor([[0.0], [1.0]])) == pytest.approx(MOST)
    assert fit_temperature(torch.full((2, 1), 0.5), torch.tensor([[0.0], [1.0]])) == 1.0
    sure = torch.tensor([[1.0], [1.0], [1.0], [0.0]])  # one of them wrong
    assert fit_temperature(sure, torch.tensor([[1.0], [1.0], [0.0], [0.0]])) == pytest.approx(MOST)
    assert float(temper(sure, MOST)[0]) == pytest.approx(0.8, abs=0.01)


def test_tempering_keeps_the_order_and_one_half() -> None:
    p = torch.linspace(0, 1, 101).unsqueeze(1)
    for temperature in (0.3, 1.0, 4.0):
        found = temper(p, temperature)
        assert (found.diff(dim=0) >= 0).all()
        assert float(found[50]) == pytest.approx(0.5)
    torch.testing.assert_close(temper(p, 1.0)[1:-1].float(), p[1:-1])


def test_what_cannot_be_fitted() -> None:
    p, y = torch.full((2, 3), 0.3), torch.ones(2, 3)
    with pytest.raises(DataError, match="no position"):
        fit_temperature(p, y, torch.zeros(2, 3, dtype=torch.bool))
    for bad in (torch.full((2, 3), float("nan")), torch.full((2, 3), 1.5)):
        with pytest.raises(DataError, match="between 0 and 1"):
            fit_temperature(bad, y)
    with pytest.raises(DataError, match="shape"):
        fit_temperature(p, y[:1])
