"""Inference networks and refinement in figures and pictures, against naive computations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet import MultiLabelClassifier
from lossnet.drawing import page
from lossnet.errors import DataError, SettingError
from lossnet.reports import draw_inference_training, draw_refinement, draw_training_speed
from lossnet.tasks.multilabel import InferenceGap, example_f1, inference_gap, refinement_curve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 6)).astype(np.float32)
Y = (X @ RNG.normal(size=(6, 4)) > 0).astype(int)


def fitted(method: str, **params: Any) -> MultiLabelClassifier:
    clf = MultiLabelClassifier(
        method, method_params=params or None, hidden=(8,), max_epochs=3, random_state=0
    )
    return clf.fit(X, Y)


@pytest.fixture(scope="module")
def alen() -> MultiLabelClassifier:
    return fitted("alen")


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every figure made, to look inside."""
    pytest.importorskip("matplotlib")
    made: list[Any] = []

    def keep(*size: float) -> Any:
        made.append(page.new_figure(*size))
        return made[-1]

    for module in ("curves", "inference_training"):
        monkeypatch.setattr(f"lossnet.reports.{module}.new_figure", keep)
    return made


def drawn(axes: Any) -> list[tuple[list[float], list[float]]]:
    """The lines of a panel, rings left out."""
    lines = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in lines]


def legend_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


# Refinement ------------------------------------------------------------------------------------


def test_refinement_curve_is_the_metric_of_every_step(alen: MultiLabelClassifier) -> None:
    curve = refinement_curve(alen, X, Y, steps=6)
    assert curve.shape == (7,)
    for step, value in enumerate(curve):
        alen.refine_steps_ = step
        assert value == pytest.approx(example_f1(Y, alen.predict(X)))
    alen.refine_steps_ = None
    assert curve[6] == pytest.approx(example_f1(Y, alen.predict(X)))  # the method's own 6 steps


def test_refinement_curve_errors(alen: MultiLabelClassifier) -> None:
    with pytest.raises(DataError, match="X has 60 rows and Y has 3"):
        refinement_curve(alen, X, Y[:3])
    with pytest.raises(SettingError, match="set refine"):
        refinement_curve(fitted("cross-entropy"), X, Y)


def test_refinement_picture_marks_the_best_step(tmp_path: Path, figures: list[Any]) -> None:
    curves = {"alen": [0.5, 0.7, 0.7, 0.6], "dvn": np.array([0.0, 0.4])}
    path = draw_refinement(curves, tmp_path / "r.png", metric="example-F1", title="T")
    assert path.stat().st_size > 0
    (axes,) = figures[0].axes
    assert drawn(axes) == [([0, 1, 2, 3], [0.5, 0.7, 0.7, 0.6]), ([0, 1], [0.0, 0.4])]
    rings = [line.get_xydata()[0].tolist() for line in axes.get_lines()[2:]]
    assert rings == [[1, 0.7], [1, 0.4]]
    assert legend_of(figures[0]) == ["alen: best 0.7 at step 1", "dvn: best 0.4 at step 1"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("refinement step", "example-F1")
    with pytest.raises(DataError, match="'alen' has no finite number"):
        draw_refinement({"alen": [float("nan")]}, tmp_path / "s.png")
    with pytest.raises(DataError, match="expected a mapping"):
        draw_refinement({}, tmp_path / "s.png")


# Training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["infnet", "infnet-plus"])
def test_inference_training_has_four_panels(
    method: str, tmp_path: Path, figures: list[Any]
) -> None:
    history = fitted(method).history_
    path = draw_inference_training({"a": history, "b": history[:2]}, tmp_path / "t.png")
    assert path.stat().st_size > 0
    assert legend_of(figures[0]) == ["a", "b"]
    net = "augmented" if method == "infnet" else "task+augmented"
    keys = ["cost-augmented loss", "hinge loss", "gradient norm/energy", f"gradient norm/{net}"]
    first = [row for row in history if row["phase"] == method]
    for axes, key in zip(figures[0].axes, keys, strict=True):
        long, short = drawn(axes)
        assert long == ([1, 2, 3], [row[key] for row in first])
        assert short == ([1, 2], [row[key] for row in first[:2]])


def test_a_perceptron_records_norms_alone(tmp_path: Path, figures: list[Any]) -> None:
    draw_inference_training({"p": fitted("infnet", loss="perceptron").history_}, tmp_path / "t.png")
    words = [[text.get_text() for text in axes.texts] for axes in figures[0].axes]
    assert words == [["not recorded"], ["not recorded"], [], []]
    assert len(drawn(figures[0].axes[3])[0][0]) == 3


def test_other_histories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'plain'.*infnet and infnet-plus record them"):
        draw_inference_training({"plain": [{"loss/task": 1.0}]}, tmp_path / "t.png")
    with pytest.raises(DataError, match=r"'plain' holds no validation metric"):
        draw_training_speed({"plain": [{"loss/task": 1.0}]}, tmp_path / "t.png")
    assert not list(tmp_path.iterdir())


def test_training_speed_counts_epochs_through_all_phases(
    tmp_path: Path, figures: list[Any]
) -> None:
    two = [{"phase": "net", "metric": 0.1}, {"phase": "net", "metric": 0.2}]
    two += [{"phase": "energy", "metric": None}, {"phase": "energy", "metric": 0.4}]
    one = [{"phase": "alen", "metric": 0.3}]
    path = draw_training_speed({"spen": two, "alen": one}, tmp_path / "s.png", metric="F1")
    assert path.stat().st_size > 0
    (axes,) = figures[0].axes
    assert drawn(axes) == [([1, 2], [0.1, 0.2]), ([4], [0.4]), ([1], [0.3])]
    assert legend_of(figures[0]) == ["spen: best 0.4 at epoch 4", "alen: best 0.3 at epoch 1"]
    assert axes.get_ylabel() == "F1"


# Two nets --------------------------------------------------------------------------------------


def naive_gap(clf: MultiLabelClassifier, other: np.ndarray) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for gold, here, there in zip(Y, clf.predict(X), other, strict=True):
        for label, name in enumerate(clf.label_names_):
            if here[label] == gold[label] != there[label]:
                change = "on -> off" if here[label] else "off -> on"
                counts[name, change] = counts.get((name, change), 0) + 1
    return counts


@pytest.mark.parametrize("sharing", ["separated", "shared", "stacked"])
def test_gap_counts_what_the_cost_augmented_net_changes(sharing: str) -> None:
    import torch

    clf = fitted("infnet-plus", sharing=sharing)
    rows = torch.from_numpy(clf.standardiser_(X))
    task, net = clf.nets_["task"], clf.nets_["augmented"]
    if sharing == "stacked":
        net.on_target.copy_(-8.0)  # a net that contradicts the truth it is shown
        logits = net(torch.sigmoid(task(rows)), torch.from_numpy(Y).float())
    else:
        logits = net(rows) if sharing == "separated" else net.own_head(task.features(rows))
    other = (torch.sigmoid(logits).numpy() >= clf.threshold_).astype(int)

    gap = inference_gap(clf, X, Y, most=100)
    assert gap.metric == "example-f1"
    assert gap.test_time == pytest.approx(example_f1(Y, clf.predict(X)))
    assert gap.cost_augmented == pytest.approx(example_f1(Y, other))
    assert gap.gap == pytest.approx(gap.test_time - gap.cost_augmented)
    assert {(name, change): n for name, change, n in gap.differences} == naive_gap(clf, other)
    counts = [n for _, _, n in gap.differences]
    assert counts == sorted(counts, reverse=True)
    assert inference_gap(clf, X, Y, most=1).differences == gap.differences[:1]


def test_gap_prints_a_plain_table() -> None:
    gap = InferenceGap(
        "example-f1", 0.75, 0.5, (("even", "on -> off", 12), ("odd", "off -> on", 3))
    )
    assert str(gap).splitlines() == [
        "test-time net       example-f1 0.7500",
        "cost-augmented net  example-f1 0.5000",
        "gap                 example-f1 0.2500",
        "",
        "label  test-time -> cost-augmented  count",
        "even   on -> off                       12",
        "odd    off -> on                        3",
    ]
    assert "the nets agree" in str(InferenceGap("example-f1", 0.5, 0.5, ()))


def test_gap_errors(alen: MultiLabelClassifier) -> None:
    for model in (alen, fitted("infnet", loss="perceptron")):
        with pytest.raises(SettingError, match=r"no net 'augmented'.*infnet-plus"):
            inference_gap(model, X, Y)
    model = fitted("infnet")
    with pytest.raises(DataError, match="X has 60 rows and Y has 5"):
        inference_gap(model, X, Y[:5])
    with pytest.raises(SettingError, match="most must be at least 0, got -1"):
        inference_gap(model, X, Y, most=-1)
