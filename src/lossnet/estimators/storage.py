"""Model folders: a readable config, safetensors weights, label names; never a pickle."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sklearn.utils.validation import check_is_fitted

import lossnet
from lossnet.errors import DataError, SettingError
from lossnet.estimators.inputs import Standardiser
from lossnet.files import read_json, write_json, write_whole

if TYPE_CHECKING:
    from lossnet.estimators.multilabel import MultiLabelClassifier

CONFIG, WEIGHTS, LABELS, HISTORY = (
    "config.json",
    "weights.safetensors",
    "labels.json",
    "history.json",
)


def save(model: MultiLabelClassifier, path: str | Path, *, keep_energy: bool) -> Path:
    """Write the model's folder; the config, which names the weights' checksum, goes last."""
    check_is_fitted(model, "nets_")
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; give a folder to write the model to")
    used = model._proposal().nets | model.method_.predict.nets
    kept = [name for name in sorted(model.nets_) if keep_energy or name in used]
    tensors = {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name in kept
        for key, value in model.nets_[name].state_dict().items()
    }
    tensors["threshold"] = torch.as_tensor(np.asarray(model.threshold_, dtype=np.float64))
    if model.standardiser_ is not None:
        tensors["standardiser/mean"] = torch.as_tensor(model.standardiser_.mean)
        tensors["standardiser/scale"] = torch.as_tensor(model.standardiser_.scale)
    weights = write_whole(folder / WEIGHTS, lambda temporary: save_file(tensors, temporary))
    write_json(folder / LABELS, model.label_names_)
    write_json(folder / HISTORY, model.history_)
    write_json(
        folder / CONFIG,
        {
            "lossnet": lossnet.__version__,
            "estimator": type(model).__name__,
            "parameters": model._readable_params(),
            "nets": kept,
            "features": int(model.n_features_in_),
            "feature_names": _names(model),
            "best_metric": model.best_metric_,
            "weights_sha256": _checksum(weights),
        },
    )
    return folder


def load(
    cls: type[MultiLabelClassifier], path: str | Path, replace: dict[str, Any]
) -> MultiLabelClassifier:
    """Build the estimator a folder describes and fill in its weights."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a model folder: it does not exist or is a file")
    config = read_json(folder / CONFIG)
    weights = folder / WEIGHTS
    try:
        damaged = _checksum(weights) != config["weights_sha256"]
        tensors = {} if damaged else load_file(weights)
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise DataError(f"cannot read the model in {folder}: {error}") from error
    if damaged:
        raise DataError(f"{weights} is damaged: its checksum is not the one in {CONFIG}")
    parameters = {**config["parameters"], **replace}
    known = cls._get_param_names()
    for name in set(parameters) - set(known):
        raise SettingError(f"{folder / CONFIG} has an unknown parameter {name!r}")
    model = cls(**parameters)
    model.n_features_in_ = config["features"]
    if config["feature_names"] is not None:
        model.feature_names_in_ = np.array(config["feature_names"], dtype=object)
    model.label_names_ = read_json(folder / LABELS)
    model.n_labels_ = len(model.label_names_)
    model.classes_ = [np.array([0, 1])] * model.n_labels_
    model.history_ = read_json(folder / HISTORY)
    model.best_metric_ = config["best_metric"]
    model.method_ = model._check_settings()
    threshold = tensors.pop("threshold").numpy()
    model.threshold_ = float(threshold) if threshold.ndim == 0 else threshold
    mean, scale = tensors.pop("standardiser/mean", None), tensors.pop("standardiser/scale", None)
    model.standardiser_ = (
        None if mean is None or scale is None else Standardiser(mean.numpy(), scale.numpy())
    )
    model.nets_ = {}
    for name in config["nets"]:
        net = model._build_net(name)
        state = {
            k.removeprefix(f"{name}/"): v for k, v in tensors.items() if k.startswith(f"{name}/")
        }
        try:
            net.load_state_dict(state)
        except RuntimeError as error:
            raise DataError(
                f"the weights in {folder} do not fit the net {name!r}; where it was built by your "
                f"own function, pass the same one to load ({error})"
            ) from error
        model.nets_[name] = net.eval().requires_grad_(False).to(model.device)
    return model


def _names(model: MultiLabelClassifier) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
