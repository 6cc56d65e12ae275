"""Recipes: every method by name, each a short assembly of the shared parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from lossnet.errors import unknown
from lossnet.method import Method
from lossnet.parameters import convert_all, listed
from lossnet.recipes.alen import aen, alen
from lossnet.recipes.chains import crf, ssvm
from lossnet.recipes.cross_entropy import cross_entropy, structured_tuning, task_ranking
from lossnet.recipes.energy_networks import dvn, nce_energy, residual, spen, spen_e2e
from lossnet.recipes.implicit import implicit_cd, implicit_dvn, implicit_nce, implicit_ssvm
from lossnet.recipes.infnet import infnet, infnet_plus
from lossnet.recipes.seal import (
    seal_margin,
    seal_nce,
    seal_ranking,
    seal_regression,
    seal_regression_s,
)
from lossnet.recipes.seal_static import seal_static_margin, seal_static_nce, seal_static_regression
from lossnet.recipes.semi_supervised import implicit_reward, seal_reward

_RECIPES: tuple[Callable[..., Method], ...] = (
    cross_entropy, structured_tuning, task_ranking, spen, spen_e2e, dvn, nce_energy,
    seal_static_margin, seal_static_regression, seal_static_nce,
    seal_margin, seal_regression, seal_regression_s, seal_nce, seal_ranking,
    infnet, infnet_plus, alen, aen, implicit_ssvm, implicit_dvn, implicit_cd, implicit_nce,
    crf, ssvm, seal_reward, implicit_reward,
)  # fmt: skip
#: Every method by name.
METHODS = {recipe.__name__.replace("_", "-"): recipe for recipe in _RECIPES}


def build(name: str, *overrides: Mapping[str, Any] | None) -> Method:
    """The method of that name, its defaults changed by the overrides in turn.

    >>> build("seal-nce", {"samples": 40, "energy_optimiser": {"lr": 5e-3}}).name
    'seal-nce'
    """
    given = parameters(name, *overrides)
    return METHODS[name](**given)


def parameters(name: str, *overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters of a method: its defaults changed by the overrides in turn.

    A part is changed by a mapping of its own parameters, by the name of another kind, by a mapping
    with a ``kind``, or replaced by a part.
    """
    hints, found = dict(_hints(name)), defaults(name)
    for given in overrides:
        found |= convert_all(name, hints, found, given or {})
    return found


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a method and their defaults."""
    return {key: p.default for key, p in _signature(name).parameters.items()}


def listing(name: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any, Sequence[Any]]]:
    """Every parameter, nested ones by dotted names: its name, value, and choices if there are."""
    for key, hint in _hints(name):
        yield from listed(key, hint, values[key])


def summary(name: str) -> str:
    """The first line of a method's description."""
    return (inspect.getdoc(METHODS[name]) or "").splitlines()[0]


def methods_for(provides: Collection[str]) -> list[str]:
    """The methods that a task which provides so much can train, with their defaults."""
    return [name for name in METHODS if build(name).needs <= set(provides)]


def methods_needing(need: str) -> list[str]:
    """The methods that need it, with their defaults."""
    return [name for name in METHODS if need in build(name).needs]


def _signature(name: str) -> inspect.Signature:
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return inspect.signature(METHODS[name], eval_str=True)


def _hints(name: str) -> list[tuple[str, Any]]:
    return [(key, p.annotation) for key, p in _signature(name).parameters.items()]


__all__ = [
    "METHODS",
    "build",
    "defaults",
    "listing",
    "methods_for",
    "methods_needing",
    "parameters",
    "residual",
    "summary",
    *(recipe.__name__ for recipe in _RECIPES),
]
