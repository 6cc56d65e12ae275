"""Settings of a run: from a config file and from ``--set``, checked against what exists.

A key is a parameter of the estimator (``max_epochs``), ``method`` or ``seed``, or a parameter of
the method (``method.samples``) or of its parts (``method.energy_optimiser.lr``). A config file may
also nest: ``method: {name: seal-nce, energy_optimiser: {lr: 1e-3}}``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.plain import parse_json, parse_yaml
from lossnet.errors import DataError, SettingError, unknown

if TYPE_CHECKING:
    from lossnet.tasks.task import Task

#: Parameters of the estimators that have an option of their own.
ELSEWHERE = frozenset({"method", "method_params", "random_state", "verbose"})
#: Config files are small; a larger file is something else.
LARGEST_FILE = 100_000


@dataclass(frozen=True)
class Settings:
    """What a run is started with.

    Args:
        task: whose estimator is trained.
        method: the method's name.
        method_params: its parameters that override defaults.
        parameters: the estimator's parameters that override defaults.
        seed: of all randomness.
    """

    task: Task
    method: str
    method_params: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def estimator(self, *, verbose: int = 0) -> Any:
        """The estimator with these settings, checked."""
        kind: Any = self.task.estimator
        own = {"method_params": self.method_params or None, **self.parameters}
        model = kind(self.method, random_state=self.seed, verbose=verbose, **own)
        model._check_settings()
        self._check_kept(model)
        return model

    @property
    def given(self) -> list[str]:
        """Names of the parameters that override defaults, a method's as ``method.name``."""
        from lossnet.parameters import joined

        own = [key.replace("__", ".") for key, _ in joined("method", self.method_params)]
        return [*self.parameters, *own]

    def _check_kept(self, model: Any) -> None:
        """Raise where a preset replaces a value that was given, because it is the default's."""
        for name, value in self.parameters.items():
            if name != "preset" and (found := getattr(model, name)) != value:
                which = f"{name}={value!r} is the default, which preset {model.preset!r} replaces"
                raise SettingError(f"{which} by {found!r}; leave it out, or give another value")


def resolve(
    task: Task,
    args: argparse.Namespace,
    *,
    method: str | None = None,
    seed: int | None = None,
    pairs: Sequence[str] | None = None,
) -> Settings:
    """Join config file, ``--set`` and other options; a later one overrides an earlier one.

    Args:
        task: whose settings they are.
        args: the command's options.
        method: the method's name, in place of the one that is set.
        seed: the seed, in place of the one that is set.
        pairs: ``key=value`` texts in place of those of ``--set``.
    """
    from lossnet.parameters import with_value

    values = read_config(args.config) if args.config else {}
    values |= parse_pairs(args.settings if pairs is None else pairs) | task.parameters(args)
    own_options = {name: vars(args).get(name) for name in ("decode", "preset")}
    given = {"method": method, "seed": seed, **own_options}
    values |= {key: value for key, value in given.items() if value is not None}
    name = values.pop("method", None) or _defaults(task)["method"]
    check_method_name(task, str(name))
    number = values.pop("seed", 0)
    if type(number) is not int or number < 0:
        raise SettingError(f"seed must be an integer of at least 0, got {number!r}")
    own: dict[str, Any] = {}
    for key in [key for key in values if key.startswith("method.")]:
        own = with_value(own, key.split(".")[1:], values.pop(key))
    _check_names(values, task, method=name)
    settings = Settings(task, name, own, values, number)
    settings.estimator()
    return settings


def check_method_name(task: Task, name: str) -> None:
    """Raise on a name that no method has; ``"auto"`` is one where it is the task's default."""
    from lossnet.recipes import METHODS, methods_for
    from lossnet.tasks.presets import AUTO

    automatic = [AUTO] if _defaults(task)["method"] == AUTO else []
    if name not in METHODS and name not in automatic:
        raise unknown("method", name, [*automatic, *methods_for(task.estimator.provides)])


def _check_names(names: Iterable[str], task: Task, *, method: str) -> None:
    """Raise on a name that is not a parameter of the task's estimator."""
    from lossnet.recipes import defaults
    from lossnet.tasks.presets import AUTO

    if method == AUTO:
        kind: Any = task.estimator
        method = kind(AUTO).method
    known = sorted(set(_defaults(task)) - ELSEWHERE - task.not_in_files)
    for name in [name for name in names if name not in known]:
        if name.partition(".")[0] in defaults(method):
            raise SettingError(f"{name} is a parameter of {method}: write method.{name}")
        raise unknown("setting", name, [*known, "method", "seed"])


def parse_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """``key=value`` texts as a mapping, the values read as YAML; the last of a key counts.

    >>> parse_pairs(["hidden=[200,200]", "method.energy_weight=1e-3"])
    {'hidden': [200, 200], 'method.energy_weight': 0.001}
    """
    values = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise SettingError(f"--set {pair}: expected KEY=VALUE, such as max_epochs=30")
        values[key.strip()] = parse_yaml(text, f"--set {pair}")
    return values


def read_config(path: str | Path) -> dict[str, Any]:
    """The flat settings of a .yaml, .yml or .json file."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".yaml", ".yml", ".json"):
        raise DataError(f"{path}: a config file must end in .yaml or .json")
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read the config file {path}: {error}") from error
    if len(text) > LARGEST_FILE:
        raise DataError(f"{path} is not a config file: it has more than {LARGEST_FILE:,} bytes")
    content = (parse_json if kind == ".json" else parse_yaml)(text, str(path))
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise DataError(f"{path} must hold settings by name, such as max_epochs: 30")
    # method: {name: a, samples: 40} is method: a and method.samples: 40.
    if isinstance(content.get("method"), dict):
        own = content.pop("method").items()
        content |= {"method" if key == "name" else f"method.{key}": value for key, value in own}
    return content


def _defaults(task: Task) -> dict[str, Any]:
    """The estimator's parameters and their defaults."""
    import inspect

    signature = inspect.signature(task.estimator)
    return {name: parameter.default for name, parameter in signature.parameters.items()}
