"""Where pictures draw what, and that their pixels are right."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from lossnet.comparison.example_section import _spans
from lossnet.comparison.pictures import Axis, Series, chart, heat_map, png, round_numbers


def pixels_of(address: str) -> np.ndarray:
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)))


def test_points_are_where_the_ticks_say() -> None:
    found = chart("c", [Series("s", [[0, 10], [5, 20], [10, 30]], dots=True)], Axis("x"), Axis("y"))
    assert found is not None
    (drawn,) = found.series
    across = {tick.text: tick.at for tick in found.x_ticks}
    up = {tick.text: tick.at for tick in found.y_ticks}
    assert drawn.dots[0] == pytest.approx((across["0"], up["10"]), abs=0.1)
    assert drawn.dots[2] == pytest.approx((across["10"], up["30"]), abs=0.1)
    assert drawn.path.split()[1] == "{:g},{:g}".format(*drawn.dots[1])
    assert found.left <= min(across.values()) < max(across.values()) <= found.right


def test_a_log_axis_has_equal_steps_for_equal_ratios() -> None:
    series = [Series("s", [[1, 0], [10, 1], [100, 2]], line=False, dots=True)]
    found = chart("c", series, Axis("x", log=True), Axis("y"))
    assert found is not None
    xs = [x for x, _ in found.series[0].dots]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert found.series[0].path == ""
    narrow = chart("c", [Series("s", [[11, 0], [27, 1]])], Axis("x", log=True), Axis("y"))
    assert narrow is not None
    assert len(narrow.x_ticks) >= 3
    seconds = chart("c", [Series("s", [[0.2, 0], [37, 1]])], Axis("x", log=True), Axis("y"))
    assert seconds is not None
    assert [tick.text for tick in seconds.x_ticks] == ["0.3", "1", "3", "10", "30"]


def test_points_that_are_not_finite_are_left_out() -> None:
    odd = [[0, np.nan], [1, 2], [np.inf, 3]]
    found = chart("c", [Series("s", odd), Series("none", [[0, np.nan]])], Axis("x"), Axis("y"))
    assert found is not None
    assert [len(one.dots) for one in found.series] == [1]
    assert chart("c", [Series("s", [[0, np.nan]])], Axis("x"), Axis("y")) is None
    assert chart("c", [], Axis("x"), Axis("y")) is None
    zero = [[0, 1], [-1, 1]]
    assert chart("c", [Series("s", zero)], Axis("x", log=True), Axis("y")) is None


def test_equal_values_have_room_around_them() -> None:
    found = chart("c", [Series("s", [[1, 0.0], [1, 0.0]])], Axis("x"), Axis("y"))
    assert found is not None
    assert found.y_ticks


def test_long_lines_are_thinned_out_and_keep_their_ends() -> None:
    line = np.stack([np.arange(5000), np.arange(5000)], axis=1)
    found = chart("c", [Series("s", line, dots=True)], Axis("x", 0, 4999), Axis("y", 0, 4999))
    assert found is not None
    dots = found.series[0].dots
    assert len(dots) == 200
    assert dots[0] == (found.left, found.bottom)
    assert dots[-1] == (found.right, found.top)


def test_ticks_are_round_and_inside() -> None:
    draw = np.random.default_rng(0)
    for _ in range(200):
        low = float(draw.normal() * 10.0 ** draw.integers(-4, 5))
        high = low + float(draw.random() * 10.0 ** draw.integers(-4, 5)) + 1e-4
        found = round_numbers(low, high)
        room = 1e-6 * (high - low)
        assert all(low - room <= value <= high + room for value in found)
        assert 2 <= len(found) <= 7
    assert round_numbers(1.0, 1.0) == [1.0]


def test_a_heat_map_is_blue_above_zero_and_orange_below() -> None:
    found = heat_map("m", [[np.nan, 1.0], [-1.0, 0.0]], ["a", "b"])
    pixels = pixels_of(found.picture)
    assert pixels.shape == (2, 2, 4)
    assert pixels[0, 0, 3] == pixels[1, 1, 3] == 0
    assert pixels[0, 1, 2] > pixels[0, 1, 0]
    assert pixels[1, 0, 0] > pixels[1, 0, 2]
    assert pixels[0, 1, 3] == pixels[1, 0, 3] == 255
    assert found.names == ["a", "b"]
    assert heat_map("m", np.zeros((50, 50)), [f"{k}" for k in range(50)]).names == []
    assert pixels_of(heat_map("m", np.full((2, 2), np.nan), ["a", "b"]).picture)[..., 3].max() == 0


def test_a_picture_keeps_its_pixels() -> None:
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert (pixels_of(png(grey)) == grey).all()
    colours = np.random.default_rng(0).integers(0, 256, (8, 8, 3))
    assert len(png(colours, tones=4)) < len(png(colours))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-A I-A B-A O", [("A", 0, 2), ("A", 2, 3)]),
        ("O S-A E-A", [("A", 1, 3)]),
        ("I-A I-B", [("A", 0, 1), ("B", 1, 2)]),
        ("", []),
    ],
)
def test_spans_of_tags(tags: str, expected: list) -> None:
    assert _spans(tags.split()) == expected
