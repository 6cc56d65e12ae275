"""Estimators in model folders: what is stored, and how an estimator is made of it again."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor, nn

from lossnet.checks import describe, is_plain
from lossnet.errors import DataError, LossnetError, SettingError, unknown
from lossnet.files import check_form
from lossnet.tasks import model_folder
from lossnet.tasks.decision import Decision
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.model_folder import CONFIG, HISTORY, WEIGHTS, entry_of, json_bytes
from lossnet.tasks.networks import shapes_of, without_memory
from lossnet.training import write_history

E = TypeVar("E", bound=StructuredEstimator)

#: What damaged contents may raise before a check of ours finds them.
_DAMAGE = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError)
#: Facts with a file of their own, by that file's name.
_FACTS = {model_folder.LABELS: "labels", model_folder.VOCABULARY: "vocabulary"}
_HISTORY = [{"phase": str, "epoch": int, "seconds": float}]


def nets_in_use(model: StructuredEstimator) -> set[str]:
    """The nets that a fitted estimator's predictions need, and some that are not there."""
    used = {*model._proposal().nets, *model.method_.predict.nets}
    weighed = model.decision_.weight or model._decision().weight
    used |= {"energy"} if weighed and not hasattr(model, "joint_") else set()
    used |= {str(getattr(model.nets_[name], "reads", None)) for name in used}
    return used | {plan.base for name, plan in model.method_.derived.items() if name in used}


def save(model: StructuredEstimator, path: str | Path, *, keep_energy: bool) -> Path:
    """Write a fitted estimator's folder."""
    used = nets_in_use(model)
    kept = [name for name in sorted(model.nets_) if keep_energy or name in used]
    _check_unchanged(model, kept)
    tensors, facts = model._pack()
    for name in kept:
        tensors |= {f"net/{name}/{k}": v for k, v in model.nets_[name].state_dict().items()}
    own_files = {name: facts.pop(key) for name, key in _FACTS.items() if key in facts}
    config: dict[str, Any] = {"estimator": type(model).__name__, "parameters": {}, "objects": {}}
    for key, value in model.resolved_params().items():
        config["parameters" if is_plain(value) else "objects"][key] = describe(value)
    refined = {"refine_steps": model.refine_steps_, "refined_as": model.refined_as_}
    refined |= {"decision": model.decision_.to_json(), "temperature": model.temperature_}
    config |= {"nets": kept, **refined, **facts}
    # Cloned: safetensors takes no two tensors of one storage, such as tied weights.
    owned = {key: value.detach().cpu().clone().contiguous() for key, value in tensors.items()}
    contents = {WEIGHTS: safetensors.torch.save(owned), HISTORY: json_bytes(model.history_)}
    contents |= {name: json_bytes(value) for name, value in own_files.items()}
    folder = model_folder.write_model(path, config, contents)
    for name in model_folder.HISTORY_FILES:
        write_history(model.history_, folder / name)
    return folder


def _check_unchanged(model: StructuredEstimator, kept: list[str]) -> None:
    """Raise where the parameters, changed since ``fit``, no longer describe the fitted nets."""
    fresh = model._new_nets(kept) if model._assembled().nets == model.method_.nets else {}
    for name in kept:
        if name not in fresh or shapes_of(fresh[name]) != shapes_of(model.nets_[name]):
            what = f"the net {name!r} was fitted with other parameters than the estimator has now"
            raise SettingError(f"{what}; set them back or fit again, then save")


def _stored(net: nn.Module, name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The stored weights of the net of that name, or an error where they do not fit it."""
    prefix = f"net/{name}/"
    found = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    if shapes_of(net) != {key: tuple(tensor.shape) for key, tensor in found.items()}:
        remedy = "where it was built by your own function, pass the same one to load"
        raise DataError(f"the weights do not fit the net {name!r}; {remedy}")
    return found


def load(cls: type[E], path: str | Path, replace: dict[str, Any]) -> E:
    """Build the estimator a folder describes and fill in its weights."""
    for name in replace:
        if name not in cls._get_param_names():
            raise unknown(f"parameter of {cls.__name__}", name, cls._get_param_names())
    config, contents = model_folder.read_model(path)
    if entry_of(config, "estimator", str, path) != cls.__name__:
        raise DataError(f"{path} holds a {config['estimator']}, not a {cls.__name__}")
    with _reported(path, replace):
        model = _configured(cls, path, config, replace)
        tensors = safetensors.torch.load(contents[WEIGHTS])
        _check_finite(tensors)
        model.history_ = json.loads(contents[HISTORY])
        check_form(model.history_, _HISTORY, HISTORY)
        form = {"refine_steps": (None, int), "refined_as": (None, str), "nets": [str]}
        check_form(config, form | {"temperature": (None, float)}, CONFIG)
        model.refine_steps_, model.refined_as_ = config["refine_steps"], config["refined_as"]
        model.temperature_ = config["temperature"]
        if model.temperature_ is not None and not 0 < model.temperature_ < math.inf:
            raise DataError(f"its temperature is {model.temperature_}")
        model.decision_ = Decision.from_json(entry_of(config, "decision", dict, path))
        files = {key: contents[name] for name, key in _FACTS.items() if name in contents}
        model._unpack(tensors, {**config, **{key: json.loads(v) for key, v in files.items()}})
        _check_sizes(model, config["nets"], tensors)
        nets = model._new_nets(config["nets"])
        model.nets_ = {name: net.to(model.device) for name, net in nets.items()}
        for name, net in model.nets_.items():
            net.load_state_dict(_stored(net, name, tensors))
            net.eval().requires_grad_(False)
    model._proposal()
    return model


@contextmanager
def _reported(path: str | Path, given: Iterable[str]) -> Iterator[None]:
    """Turn what damaged contents raise into one error that names the folder."""
    try:
        yield
    except (LossnetError, SafetensorError, MemoryError, *_DAMAGE) as error:
        if isinstance(error, LossnetError) and str(path) in str(error):
            raise
        if isinstance(error.__cause__, ImportError):
            raise  # a package is missing, the folder is sound
        what = error if isinstance(error, LossnetError) else repr(error)
        cause = f", or does not fit the given {', '.join(given)}" if given else ""
        raise DataError(f"the model in {path} is damaged{cause}: {what}") from error


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
            _stored(net, name, tensors)


def _configured(
    cls: type[E], path: str | Path, config: Mapping[str, Any], replace: Mapping[str, Any]
) -> E:
    """An estimator with the stored parameters, or those given in their place, checked."""
    stored = entry_of(config, "parameters", dict, path)
    for name in stored:
        if name not in cls._get_param_names():
            written = f"{Path(path) / CONFIG}, written by lossnet {config.get('lossnet')}"
            raise SettingError(f"{written}, has the unknown parameter {name!r}")
    parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
    model = cls(**{**parameters, **replace})
    model.preset_settled_ = True  # what the preset filled in is among the stored parameters
    nets = entry_of(config, "nets", list, path)
    needed = {"method", "refine", "constraints", *(model._factory_of(name) for name in nets)}
    for name, was in entry_of(config, "objects", dict, path).items():
        what = f"the model in {path} was made with {name}={was}, which is not stored"
        if name in needed and name not in replace:
            raise SettingError(f"{what}; pass the same one: load(..., {name}=...)")
        if name not in replace:
            remedy = f"predictions do not need it, but set {name} before you fit again"
            warnings.warn(f"{what}; {remedy}", stacklevel=4)
    try:
        model.method_ = model._check_settings()
    except SettingError as error:
        raise SettingError(f"cannot load the model in {path}: {error}") from error
    return model
