"""Images with a class for every pixel, and ``ImageSegmenter``."""

from __future__ import annotations

import argparse
import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.errors import DataError, SettingError
from lossnet.plain_text import metrics_table
from lossnet.tasks.options import count_or_names, picture
from lossnet.tasks.task import Judged, Known, Measured, Task, once

if TYPE_CHECKING:
    from lossnet.tasks.description import Description
    from lossnet.tasks.details import Details, Examples
    from lossnet.tasks.image.images import ImageData
    from lossnet.tasks.parts import Data, Parts

#: The one group of metrics.
ALL = "all"


class ImageTask(Task):
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "image"
    unit = "images"
    formats = (
        "Pictures with a class for every pixel: a folder of images/ and masks/ with the same "
        "names, of a.png and a_mask.png, or of parts train/, test/ of these; an .npz file of "
        "images and masks; to predict, also a single picture."
    )
    probabilities = "of every pixel (.npz)"
    estimator_path = "lossnet.tasks.image.segmenter:ImageSegmenter"
    default_method = "cross-entropy"
    compared_methods: tuple[str, ...] = ("cross-entropy", "alen", "seal-nce")
    outputs = ("", ".npz")
    facts_form: Mapping[str, Any] = {"size": (None, [int]), "white": (None, int)}

    def add_options(self, group: Any, command: str) -> None:
        trained = command in ("evaluate", "predict")
        default = "as in training" if trained else "they must have one size"
        what = f"resize pictures to this height and width (default: {default})"
        group.add_argument("--size", type=_size, metavar="HxW", help=what)
        if not trained:
            what = "the classes' names from class 0, the background, on; or how many there are "
            what += "(default: those of the training masks)"
            group.add_argument("--classes", type=count_or_names, metavar="A,B", help=what)
        if command == "evaluate":
            what = "draw the worst and the best cases: image, truth, and each model's masks"
            group.add_argument("--picture", type=picture, metavar="FILE", help=what)
            what = "draw the descent on the energy, of the first model that predicts so"
            group.add_argument("--frames", type=picture, metavar="FILE", help=what)

    def parameters(self, args: argparse.Namespace) -> dict[str, Any]:
        return {} if args.classes is None else {"classes": args.classes}

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        from lossnet.tasks.image.folders import holds_images

        return holds_images(source)

    def takes(self, inputs: Any) -> bool:
        return len(getattr(inputs, "shape", ())) in (3, 4)

    def read(
        self,
        source: str,
        args: argparse.Namespace,
        *,
        known: Known | None = None,
        labelled: bool = True,
    ) -> dict[str, Data]:
        from lossnet.tasks.image.folders import load_image_parts
        from lossnet.tasks.image.picture_files import DamagedImageWarning, is_picture

        size, white = args.size, None
        if known is not None:
            white, path = known["white"], Path(source).expanduser()
            # Pictures are resized as in training, arrays taken as they are.
            size = known["size"] if size is None and (is_picture(path) or path.is_dir()) else size
        # A damaged mask is no reason to leave its picture out, unless a part is to be cut as
        # training cut it.
        options = vars(args)
        unused = options.get("split") == "all" or options.get("unlabelled") == source
        with_masks = labelled or not unused

        def load() -> dict[str, Data]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamagedImageWarning)  # the notes name them
                return {**load_image_parts(source, size=size, with_masks=with_masks, white=white)}

        parts = load() if known is None else once(args, (source, str(size), white), load)
        if labelled and not any(data.labelled for data in parts.values()):
            what = f"{source} has no masks, which training and evaluation need: add images/ and "
            what += "masks/ with the same names, a.png next to a_mask.png, or in an .npz file "
            raise DataError(f"{what}images and masks; without masks see lossnet predict")
        return parts

    def facts(self, data: Any, args: argparse.Namespace) -> dict[str, Any]:
        return {"size": args.size, "white": data.white}

    def known(self, model: Any) -> Known:
        return {"size": None, "white": model.white_}

    def sizes(self, parts: Parts[Any], args: argparse.Namespace) -> str:
        from lossnet.tasks.image.describe import size_and_classes

        return f"{super().sizes(parts, args)} {size_and_classes(parts.train, args.classes)}"

    def notes(self, parts: Parts[Any], args: argparse.Namespace) -> list[str]:
        from lossnet.tasks.image.describe import absent_classes

        return [*super().notes(parts, args), *absent_classes(parts.train, args.classes)]

    def check_parts(self, model: Any, parts: Parts[Any]) -> None:
        trial = copy.copy(model)
        trial._learn_classes(parts.train, None)
        for part, data in parts.items():
            trial._check_fits(data, f"the {part} part ({data.name})")

    def describe(
        self, data: Any, parts: Mapping[str, Data], args: argparse.Namespace
    ) -> Description:
        from lossnet.tasks.image.describe import describe

        return describe(data, parts, classes=args.classes, top=args.top)

    # Metrics ---------------------------------------------------------------------------------

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        from lossnet.tasks.image.metrics import evaluate_masks
        from lossnet.tasks.image.predictions import predicted

        names = model.classes_
        return {ALL: evaluate_masks(data.masks, predicted(model, data), len(names), names=names)}

    def table(self, report: Mapping[str, Measured]) -> str:
        return metrics_table({part or "value": groups[ALL] for part, groups in report.items()})

    def compared(self, parts: Parts[Any]) -> Sequence[str]:
        return ("mean-iou", "global-iou", "pixel-accuracy", "seconds")

    def examples(self, data: Any) -> Examples:
        from lossnet.tasks.image.details import image_examples

        return image_examples(data)

    def details(self, model: Any, data: Any, measured: Measured) -> Details:
        from lossnet.tasks.image.details import image_details
        from lossnet.tasks.image.predictions import predicted

        return image_details(model, data, predicted(model, data))

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        return {"classes": model.classes_, **super().model_facts(model, args)}

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        from lossnet.tasks.image.predictions import descending

        (first, one), *others = models.items()
        for name, model in others:
            count, expected = len(model.classes_), len(one.classes_)
            if count != expected:
                counts = f"{name} has {count} classes and {first} {expected}"
                raise SettingError(f"{counts}; evaluate them separately")
        if args.frames is not None:
            descending(models)

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        from lossnet.tasks.image.predictions import draw_frames, draw_grid

        lines = []
        if args.picture is not None:
            lines.append(f"picture: {draw_grid(judged, args.picture)}")
        if args.frames is not None:
            lines.append(f"frames: {draw_frames(judged, args.frames)}")
        return lines

    def write(self, model: Any, data: ImageData, args: argparse.Namespace) -> None:
        from lossnet.tasks.image.predictions import write

        write(model, data, args.out, proba=args.proba)


def _size(text: str) -> tuple[int, int]:
    """What ``--size`` says: a side, or a height and a width."""
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height and a width such as 64x48")
    return int(sides[0]), int(sides[-1])


TASK = ImageTask()
