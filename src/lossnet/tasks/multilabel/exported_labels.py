"""What is exported of a classifier: rows to probabilities as a net, and how labels are decided."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnet.errors import SettingError
from lossnet.exporting import Exported, Input, runtime_files
from lossnet.exporting.predicting import Predicting
from lossnet.nets import Forest
from lossnet.tasks.multilabel.decisions import beta_of
from lossnet.tasks.multilabel.formats.coding import YES_NO
from lossnet.tasks.multilabel.logits import FLOOR
from lossnet.tasks.multilabel.metrics import get_metric
from lossnet.tasks.multilabel.trees import votes_as_columns

_READS = "features in the columns of training: .npy, .npz (X, or a scipy CSR matrix), .csv or .tsv"


class RowsToLabels(nn.Module):
    """Rows as users have them, NaN where a number is missing, to probabilities and logits.

    Args:
        net: from what the nets see to logits.
        means: what stands for missing numbers.
        mean, scale: of the standardiser; None without one.
        trees: the forest that votes beside the nets; None without one.
    """

    means: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(
        self, net: Predicting, means: np.ndarray, standardiser: Any, trees: Forest | None
    ) -> None:
        super().__init__()
        self.net, self.trees, self.scaled = net, trees, standardiser is not None
        self.register_buffer("means", torch.as_tensor(means))
        if self.scaled:
            self.register_buffer("mean", torch.as_tensor(standardiser.mean))
            self.register_buffer("scale", torch.as_tensor(standardiser.scale))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Probabilities and logits ``(B, L)``."""
        x = torch.where(features.isnan(), self.means, features)
        if self.scaled:
            x = (x - self.mean) / self.scale
        if self.trees is not None:
            x = torch.cat([x, votes_as_columns(self.trees(x))], 1)
        logits = self.net(x)
        return self.net.space.relax(logits), logits


def exported(model: Any) -> Exported:
    """A fitted classifier."""
    hierarchy = _hierarchy(model)
    net = Predicting(model.nets_, model._proposal().net, model._output()[1])
    trees = getattr(model, "trees_", None)
    rows = RowsToLabels(net, model.imputer_.means, model.standardiser_, trees)
    decision, encoding, classes = model._decision(), model.encoding_, model.labels_.classes
    facts = {
        "labels": list(model.label_names_),
        "classes": None if classes is None else classes.tolist(),
        "features": encoding.columns,
        "feature_names": None if encoding.names is None else list(encoding.names),
        "categories": encoding.to_json(),
        "yes_no": YES_NO,
        "decision": decision.to_json(),
        "beta": beta_of(get_metric(model.metric)),
        "temperature": model.temperature_,
    }
    threshold = np.asarray(model._raw(model.threshold_), dtype=np.float64)
    sets = {"label_sets": model.label_sets_} if decision.rule == "known" else {}
    if decision.weight:
        facts["floor"] = FLOOR
        sets |= model.joint_.scores_of_known(decision.weight)
    return Exported(
        rows,
        {"features": Input(torch.zeros(3, encoding.width), (0,))},
        ("probabilities", "logits"),
        "label_sets:LabelModel",
        runtime_files("label_sets", "columns", "best_sets"),
        facts,
        {"threshold": threshold, **sets, **hierarchy},
        _READS,
    )


def _hierarchy(model: Any) -> dict[str, np.ndarray]:
    """The parent of each label, where predictions keep to that; an error for other constraints."""
    bound = model.constraints_
    if not bound:
        return {}
    name, rule = type(model).__name__, model._decision().rule
    if bound.hierarchy is None:
        what = "predictions keep to constraints that are no hierarchy, which takes a solver"
        remedy = "set constraints=[] to export it without them, or serve lossnet"
        raise SettingError(f"cannot export {name}: {what}; {remedy}")
    if rule != model.usual_rule:
        what = f"it decides by {rule!r} among the sets that keep to a hierarchy"
        raise SettingError(f"cannot export {name}: {what}; set decode={model.usual_rule!r}")
    return {"parent": bound.hierarchy}
