"""Pictures: what is drawn, not only that a file appears."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lossnet.drawing import page
from lossnet.drawing.page import MissingMatplotlibError
from lossnet.errors import DataError
from lossnet.reports import draw_history


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
