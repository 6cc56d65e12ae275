"""What ``evaluate`` draws: models side by side, and a descent on the energy."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lossnet.errors import DataError, SettingError
from lossnet.proposals import GBI, NetOutput
from lossnet.tasks.image.metrics import image_ious
from lossnet.tasks.image.pictures import draw_refinement_frames, draw_segmentation, worst_and_best
from lossnet.tasks.image.predictions import predicted
from lossnet.tasks.task import Judged

#: Images of a refinement drawn, of the lowest and of the highest IoU.
FRAMES = 2


def draw_grid(judged: Mapping[str, Judged], path: str) -> Path:
    """Image, truth, and each model's masks; of one that refines its net's output, that too.

    The worst and best cases are those of the first model.
    """
    (first, one), *_ = judged.items()
    data = one.rows.data
    columns: dict[str, Any] = {}
    for name, (model, rows) in judged.items():
        if rows.data.size != data.size:
            raise DataError(
                f"{first} takes images of {data.size} and {name} of {rows.data.size}, and one "
                "picture shows one size; add --size"
            )
        if _starts_from_net(model):
            label = f"{name}, net" if len(judged) > 1 else "net"
            columns[label] = net_alone(model).predict(rows.data)
        label = name if len(judged) > 1 else ("refined" if _starts_from_net(model) else "predicted")
        columns[label] = predicted(model, rows.data)
        if name == first:
            by = label
    names = one.model.classes_
    return draw_segmentation(
        data.images, data.masks, columns, path, classes=len(names), names=names, by=by
    )


def draw_frames(judged: Mapping[str, Judged], path: str) -> Path:
    """The descent of the first model that predicts so, of its worst and best cases."""
    name = descending({name: one.model for name, one in judged.items()})
    model, rows = judged[name]
    count = len(model.classes_)
    ious = image_ious(rows.data.masks, predicted(model, rows.data), count)
    data = rows.data.subset(worst_and_best(ious, worst=FRAMES, best=FRAMES))
    frames = model.refinement_path(data, steps=model._proposal().steps)
    return draw_refinement_frames(
        data.images, data.masks, frames, path, classes=count, names=model.classes_
    )


def descending(models: Mapping[str, Any]) -> str:
    """The name of the first model that predicts by descending on the energy."""
    for name, model in models.items():
        if isinstance(model._proposal(), GBI):
            return name
    methods = ", ".join(model.method_.name for model in models.values())
    raise SettingError(
        f"--frames draws a descent on the energy, and {methods} predicts without one; train with "
        "--set refine=net, or a method such as alen or dvn"
    )


def net_alone(model: Any) -> Any:
    """The same model, predicting with its task-net in one pass."""
    return copy.copy(model).set_params(refine=NetOutput())


def _starts_from_net(model: Any) -> bool:
    proposal = model._proposal()
    return isinstance(proposal, GBI) and isinstance(proposal.start, NetOutput)
