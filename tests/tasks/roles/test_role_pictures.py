"""Pictures of roles: what is shown, and that anything can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from role_examples import small_roles

from lossnet.errors import DataError, SettingError
from lossnet.tasks.roles import RoleData, draw_roles
from lossnet.tasks.roles.role_pictures import chosen_rows, colour_of


def test_violations_come_first_then_errors() -> None:
    words = [[f"s{k}", "runs", "far"] for k in range(3)]
    gold = [["B-ARG0", "B-V", "O"]] * 3
    data = RoleData.of(words, [1] * 3, gold)
    predicted = [gold[0], ["O", "B-V", "B-ARG0"], ["B-ARG0", "B-V", "B-ARG0"]]
    assert chosen_rows(data, [predicted], 3, 1) == [[2], [1], [0]]
    assert chosen_rows(data, [predicted], 1, 1) == [[2]]


def test_predicates_without_roles_are_left_out() -> None:
    words = [["I", "have", "seen", "it"]] * 2
    gold = [["O", "B-V", "O", "O"], ["B-ARG0", "O", "B-V", "B-ARG1"]]
    data = RoleData.of(words, [1, 2], gold)
    assert chosen_rows(data, [gold], 1, 3) == [[1]]


def test_colours_go_with_roles() -> None:
    assert colour_of("ARG1") == colour_of("A1") == colour_of("C-ARG1") == colour_of("R-ARG1")
    assert colour_of("ARG0") != colour_of("ARG1")
    assert colour_of("ARGM-TMP") != colour_of("ARGM-LOC")


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_of_two_models(tmp_path: Path, suffix: str) -> None:
    data = small_roles(6)
    wrong = [["O" if tag != "B-V" else tag for tag in tags] for tags in data.tags or []]
    path = tmp_path / f"roles.{suffix}"
    predictions = {"one": data.tags, "two": wrong}
    assert draw_roles(data, predictions, path, title="Two models") == path
    assert path.stat().st_size > 3000


def test_long_sentences_and_long_words(tmp_path: Path) -> None:
    words = ["x" * 500, *(f"word{k}" for k in range(80)), "$a_b$"]
    tags = ["B-ARG0", "B-V", *["B-ARG1" if k % 40 == 0 else "I-ARG1" for k in range(80)]]
    data = RoleData.of([words], [1], [tags])
    draw_roles(data, {"model": [tags]}, tmp_path / "long.png", width=6)
    assert (tmp_path / "long.png").stat().st_size > 3000


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    data = small_roles(3)
    with pytest.raises(DataError, match="needs their truth"):
        draw_roles(data.without_labels(), {"a": data.tags}, tmp_path / "a.png")
    with pytest.raises(DataError, match="tags of the same 3 predicates"):
        draw_roles(data, {"a": (data.tags or [])[:2]}, tmp_path / "a.png")
    with pytest.raises(SettingError, match="sentences must be an integer of at least 1, got 0"):
        draw_roles(data, {"a": data.tags}, tmp_path / "a.png", sentences=0)
