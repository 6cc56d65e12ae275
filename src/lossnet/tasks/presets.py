"""``preset="paper"``: an estimator's parameters as a paper's experiments had them.

A task says in its ``papers`` what the papers set, by method and by row, which is mostly a data set:
``"paper:cal500"``; plain ``"paper"`` is the first row. ``preset="0.1"`` sets what that version had
by default, as the task's ``former`` says. ``method="auto"`` fills in the task's own choice. A
parameter that has another value than the estimator's default keeps it, and the others are filled
in; ``method_params`` override those of the preset one by one.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from lossnet.errors import SettingError, unknown
from lossnet.parameters import joined, with_value
from lossnet.ranges import Choice, Dimension
from lossnet.tasks.method_checks import check_params

NAME = "paper"
#: The method that leaves the choice to the estimator.
AUTO = "auto"


@dataclass(frozen=True)
class Row:
    """What an experiment sets: parameters of the estimator, and of the method."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    method_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Papers:
    """What the papers set for a task.

    Args:
        rows: by method's name, the rows by name; the first is that of plain ``"paper"``.
        why: why the default of a parameter is another, by its name; one of a method's part by its
            dotted name, its own name or that of the part.
    """

    rows: Mapping[str, Mapping[str, Row]] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)

    def reason(self, key: str) -> str:
        """Why the default of a parameter is not the paper's; empty where nothing is noted."""
        key = key.removeprefix("method.")
        names = key, key.rpartition(".")[2], key.partition(".")[0]
        return next((self.why[name] for name in names if name in self.why), "")


def row_of(
    preset: Any, method: Any, papers: Papers, estimator: str, former: Mapping[str, Row]
) -> Row | None:
    """The row that a preset names, None without a preset; an error where there is no such row."""
    if preset is None:
        return None
    if isinstance(preset, str) and preset in former:
        return former[preset]
    name, colon, row = preset.partition(":") if isinstance(preset, str) else ("", "", "")
    if name != NAME or (colon and not row):
        known = sorted({row for rows in papers.rows.values() for row in rows})
        listed = f" with a row of {', '.join(known)}" if known else ""
        names = ["None", *map(repr, former), repr(NAME)]
        rule = f"preset must be {', '.join(names)} or '{NAME}:ROW'{listed}"
        raise SettingError(f"{rule}, got {preset!r}")
    if not isinstance(method, str):
        raise SettingError(f"preset={preset!r} goes with a method's name, not with a Method")
    if method not in papers.rows:
        have = ", ".join(papers.rows) or "no method"
        what = f"preset={preset!r}: the papers have no settings of {method!r} for {estimator}"
        raise SettingError(f"{what}; available for: {have}")
    rows = papers.rows[method]
    if colon and row not in rows:
        raise unknown(f"row of preset {NAME!r} for {method}:", row, rows)
    return rows[row] if colon else next(iter(rows.values()))


@cache
def _defaults(estimator: type) -> dict[str, Any]:
    """The parameters of an estimator and their defaults."""
    found = inspect.signature(estimator).parameters.items()
    return {name: parameter.default for name, parameter in found}


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _is_auto(method: Any) -> bool:
    return isinstance(method, str) and method == AUTO


class WithPreset(BaseEstimator):
    """Parameters of an estimator: as given, and as a preset fills them in.

    An attribute is the parameter as ``fit`` takes it; :meth:`get_params` has it as it was given, so
    that a clone or a search can change method and preset.
    """

    #: What ``preset="paper"`` sets, by method.
    papers: ClassVar[Papers] = Papers()
    #: What the defaults of former versions set, by version.
    former: ClassVar[Mapping[str, Row]] = {}
    #: What None stands for in parameters that neither a preset nor ``"auto"`` fills in.
    otherwise: ClassVar[Mapping[str, Any]] = {}
    #: What a search tries of the estimator's own parameters, see :mod:`lossnet.ranges`.
    search_space: ClassVar[Mapping[str, Dimension]] = {"batch_size": Choice(16, 32, 64)}
    method_params: dict[str, Any] | None

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name.startswith("_") or name not in self.__dict__:
            return value
        kind: Any = type(self)
        given = self.__dict__
        if given.get("preset") is not None or _is_auto(given.get("method")):
            row = self._preset_row() or Row()
            if name in row.parameters and _is_default(value, _defaults(kind)[name]):
                value = row.parameters[name]
        return kind.otherwise.get(name) if value is None else value

    def _preset_row(self, *, strict: bool = False) -> Row | None:
        """What the preset sets; None without one and, unless ``strict``, where it is an error.

        A loaded model has its parameters as it was trained with, whatever the preset is now.
        """
        given = self.__dict__
        if "preset_settled_" in given:
            return None
        method, preset, kind = given.get("method"), given.get("preset"), type(self)
        automatic = self._automatic(given) if _is_auto(method) else None
        if preset is None:
            return automatic
        name = method if automatic is None else automatic.parameters["method"]
        try:
            row = row_of(preset, name, kind.papers, kind.__name__, kind.former)
            return row and replace(row, parameters={"method": name, **row.parameters})
        except SettingError:
            if strict:
                raise
            return None

    def _automatic(self, given: Mapping[str, Any]) -> Row:
        """What ``method="auto"`` sets beside the parameters given: the method, and others."""
        raise SettingError(f"{type(self).__name__} needs a method's name, got {AUTO!r}")

    def _searched(self) -> dict[str, Dimension]:
        """``search_space`` without the parameters that the preset or ``"auto"`` decides."""
        row = self._preset_row()
        decided = {} if row is None else row.parameters
        return {name: each for name, each in self.search_space.items() if name not in decided}

    def _effective_params(self) -> dict[str, Any]:
        """Every parameter, those that the preset fills in as ``fit`` takes them."""
        return {name: getattr(self, name) for name in self.get_params(deep=False)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters as given; with ``deep`` the method's own as ``method__name``.

        Those of its parts are ``method__part__name``.
        """
        read = super().get_params(deep=False).items()
        params: dict[str, Any] = {name: self.__dict__.get(name, value) for name, value in read}
        if deep and isinstance(own := params.get("method_params"), Mapping):
            params |= dict(joined("method", own))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``method__name=value`` sets one of the method's own.

        ``method__energy_optimiser__lr=1e-3`` sets one of a part, at any depth.
        """
        own = {key: value for key, value in params.items() if not key.startswith("method__")}
        super().set_params(**own)
        # A part before its own parameters.
        for key in sorted(params.keys() - own.keys(), key=len):
            given = self.__dict__.get("method_params")
            check_params(given)
            path = key.removeprefix("method__").split("__")
            self.method_params = with_value(given or {}, path, params[key])
        return self
