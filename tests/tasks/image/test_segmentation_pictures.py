"""Pictures of segmented images: what they show, and bad input."""

from types import SimpleNamespace

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.image import draw_refinement_frames, draw_segmentation
from lossnet.tasks.image import pictures as module

pytest.importorskip("matplotlib")

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (9, 6, 8, 3), dtype=np.uint8)
PNG = b"\x89PNG"


@pytest.fixture
def drawn(monkeypatch) -> list:
    """What reaches the grid, in place of a picture's pixels."""
    calls: list = []
    grid = module._grid

    def spy(columns, rows, path, title, legend):
        shown = {"columns": columns, "rows": list(rows), "title": title, "legend": legend}
        calls.append(SimpleNamespace(**shown))
        return grid(columns, rows, path, title, legend)

    monkeypatch.setattr(module, "_grid", spy)
    return calls


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_methods_side_by_side(tmp_path, drawn, classes) -> None:
    truth = RNG.integers(0, classes, (9, 6, 8))
    # Row k has 5 (k + 1) pixels wrong, so that row 0 is the best and row 8 the worst.
    wrong = truth.copy()
    for k in range(9):
        flat = wrong[k].reshape(-1)
        flat[: 5 * (k + 1)] = (flat[: 5 * (k + 1)] + 1) % classes
    path = draw_segmentation(
        IMAGES,
        truth,
        {"cross-entropy": truth, "learned": wrong},
        tmp_path / "a.png",
        classes=classes,
        worst=2,
        best=1,
        title="shapes",
    )
    assert path.read_bytes()[:4] == PNG
    (call,) = drawn
    assert [name for name, _, _ in call.columns] == ["image", "truth", "cross-entropy", "learned"]
    assert call.rows == [8, 7, 0]
    assert (call.columns[2][2] == 1.0).all()
    np.testing.assert_allclose(call.columns[0][1], IMAGES / 255.0, atol=1e-6)
    np.testing.assert_allclose(call.columns[1][1], call.columns[2][1])
    assert len(np.unique(call.columns[1][1].reshape(-1, 3), axis=0)) == classes


def test_a_legend_names_the_colours(tmp_path, drawn) -> None:
    masks = np.zeros((9, 6, 8), int)
    masks[:, 0] = 2
    settings = {"classes": 4, "names": ["sky", "sea", "sand", "sun"]}
    path = draw_segmentation(IMAGES, masks, {"a": masks}, tmp_path / "a.svg", **settings)
    ((sky, black), (sand, red)) = drawn[0].legend
    assert (sky, sand) == ("sky", "sand")
    assert black.tolist() == [0, 0, 0]
    np.testing.assert_allclose(red, drawn[0].columns[1][1][0, 0, 0])
    assert b"<!-- sand -->" in path.read_bytes()
    frames = np.zeros((2, 9, 6, 8, 4))
    frames[..., 3] = 1
    draw_refinement_frames(IMAGES, masks, frames, tmp_path / "b.png", **settings)
    assert [name for name, _ in drawn[1].legend] == ["sky", "sand", "sun"]
    draw_segmentation(IMAGES, masks, {"a": masks}, tmp_path / "a.png", classes=3)
    assert [name for name, _ in drawn[2].legend] == ["0", "2"]
    many = np.arange(9 * 48).reshape(9, 6, 8) % 256
    draw_segmentation(IMAGES, many, {"a": many}, tmp_path / "a.png", classes=256)
    assert len(drawn[3].legend) == 176
    with pytest.raises(SettingError, match="1 names for 2 classes"):
        draw_segmentation(IMAGES, masks // 2, {"a": masks // 2}, path, names=["sky"])


def test_all_images_where_there_are_few(tmp_path, drawn) -> None:
    masks = RNG.integers(0, 2, (9, 6, 8))
    draw_segmentation(IMAGES, masks, {"a": masks}, tmp_path / "a.png", worst=5, best=5)
    assert sorted(drawn[0].rows) == list(range(9))


@pytest.mark.parametrize("classes", [2, 3])
def test_frames_of_a_refinement(tmp_path, drawn, classes) -> None:
    truth = RNG.integers(0, classes, (2, 6, 8))
    shape = (11, 2, 6, 8) if classes == 2 else (11, 2, 6, 8, 3)
    frames = RNG.random(shape)
    if classes == 3:
        frames /= frames.sum(-1, keepdims=True)
    path = draw_refinement_frames(
        RNG.normal(size=(2, 6, 8)), truth, frames, tmp_path / "a.svg", classes=classes
    )
    assert b"<svg" in path.read_bytes()
    names = [name for name, _, _ in drawn[0].columns]
    assert (names[0], names[-1]) == ("image", "truth")
    assert names[1] == "step 0"
    assert names[-2] == "step 10"
    for _, pixels, _ in drawn[0].columns:
        assert pixels.min() >= 0
        assert pixels.max() <= 1
    draw_refinement_frames(
        IMAGES[:2], truth, frames, tmp_path / "b.png", classes=classes, steps=[0, 3]
    )
    assert [name for name, _, _ in drawn[1].columns][1:3] == ["step 0", "step 3"]


def test_bad_input(tmp_path) -> None:
    masks, path = np.zeros((9, 6, 8), int), tmp_path / "a.png"
    with pytest.raises(DataError, match=r"predictions must be masks by name.*got none"):
        draw_segmentation(IMAGES, masks, {}, path)
    with pytest.raises(SettingError, match="unknown method 'alem': did you mean 'alen'"):
        draw_segmentation(IMAGES, masks, {"alen": masks}, path, by="alem")
    with pytest.raises(SettingError, match=r"worst and best must be at least 0.*got 0 and 0"):
        draw_segmentation(IMAGES, masks, {"a": masks}, path, worst=0, best=0)
    with pytest.raises(DataError, match=r"shape \(9, 6, 8\) and the predicted ones \(8, 6, 8\)"):
        draw_segmentation(IMAGES, masks, {"a": masks[1:]}, path)
    with pytest.raises(DataError, match=r"frames have shape \(9, 6, 8\)"):
        draw_refinement_frames(IMAGES, masks, masks, path)
    with pytest.raises(DataError, match="truths must be the true masks"):
        draw_segmentation(IMAGES, None, {"a": masks}, path)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"predictions must be masks by name.*got a ndarray"):
        draw_segmentation(IMAGES, masks, masks, path)  # type: ignore[arg-type]
    with pytest.raises(
        SettingError, match=r"classes must be their number, at least 2, got \['a', 'b'\]"
    ):
        draw_segmentation(IMAGES, masks, {"a": masks}, path, classes=["a", "b"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"expected integers from 0 to 1.*pass classes=3"):
        draw_segmentation(IMAGES, masks + 2, {"a": masks}, path)
    with pytest.raises(DataError, match=r"expected \(steps \+ 1, 9, 6, 8\), since classes=2"):
        draw_refinement_frames(IMAGES, masks, np.zeros((2, 9, 6, 8, 3)), path)
    with pytest.raises(DataError, match=r"expected integers from 0 to 1.*pass classes=3"):
        draw_refinement_frames(IMAGES, masks + 2, np.zeros((2, 9, 6, 8)), path)
    with pytest.raises(SettingError, match="steps must be from 0 to 1, the last frame, got 3"):
        draw_refinement_frames(IMAGES, masks, np.zeros((2, 9, 6, 8)), path, steps=[3])
    assert not path.exists()
