"""Estimators in model folders: what is stored, and how an estimator is made of it again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor, nn

from lossnet.errors import DataError, SettingError, unknown
from lossnet.estimators.base import LossnetEstimator
from lossnet.estimators.folder import CONFIG, entry_of, json_bytes, read_model, write_model
from lossnet.estimators.settings import check_device, describe, is_plain

E = TypeVar("E", bound=LossnetEstimator)

WEIGHTS, LABELS, HISTORY = "weights.safetensors", "labels.json", "history.json"


def save(model: LossnetEstimator, path: str | Path, *, keep_energy: bool) -> Path:
    """Write a fitted estimator's folder."""
    used = model._proposal().nets | model.method_.predict.nets
    kept = [name for name in sorted(model.nets_) if keep_energy or name in used]
    _check_unchanged(model, kept)
    tensors, facts = model._pack()
    for name in kept:
        tensors |= {f"net/{name}/{k}": v for k, v in model.nets_[name].state_dict().items()}
    labels = facts.pop("labels")
    params = model.get_params(deep=False)
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
        LABELS: json_bytes(labels),
        HISTORY: json_bytes(model.history_),
    }
    return write_model(path, config, contents)


def _check_unchanged(model: LossnetEstimator, kept: list[str]) -> None:
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
    model = _configured(cls, path, config, replace)
    try:
        tensors = safetensors.torch.load(contents[WEIGHTS])
        model.history_ = json.loads(contents[HISTORY])
        model.refine_steps_, model.refined_as_ = config["refine_steps"], config["refined_as"]
        model._unpack(tensors, {**config, "labels": json.loads(contents[LABELS])})
    except (SafetensorError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"the model in {path} is damaged: {error!r}") from error
    model.nets_ = model._build_nets(config["nets"])
    for name, net in model.nets_.items():
        _fill(net, name, tensors, path)
    model._proposal()
    return model


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
        model.method_ = model._assembled()
        check_device(model.device)
    except SettingError as error:
        raise SettingError(f"cannot load the model in {path}: {error}") from error
    return model


def _fill(net: nn.Module, name: str, tensors: Mapping[str, Tensor], path: str | Path) -> None:
    """Give the net of that name its stored weights, and freeze it."""
    prefix = f"net/{name}/"
    state = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise DataError(
            f"the weights in {path} do not fit the net {name!r}; where it was built by your own "
            f"function, pass the same one to load ({error})"
        ) from error
    net.eval().requires_grad_(False)
