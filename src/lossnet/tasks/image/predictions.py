"""Predicted masks: found once, measured, written as pictures or arrays, and drawn."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.errors import DataError, SettingError
from lossnet.files import write_arrays, write_folder
from lossnet.proposals import GBI, NetOutput
from lossnet.tasks.image.images import Array, ImageData
from lossnet.tasks.image.metrics import image_ious
from lossnet.tasks.image.picture_files import write_masks
from lossnet.tasks.image.pictures import draw_refinement_frames, draw_segmentation, worst_and_best
from lossnet.tasks.task import Judged

#: Images of a refinement drawn, of the lowest and of the highest IoU.
FRAMES = 2
#: Steps of a refinement drawn where predictions have none.
DRAWN_STEPS = 10


@lru_cache(maxsize=8)
def predicted(model: Any, data: ImageData) -> Array:
    """The masks of the images. Kept: they are measured and then drawn, and take long to find."""
    masks: Array = model.predict(data)
    return masks


def write(model: Any, data: ImageData, out: str, *, proba: bool) -> None:
    """Write the masks atomically.

    A folder gets a PNG file for each image, named after it and of its own size. An .npz file has
    ``masks`` (n, H, W), at the size the model saw, ``names``, ``classes`` and with ``proba``
    ``probabilities``, as ``predict_proba`` gives them.
    """
    if Path(out).suffix.lower() != ".npz" or Path(out).is_dir():
        if proba:
            what = "--proba: PNG masks hold no probabilities; --out must be an .npz file"
            raise SettingError(f"{what}, got {out}")
        masks = predicted(model, data)
        # A mask of the picture a user has, also where the model saw it smaller.
        write_folder(out, lambda path: write_masks(path, masks, data.names, sizes=data.sizes))
        return
    kind = np.uint8 if len(model.classes_) <= 256 else int
    masks = predicted(model, data).astype(kind)
    arrays = {"masks": masks, "names": np.array(data.names), "classes": np.array(model.classes_)}
    if proba:
        arrays["probabilities"] = model.predict_proba(data).astype(np.float32)
    write_arrays(out, arrays)


def draw_grid(judged: Mapping[str, Judged], path: str) -> Path:
    """Image, truth, and each model's masks; of one that refines its net's output, that too.

    The worst and best cases are those of the first model.
    """
    (first, (one, data)), *others = judged.items()
    columns: dict[str, Any] = {}
    by = ""
    for name, (model, own) in judged.items():
        if own.size != data.size:
            sizes = f"{first} takes images of {data.size} and {name} of {own.size}"
            raise DataError(f"{sizes}, and one picture shows one size; add --size")
        refines = _starts_from_net(model)
        if refines:
            columns[f"{name}, net" if others else "net"] = _net_alone(model).predict(own)
        label = name if others else "refined" if refines else "predicted"
        columns[label] = predicted(model, own)
        by = by or label
    named = {"classes": len(one.classes_), "names": one.classes_}
    return draw_segmentation(data.images, data.masks, columns, path, by=by, **named)


def draw_frames(judged: Mapping[str, Judged], path: str) -> Path:
    """The descent of the first model that predicts so, of its worst and best cases."""
    model, data = judged[descending({name: one.model for name, one in judged.items()})]
    named = {"classes": len(model.classes_), "names": model.classes_}
    ious = image_ious(data.masks, predicted(model, data), len(model.classes_))
    few = data.subset(worst_and_best(ious, worst=FRAMES, best=FRAMES))
    # Where validation images had no use for a descent, it is drawn all the same.
    frames = model.refinement_path(few, steps=model._proposal().steps or DRAWN_STEPS)
    return draw_refinement_frames(few.images, few.masks, frames, path, **named)


def descending(models: Mapping[str, Any]) -> str:
    """The name of the first model that predicts by descending on the energy."""
    for name, model in models.items():
        if isinstance(model._proposal(), GBI):
            return name
    methods = ", ".join(model.method_.name for model in models.values())
    why = f"--frames draws a descent on the energy, and {methods} predicts without one"
    raise SettingError(f"{why}; train with --set refine=net, or a method such as alen or dvn")


def _net_alone(model: Any) -> Any:
    """The same model, predicting with its task-net in one pass."""
    return copy.copy(model).set_params(refine=NetOutput())


def _starts_from_net(model: Any) -> bool:
    proposal = model._proposal()
    return isinstance(proposal, GBI) and isinstance(proposal.start, NetOutput)
