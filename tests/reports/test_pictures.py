"""Pictures: what is drawn, not only that a file appears."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet.demo.pictures import draw_completions, draw_demo, draw_label_sets
from lossnet.drawing import page
from lossnet.drawing.page import MissingMatplotlibError
from lossnet.errors import DataError
from lossnet.reports import draw_history

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
    monkeypatch.setattr("lossnet.reports.history.new_figure", keep)
    return made


def pixels(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return imread(path)[..., :3]


def red(path: Path) -> int:
    """Pixels of the red that marks what is wrong."""
    return int((np.abs(pixels(path) - np.array([198, 40, 40]) / 255) < 0.02).all(-1).sum())


def words(figure: Any, color: str) -> list[str]:
    return [t.get_text() for t in figure.axes[0].texts if t.get_color() == color]


def test_label_sets_show_right_wrong_and_missing(tmp_path: Path, figures: list[Any]) -> None:
    path = draw_label_sets(IMAGES, TRUTHS, SETS, CONTRADICTIONS, tmp_path / "a.png", title="T")
    (figure,) = figures
    assert words(figure, page.RED) == ["odd", "wrong"]
    grey = ["small", "nothing predicted", "odd", "large", "missing"]
    assert words(figure, page.GREY) == grey
    assert len(figure.axes[0].images) == 3
    assert pixels(path).shape[0] == round(figure.get_figheight() * 150)

    calm = draw_label_sets(IMAGES, TRUTHS, SETS, {}, tmp_path / "b.png", title="T")
    assert red(path) > red(calm) + 500


def test_a_perfect_prediction_has_red_only_in_the_legend(
    tmp_path: Path, figures: list[Any]
) -> None:
    draw_label_sets(IMAGES, TRUTHS, {"oracle": TRUTHS}, {}, tmp_path / "a.png")
    assert words(figures[0], page.RED) == ["wrong"]
    assert words(figures[0], page.GREY) == ["missing"]


def test_long_label_sets_wrap_inside_the_page(tmp_path: Path, figures: list[Any]) -> None:
    names = [f"label number {k} $x_{k}" for k in range(12)]
    draw_label_sets(IMAGES[:1], [names], {"m": [names]}, {"m": [True]}, tmp_path / "a.png")
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
    whole = IMAGES.astype(float)
    lower = np.zeros((3, 4, 8))
    predictions = {"half": lower, "whole": whole[:, ::-1]}
    draw_completions(whole[:, :4], whole, predictions, tmp_path / "a.png")
    shown = [np.asarray(image.get_array()) for image in figures[0].axes[0].images]
    assert len(shown) == 12
    given, half, reverse, true = shown[0], shown[3], shown[6], shown[9]
    assert (given[:4] == whole[0, :4]).all()
    assert (given == half).all()
    assert (reverse == whole[0, ::-1]).all()
    assert (true == whole[0]).all()


def test_demo_holds_both(tmp_path: Path, figures: list[Any]) -> None:
    path = draw_demo(
        tmp_path / "new" / "demo.png",
        images=IMAGES,
        truths=TRUTHS,
        label_predictions=SETS,
        contradictions=CONTRADICTIONS,
        upper=IMAGES[:, :4],
        whole=IMAGES,
        completions={"seal": IMAGES},
    )
    assert path.exists()
    assert len(figures[0].axes[0].images) == 3 + 9
    assert (pixels(path)[:10] == 1).all()


def test_wrong_shapes_are_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "a.png"
    with pytest.raises(DataError, match="truths has 1 entries for 3 images"):
        draw_label_sets(IMAGES, TRUTHS[:1], SETS, {}, path)
    with pytest.raises(DataError, match=r"images has shape \(3, 64\)"):
        draw_label_sets(IMAGES.reshape(3, 64), TRUTHS, SETS, {}, path)
    with pytest.raises(DataError, match=r"m has shape \(3, 5, 8\)"):
        draw_completions(IMAGES[:, :4], IMAGES, {"m": IMAGES[:, :5]}, path)
    with pytest.raises(DataError, match="upper has shape"):
        draw_completions(IMAGES, IMAGES, {}, path)
    assert not path.exists()


HISTORY: list[dict[str, Any]] = [
    {"phase": "energy", "epoch": 1, "loss/energy": 2.0},
    {"phase": "energy", "epoch": 2, "loss/energy": 1.0, "loss/task": None},
    {"phase": "task", "epoch": 1, "loss/task": 5.0, "metric": 0.3},
    {"phase": "task", "epoch": 2, "loss/task": float("nan"), "metric": 0.5},
    {"phase": "task", "epoch": 3, "loss/task": 3.0, "metric": 0.4},
]


def test_history_has_a_panel_for_each_loss_and_the_metric(
    tmp_path: Path, figures: list[Any]
) -> None:
    path = draw_history(HISTORY, tmp_path / "h.png", metric="example-f1", title="T")
    assert path.exists()
    energy, task, metric = figures[0].axes
    assert [axes.get_ylabel() for axes in figures[0].axes] == [
        "loss: energy",
        "loss: task",
        "example-f1",
    ]
    drawn = [tuple(line.get_xdata()) for line in task.get_lines()]
    assert (3, 5) in drawn
    assert (1, 2) in [tuple(line.get_xdata()) for line in energy.get_lines()]
    assert [t.get_text() for t in energy.texts] == ["energy", "task"]
    assert [t.get_text() for t in metric.texts] == ["0.5 (epoch 4)"]


def test_history_without_anything_to_draw(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to draw"):
        draw_history([{"epoch": 1}], tmp_path / "h.png")
    with pytest.raises(DataError, match="history of 0 rows"):
        draw_history([], tmp_path / "h.png")


def test_missing_matplotlib_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingMatplotlibError, match=r"pip install 'lossnet\[report\]'"):
        draw_history(HISTORY, tmp_path / "h.png")


def test_reports_load_without_matplotlib_and_draw_without_pyplot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    code = (
        "import sys, lossnet.reports as r; assert 'matplotlib' not in sys.modules;"
        f"r.draw_history([{{'metric': 1.0}}], {str(tmp_path / 'h.png')!r});"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "h.png").read_bytes().startswith(b"\x89PNG")
