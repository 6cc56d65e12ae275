"""Recipes: every method by name, each a short assembly of the shared parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lossnet.errors import SettingError, unknown
from lossnet.method import Method
from lossnet.recipes.alen import aen, alen
from lossnet.recipes.chains import crf, ssvm
from lossnet.recipes.cross_entropy import cross_entropy, task_ranking
from lossnet.recipes.energy_networks import dvn, nce_energy, spen, spen_e2e
from lossnet.recipes.implicit import implicit_cd, implicit_dvn, implicit_nce, implicit_ssvm
from lossnet.recipes.infnet import infnet, infnet_plus
from lossnet.recipes.seal import (
    seal_margin,
    seal_nce,
    seal_ranking,
    seal_regression,
    seal_regression_s,
)
from lossnet.recipes.seal_static import (
    seal_static_margin,
    seal_static_nce,
    seal_static_regression,
)
from lossnet.recipes.semi_supervised import implicit_reward, seal_reward

RECIPES: dict[str, Callable[..., Method]] = {
    "cross-entropy": cross_entropy,
    "task-ranking": task_ranking,
    "spen": spen,
    "spen-e2e": spen_e2e,
    "dvn": dvn,
    "nce-energy": nce_energy,
    "seal-static-margin": seal_static_margin,
    "seal-static-regression": seal_static_regression,
    "seal-static-nce": seal_static_nce,
    "seal-margin": seal_margin,
    "seal-regression": seal_regression,
    "seal-regression-s": seal_regression_s,
    "seal-nce": seal_nce,
    "seal-ranking": seal_ranking,
    "infnet": infnet,
    "infnet-plus": infnet_plus,
    "alen": alen,
    "aen": aen,
    "implicit-ssvm": implicit_ssvm,
    "implicit-dvn": implicit_dvn,
    "implicit-cd": implicit_cd,
    "implicit-nce": implicit_nce,
}


#: Methods for sequences of tags alone: an energy whose partition function can be computed, or a
#: reward of tagged sentences.
SEQUENCE_ONLY: dict[str, Callable[..., Method]] = {
    "crf": crf,
    "ssvm": ssvm,
    "seal-reward": seal_reward,
    "implicit-reward": implicit_reward,
}
#: Every method.
METHODS = RECIPES | SEQUENCE_ONLY


def build(name: str, parameters: Mapping[str, Any] | None = None) -> Method:
    """The method of that name, with these parameters in place of its defaults.

    >>> build("seal-nce", {"samples": 40}).name
    'seal-nce'
    """
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    known = defaults(name)
    for key, value in (parameters or {}).items():
        if key not in known:
            raise unknown(f"parameter of {name}", key, known)
        _check_type(name, key, value, known[key])
    return METHODS[name](**(parameters or {}))


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a method and their defaults."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    signature = inspect.signature(METHODS[name])
    return {key: parameter.default for key, parameter in signature.parameters.items()}


def summary(name: str) -> str:
    """The first line of a method's description."""
    return (inspect.getdoc(METHODS[name]) or "").splitlines()[0]


def _check_type(method: str, key: str, value: Any, default: Any) -> None:
    wanted: tuple[type, ...] = (type(default),)
    if isinstance(default, float):
        wanted = (float, int)
    if isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, wanted):
        raise SettingError(
            f"{key} of {method} is {value!r}; give a value of type {type(default).__name__}, "
            f"such as {default!r}"
        )


__all__ = [
    "METHODS",
    "RECIPES",
    "SEQUENCE_ONLY",
    "build",
    "defaults",
    "summary",
    *(recipe.__name__ for recipe in METHODS.values()),
]
