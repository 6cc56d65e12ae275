"""Estimators in model folders: what is stored, and how an estimator is made of it again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor, nn

from lossnet.checks import describe, is_plain
from lossnet.errors import DataError, LossnetError, SettingError, unknown
from lossnet.files import check_form
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.model_folder import (
    CONFIG,
    HISTORY,
    LABELS,
    VOCABULARY,
    WEIGHTS,
    entry_of,
    json_bytes,
    read_model,
    write_model,
)
from lossnet.tasks.networks import without_memory

E = TypeVar("E", bound=StructuredEstimator)

#: What damaged contents may raise before a check of ours finds them.
_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError)
#: Facts with a file of their own, by that file's name.
_FACTS = {LABELS: "labels", VOCABULARY: "vocabulary"}
_HISTORY = [{"phase": str, "epoch": int, "seconds": float}]


def save(model: StructuredEstimator, path: str | Path, *, keep_energy: bool) -> Path:
    """Write a fitted estimator's folder."""
    used = model._proposal().nets | model.method_.predict.nets
    kept = [name for name in sorted(model.nets_) if keep_energy or name in used]
    _check_unchanged(model, kept)
    tensors, facts = model._pack()
    for name in kept:
        tensors |= {f"net/{name}/{k}": v for k, v in model.nets_[name].state_dict().items()}
    own_files = {name: facts.pop(key) for name, key in _FACTS.items() if key in facts}
    params = model.resolved_params()
    config = {
        "estimator": type(model).__name__,
        "parameters": {key: describe(value) for key, value in params.items() if is_plain(value)},
        "objects": {key: describe(value) for key, value in params.items() if not is_plain(value)},
        "nets": kept,
        "refine_steps": model.refine_steps_,
        "refined_as": model.refined_as_,
        **facts,
    }
    # Cloned: safetensors takes no two tensors of one storage, such as tied weights.
    owned = {key: value.detach().cpu().clone().contiguous() for key, value in tensors.items()}
    contents = {
        WEIGHTS: safetensors.torch.save(owned),
        HISTORY: json_bytes(model.history_),
        **{name: json_bytes(value) for name, value in own_files.items()},
    }
    return write_model(path, config, contents)


def _check_unchanged(model: StructuredEstimator, kept: list[str]) -> None:
    """Raise where the parameters, changed since ``fit``, no longer describe the fitted nets."""
    fresh = model._build_nets(kept) if model._assembled().nets == model.method_.nets else {}
    for name in kept:
        if name not in fresh or _shapes(fresh[name]) != _shapes(model.nets_[name]):
            raise SettingError(
                f"the net {name!r} was fitted with other parameters than the estimator has now; "
                "set them back or fit again, then save"
            )


def _shapes(net: nn.Module) -> dict[str, tuple[int, ...]]:
    return {key: tuple(tensor.shape) for key, tensor in net.state_dict().items()}


def load(cls: type[E], path: str | Path, replace: dict[str, Any]) -> E:
    """Build the estimator a folder describes and fill in its weights."""
    for name in replace:
        if name not in cls._get_param_names():
            raise unknown(f"parameter of {cls.__name__}", name, cls._get_param_names())
    config, contents = read_model(path)
    if entry_of(config, "estimator", str, path) != cls.__name__:
        raise DataError(f"{path} holds a {config['estimator']}, not a {cls.__name__}")
    with _reported(path):
        model = _configured(cls, path, config, replace)
        tensors = safetensors.torch.load(contents[WEIGHTS])
        _check_finite(tensors)
        model.history_ = json.loads(contents[HISTORY])
        check_form(model.history_, _HISTORY, HISTORY)
        form = {"refine_steps": (None, int), "refined_as": (None, str), "nets": [str]}
        check_form(config, form, CONFIG)
        model.refine_steps_, model.refined_as_ = config["refine_steps"], config["refined_as"]
        facts = {
            key: json.loads(contents[name]) for name, key in _FACTS.items() if name in contents
        }
        model._unpack(tensors, {**config, **facts})
        _check_sizes(model, config["nets"], tensors)
        model.nets_ = model._build_nets(config["nets"])
        for name, net in model.nets_.items():
            _fill(net, name, tensors)
    model._proposal()
    return model


@contextmanager
def _reported(path: str | Path) -> Iterator[None]:
    """Turn what damaged contents raise into one error that names the folder."""
    try:
        yield
    except (LossnetError, SafetensorError, MemoryError, *_DAMAGE) as error:
        if isinstance(error, LossnetError) and str(path) in str(error):
            raise
        what = error if isinstance(error, LossnetError) else repr(error)
        raise DataError(f"the model in {path} is damaged: {what}") from error


def _check_finite(tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise DataError(f"{name} holds values that are not finite; train again")


def _check_sizes(
    model: StructuredEstimator, nets: list[str], tensors: Mapping[str, Tensor]
) -> None:
    """Raise, before any memory is taken, where the config's nets are not of the stored sizes."""
    if not model.method_.predict.nets <= set(nets) <= model.method_.nets:
        raise DataError(f"its nets are {nets}")
    if any(map(model._own_factory, nets)):
        return  # a function of the user's, which may not work without memory
    with without_memory():
        for name, net in model._new_nets(nets).items():
            stored = _below(tensors, name)
            if _shapes(net) != {key: tuple(tensor.shape) for key, tensor in stored.items()}:
                raise _misfit(name)


def _configured(
    cls: type[E], path: str | Path, config: Mapping[str, Any], replace: Mapping[str, Any]
) -> E:
    """An estimator with the stored parameters, or those given in their place, checked."""
    stored = entry_of(config, "parameters", dict, path)
    for name in stored:
        if name not in cls._get_param_names():
            raise SettingError(
                f"{Path(path) / CONFIG}, written by lossnet {config.get('lossnet')}, has the "
                f"unknown parameter {name!r}"
            )
    parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
    model = cls(**{**parameters, **replace})
    nets = entry_of(config, "nets", list, path)
    needed = {"method", "refine", *(model._factory_of(name) for name in nets)}
    for name, was in entry_of(config, "objects", dict, path).items():
        if name in needed and name not in replace:
            raise SettingError(
                f"the model in {path} was made with {name}={was}, which is not stored; pass the "
                f"same one: load(..., {name}=...)"
            )
        if name not in replace:
            warnings.warn(
                f"{name}={was} of the model in {path} is not stored; predictions do not need it, "
                f"but set {name} before you fit again",
                stacklevel=4,
            )
    try:
        model.method_ = model._check_settings()
    except SettingError as error:
        raise SettingError(f"cannot load the model in {path}: {error}") from error
    return model


def _fill(net: nn.Module, name: str, tensors: Mapping[str, Tensor]) -> None:
    """Give the net of that name its stored weights, and freeze it."""
    try:
        net.load_state_dict(_below(tensors, name))
    except RuntimeError as error:
        raise _misfit(name) from error
    net.eval().requires_grad_(False)


def _below(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    prefix = f"net/{name}/"
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _misfit(name: str) -> DataError:
    return DataError(
        f"the weights do not fit the net {name!r}; where it was built by your own "
        "function, pass the same one to load"
    )
