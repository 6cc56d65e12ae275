"""The demo's picture: what is drawn, not only that a file appears."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet.drawing import page

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from demo_picture import draw_demo

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 17, (3, 8, 8))
TRUTHS = [["even", "small"], ["odd"], ["odd", "large"]]
SETS = {
    "cross-entropy": [["even", "odd"], ["odd"], []],
    "seal-nce": [["even", "small"], ["odd"], ["odd", "large"]],
}
CONTRADICTIONS = {"cross-entropy": [True, False, False]}


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every figure made, to look inside."""
    pytest.importorskip("matplotlib")
    made: list[Any] = []
    original = page.new_figure

    def keep(*size: float) -> Any:
        made.append(original(*size))
        return made[-1]

    monkeypatch.setattr(page, "new_figure", keep)
    return made


def pixels(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return imread(path)[..., :3]


def red(path: Path) -> int:
    """Pixels of the red that marks what is wrong."""
    return int((np.abs(pixels(path) - np.array([198, 40, 40]) / 255) < 0.02).all(-1).sum())


def words(figure: Any, color: str) -> list[str]:
    return [t.get_text() for t in figure.axes[0].texts if t.get_color() == color]


def draw(path: Path, **changes: Any) -> Path:
    values: dict[str, Any] = {
        "images": IMAGES,
        "truths": TRUTHS,
        "label_predictions": SETS,
        "contradictions": CONTRADICTIONS,
        "upper": IMAGES[:, :4],
        "truth": IMAGES,
        "completions": {"seal": IMAGES},
    }
    return draw_demo(path, **(values | changes))


def test_label_sets_show_right_wrong_and_missing(tmp_path: Path, figures: list[Any]) -> None:
    path = draw(tmp_path / "a.png")
    (figure,) = figures
    assert words(figure, page.RED) == ["odd", "wrong"]
    grey = ["small", "nothing predicted", "odd", "large", "missing"]
    assert words(figure, page.GREY) == grey
    assert pixels(path).shape[0] == round(figure.get_figheight() * 150)
    assert (pixels(path)[:10] == 1).all()

    calm = draw(tmp_path / "b.png", contradictions={})
    assert red(path) > red(calm) + 500


def test_a_perfect_prediction_has_red_only_in_the_legend(
    tmp_path: Path, figures: list[Any]
) -> None:
    draw(tmp_path / "a.png", label_predictions={"oracle": TRUTHS}, contradictions={})
    assert words(figures[0], page.RED) == ["wrong"]
    assert words(figures[0], page.GREY) == ["missing"]


def test_long_label_sets_wrap_inside_the_page(tmp_path: Path, figures: list[Any]) -> None:
    names = [f"label number {k} $x_{k}" for k in range(12)]
    sets = {"label_predictions": {"m": [names]}, "contradictions": {"m": [True]}}
    wide = dict.fromkeys(["cross-entropy", "seal-nce", "seal-ranking"], IMAGES)
    draw(tmp_path / "a.png", images=IMAGES[:1], truths=[names], completions=wide, **sets)
    figure = figures[0]
    renderer = figure.canvas.get_renderer()
    for item in figure.axes[0].texts:
        box = item.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


def test_completions_stack_the_given_half_on_a_predicted_one(
    tmp_path: Path, figures: list[Any]
) -> None:
    complete = IMAGES.astype(float)
    predictions = {"half": np.zeros((3, 4, 8)), "complete": complete[:, ::-1]}
    draw(tmp_path / "a.png", completions=predictions)
    shown = [np.asarray(image.get_array()) for image in figures[0].axes[0].images][3:]
    assert len(shown) == 12
    given, half, reverse, true = shown[0], shown[3], shown[6], shown[9]
    assert (given[:4] == complete[0, :4]).all()
    assert (given == half).all()
    assert (reverse == complete[0, ::-1]).all()
    assert (true == complete[0]).all()


def test_wrong_shapes_are_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.png"
    with pytest.raises(ValueError, match="truths has 1 entries for 3 images"):
        draw(path, truths=TRUTHS[:1])
    with pytest.raises(ValueError, match=r"images has shape \(3, 64\)"):
        draw(path, images=IMAGES.reshape(3, 64))
    with pytest.raises(ValueError, match=r"m has shape \(3, 5, 8\)"):
        draw(path, completions={"m": IMAGES[:, :5]})
    with pytest.raises(ValueError, match="upper has shape"):
        draw(path, upper=IMAGES)
    assert not path.exists()
