"""What the folder of a multi-label model holds in addition to its nets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.constraints import bind, plain
from lossnet.errors import DataError
from lossnet.files import check_form
from lossnet.nets import Forest
from lossnet.tasks.model_folder import CONFIG, LABELS
from lossnet.tasks.multilabel.encoding import ENCODING_FORM, Encoding
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.multilabel.targets import LABELS_FORM, Labels
from lossnet.tasks.standardiser import Standardiser, vector

_KNOWN = "constraints/known"
_TREES = "trees/"
_JOINT, _NET = "joint/", "net/"


def pack(model: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and readable facts of a fitted classifier."""
    tensors = {
        "threshold": torch.as_tensor(np.asarray(model.threshold_, dtype=np.float64)),
        "imputer/means": torch.as_tensor(model.imputer_.means),
        "label_sets": torch.as_tensor(model.label_sets_),
    }
    if model.standardiser_ is not None:
        tensors |= model.standardiser_.tensors()
    if hasattr(model, "trees_"):
        tensors |= {f"{_TREES}{name}": one for name, one in model.trees_.tensors().items()}
    if len(model.constraints_.known):
        tensors[_KNOWN] = torch.as_tensor(model.constraints_.known)
    names = model.encoding_.names
    facts = {
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else list(names),
        "feature_names_in": hasattr(model, "feature_names_in_"),
        "categories": model.encoding_.to_json(),
        "best_metric": model.best_metric_,
        "trees_share": getattr(model, "trees_share_", None),
        "labels": replace(model.labels_, names=list(model.label_names_)).to_json(),
        "bound": plain(model.constraints_.declared),
    }
    if hasattr(model, "joint_"):
        own, facts["joint"] = pack(model.joint_)
        energy = model.joint_.nets_["energy"].state_dict()
        own |= {f"{_NET}{name}": one for name, one in energy.items()}
        tensors |= {f"{_JOINT}{name}": one for name, one in own.items()}
    return tensors, facts


def unpack(model: Any, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Restore what :func:`pack` gave."""
    form = {"features": int, "feature_names": (None, [str]), "best_metric": (None, float)}
    form |= {"feature_names_in": bool, "categories": ENCODING_FORM, "trees_share": (None, float)}
    check_form(facts, {**form, "bound": [{str: list}]}, CONFIG)
    check_form(facts["labels"], LABELS_FORM, LABELS)
    model._set_labels(Labels.from_json(facts["labels"]))
    rules = facts["bound"] if model.constraints is None else model.constraints
    model.constraints_ = bind(rules, model.label_names_, known=tensors.get(_KNOWN))
    model.n_features_in_, names = facts["features"], facts["feature_names"]
    if names is not None and len(names) != model.n_features_in_:
        raise DataError(f"{len(names)} feature names for {model.n_features_in_} features")
    if facts["feature_names_in"]:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.encoding_ = Encoding.from_json(model.n_features_in_, facts["categories"], names)
    width = model.encoding_.width
    model.best_metric_ = facts["best_metric"]
    model.label_sets_ = tensors["label_sets"].numpy()
    if model.label_sets_.ndim != 2 or model.label_sets_.shape[1] != model.n_labels_:
        raise DataError(f"label_sets has shape {model.label_sets_.shape}, not one set a row")
    model.threshold_ = _threshold(model, tensors["threshold"].numpy(), facts["parameters"])
    model.imputer_ = Imputer(vector(tensors, "imputer/means", width))
    model.standardiser_ = Standardiser.from_tensors(tensors, width)
    if (share := facts["trees_share"]) is not None:
        if not 0 <= share <= 1:
            raise DataError(f"the trees' share is {share}, not a number from 0 to 1")
        own = {name: tensors[f"{_TREES}{name}"] for name in Forest.NAMES}
        model.trees_ = Forest(own, features=width, labels=model.n_labels_)
        model.trees_share_ = share
    if (about := facts.get("joint")) is not None:
        check_form(about, {str: object}, CONFIG)
        model.joint_ = _joint(model, _below(_JOINT, tensors), about)


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): one for k, one in tensors.items() if k.startswith(prefix)}


def _joint(model: Any, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Any:
    """The fitted joint around a model's outputs, with the model's constraints."""
    from lossnet.tasks.multilabel.logit_classifier import LogitClassifier

    same = "metric", "threshold", "decode_samples", "device"
    joint = LogitClassifier(**{name: getattr(model, name) for name in same})
    joint.method_ = joint._check_settings()
    unpack(joint, tensors, {**facts, "parameters": {}})
    if joint.label_names_ != model.label_names_:
        raise DataError("the joint has other labels than the model")
    joint.constraints_ = model.constraints_
    joint.temperature_ = joint.refine_steps_ = joint.refined_as_ = None
    joint.nets_ = joint._build_nets(joint.method_.nets)
    joint.nets_["energy"].load_state_dict(_below(_NET, tensors))
    for net in joint.nets_.values():
        net.eval().requires_grad_(False)
    joint.decision_, joint.history_ = model.decision_, []
    return joint


def _threshold(model: Any, stored: np.ndarray, parameters: Mapping[str, Any]) -> Any:
    """The stored threshold, or the number that was given in its place."""
    if stored.shape not in ((), (model.n_labels_,)):
        raise DataError(f"the threshold has shape {stored.shape}, not one for each label")
    given = model.threshold
    if not isinstance(given, str) and given != parameters.get("threshold", given):
        return float(given)
    return float(stored) if stored.ndim == 0 else stored
