"""Search spaces: every method has one, of parameters that exist and values that are valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from lossnet import MultiLabelClassifier, TextClassifier
from lossnet.errors import SettingError
from lossnet.ranges import Around, Choice, Range, declared
from lossnet.recipes import METHODS, defaults, listing, methods_for, parameters
from lossnet.searching import space_of
from lossnet.searching.space import settable, start_of, with_values
from lossnet.tasks.registry import BUILT_IN, task_named


@pytest.mark.parametrize("name", METHODS)
def test_every_method_declares_a_space_of_its_own_parameters(name) -> None:
    space = declared(METHODS[name])
    known = {key: value for key, value, _ in listing(name, parameters(name))}
    assert space.keys() <= known.keys()
    optimisers = [key for key in defaults(name) if key in ("task_optimiser", "energy_optimiser")]
    assert {f"{key}.lr" for key in optimisers} <= space.keys()
    # The recipe's own default can be drawn, so that a search can start with it.
    assert all(each.including(known[key]) is not None for key, each in space.items())


@pytest.mark.parametrize("name", METHODS)
def test_spaces_are_valid(name) -> None:
    kinds = [task_named(task).estimator for task in BUILT_IN]
    kind = next(kind for kind in kinds if name in methods_for(kind.provides))
    model = kind(name, random_state=0)
    space = space_of(model)  # which checks the ends of every range, and every choice
    assert {f"method.{key}" for key in declared(METHODS[name])} <= space.keys()
    assert start_of(model, space).keys() == space.keys()
    for end in (0, -1):
        values = {key: drawn.ends[end] for key, drawn in space.items()}
        with_values(model, values)._check_settings()


@pytest.mark.parametrize("task", BUILT_IN)
def test_every_task_has_a_space(task) -> None:
    kind = task_named(task).estimator
    space = space_of(kind("cross-entropy"))
    assert {"batch_size", "dropout"} < {*kind.search_space} <= space.keys()


def test_ranges_reach_to_the_default() -> None:
    assert Range(1, 3).including(5) == Range(1, 5)
    assert Range(0.1, 1.0, log=True).including(0.0) is None
    assert Range(0.0, 1.0).including(None) is None
    assert Around(10).including(0.02) == Range(0.002, 0.2, log=True)
    assert Around(10).including(0.0) is None
    assert Choice(16, 32).including(64).values == (16, 32, 64)
    assert Choice((8,), (16,)).including((8,)).values == ([8], [16])
    assert Range(1, 3).integers
    assert not Range(1.0, 3.0).integers


def test_ranges_that_are_none_are_refused() -> None:
    for make in (lambda: Range(1, 1), lambda: Range(0.0, 1.0, log=True), lambda: Choice(1)):
        with pytest.raises(SettingError):
            make()
    with pytest.raises(SettingError, match="low to high"):
        Range(float("nan"), 1.0)


def test_what_is_set_stays() -> None:
    model = MultiLabelClassifier("seal-nce", dropout=0.1, method_params={"samples": 7})
    space = space_of(model, fixed=["hidden"])
    assert not {"dropout", "hidden", "method.samples"} & space.keys()
    assert "batch_size" in space
    again = space_of(model, {"method.samples": Range(5, 9)})
    assert again["method.samples"] == Range(5, 9)


def test_what_the_preset_decides_stays() -> None:
    assert "batch_size" not in space_of(MultiLabelClassifier("auto"))
    assert "hidden" not in space_of(MultiLabelClassifier("seal-nce", preset="paper"))


def test_defaults_of_the_task_count() -> None:
    model = TextClassifier("seal-nce")
    values, space = settable(model), space_of(model)
    assert values["method.energy_weight"] == 2.0
    assert space["method.energy_weight"] == Range(0.4, 10.0, log=True)
    assert values["dropout"] == 0.75


def test_changes_are_checked() -> None:
    model = MultiLabelClassifier("seal-nce")
    with pytest.raises(SettingError, match=r"did you mean 'method\.samples'"):
        space_of(model, {"method.sampels": Range(1, 2)})
    with pytest.raises(SettingError, match="dropout must be a number from 0 to below 1"):
        space_of(model, {"dropout": Range(0.0, 1.5)})
    with pytest.raises(SettingError, match="unknown parameter of the search space 'metric'"):
        space_of(model, {"metric": Choice("map", "example-f1")})
    with pytest.raises(SettingError, match="above 0 to search around"):
        space_of(model, {"input_dropout": Around(10)})
    # A weight is no integer, whatever its ends look like.
    assert not space_of(model, {"method.energy_weight": Range(1, 5)})[
        "method.energy_weight"
    ].integers


def test_the_docs_list_every_space() -> None:
    """``docs/search.md`` has a row for each method: what is tried besides the optimisers."""
    page = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")
    for name, recipe in METHODS.items():
        shared = ("task_optimiser.", "energy_optimiser.")
        own = {k: str(v) for k, v in declared(recipe).items() if not k.startswith(shared)}
        words = [f"`{key}` {_words(shown)}" for key, shown in own.items()]
        assert f"| `{name}` | {', '.join(words) or '–'} |" in page


def _words(shown: str) -> str:
    return "around" if shown.startswith("default / 5") else shown.replace(":log", " (log)")
