"""Images with a class for every pixel, and ``ImageSegmenter``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import labels
from lossnet.errors import SettingError
from lossnet.plain_text import metrics_table
from lossnet.tasks.task import Judged, Measured, Parts, Rows, Task

if TYPE_CHECKING:
    from lossnet.tasks.image.rows import Known
    from lossnet.tasks.image.segmenter import ImageSegmenter

#: The one group of metrics.
ALL = "all"
PICTURES = (".png", ".pdf", ".svg", ".jpg")


class Images:
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "image"
    unit = "images"
    estimator_name = "ImageSegmenter"
    default_method = "alen"
    outputs: tuple[str, ...] = ("", ".npz")
    not_in_files: frozenset[str] = frozenset()

    def add_options(self, group: Any, command: str) -> None:
        """The size of pictures, names of classes, and what ``evaluate`` draws."""
        trained = command in ("evaluate", "predict")
        group.add_argument(
            "--size",
            type=_size,
            metavar="HxW",
            help="resize pictures to this height and width (default: "
            + ("as in training)" if trained else "they must have one size)"),
        )
        if not trained:
            group.add_argument(
                "--classes",
                type=labels,
                metavar="A,B",
                help="the classes' names from class 0, the background, on; or how many there are "
                "(default: those of the training masks)",
            )
        if command == "evaluate":
            group.add_argument(
                "--picture",
                type=_picture,
                metavar="FILE",
                help="draw the worst and the best cases: image, truth, and each model's masks",
            )
            group.add_argument(
                "--frames",
                type=_picture,
                metavar="FILE",
                help="draw the descent on the energy from start to end, of the first model that "
                "predicts so",
            )

    def parameters(self, args: argparse.Namespace) -> dict[str, Any]:
        """The classes."""
        return {} if args.classes is None else {"classes": args.classes}

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        """A picture, an .npz file with images, a folder of pairs or of parts of such."""
        from lossnet.tasks.image.folders import holds_images

        return holds_images(source)

    def load_parts(self, args: argparse.Namespace) -> Parts:
        """The parts, all with masks."""
        from lossnet.tasks.image.parts import load_parts

        return load_parts(args)

    def load_spare(self, args: argparse.Namespace, splits: Parts) -> Rows:
        """Images without their masks."""
        from dataclasses import replace

        from lossnet.tasks.image.folders import joined_images
        from lossnet.tasks.image.parts import read

        white = splits.train.white
        data = joined_images(read(args.unlabelled, args.size, with_masks=False, white=white))
        data = replace(data, masks=None)  # arrays bring theirs along
        return Rows(data, len(data), "all", data.notes)

    def count(self, data: Any) -> int:
        """Images."""
        return len(data)

    def sizes(self, splits: Any) -> str:
        """Images of each part, their size, and the share of each class."""
        from lossnet.tasks.image.parts import sizes

        return sizes(splits)

    def notes(self, splits: Any, args: argparse.Namespace) -> list[str]:
        """The reader's, and classes that training has not got."""
        from lossnet.tasks.image.parts import notes_on

        return notes_on(splits)

    # Models ----------------------------------------------------------------------------------

    def estimator(self) -> type[ImageSegmenter]:
        """The segmenter."""
        from lossnet.tasks.image.segmenter import ImageSegmenter

        return ImageSegmenter

    def fit(self, model: Any, splits: Any, **options: Any) -> None:
        """Train, once the model can take every part."""
        from lossnet.tasks.image.parts import check_parts

        check_parts(model, splits)
        model.fit(splits.train, validation_data=splits.validation, **options)

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Every metric, and the IoU of each class."""
        from lossnet.tasks.image.metrics import evaluate_masks
        from lossnet.tasks.image.predictions import predicted

        names = model.classes_
        return {ALL: evaluate_masks(data.masks, predicted(model, data), len(names), names=names)}

    def flat(self, measured: Measured) -> dict[str, float]:
        """``mean-iou``, ``iou of horse``."""
        return dict(measured[ALL])

    def table(self, report: Mapping[str, Measured]) -> str:
        """Metrics down, parts or models across."""
        return metrics_table({part or "value": groups[ALL] for part, groups in report.items()})

    def compared(self, splits: Parts) -> Sequence[str]:
        """The metrics over all classes, and the time."""
        return ("mean-iou", "global-iou", "pixel-accuracy", "seconds")

    def measured_how(self) -> str:
        """Nothing to tell."""
        return ""

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """The classes' names."""
        return {"classes": model.classes_}

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """Nothing: the table names the classes."""
        return ""

    # Model folders, and data for a model -----------------------------------------------------

    def data_facts(self, splits: Parts, args: argparse.Namespace) -> dict[str, Any]:
        """What pictures were resized to."""
        return {"size": args.size}

    def known(self, model: Any, facts: Mapping[str, Any] | None) -> Known:
        """What pictures are resized to, and the training part."""
        from lossnet.tasks.image.rows import Known

        if facts is None:
            return Known(white=model.white_)
        size = facts["size"]
        size = None if size is None else (size[0], size[1])
        return Known(size, facts["train_checksum"], facts["source"], model.white_)

    def load_labelled(self, args: argparse.Namespace, known: Known) -> Rows:
        """Images with masks."""
        from lossnet.tasks.image.rows import load_labelled

        return load_labelled(args, known)

    def load_unlabelled(self, args: argparse.Namespace, known: Known) -> Rows:
        """Images, with masks or without."""
        from lossnet.tasks.image.predictions import check_proba
        from lossnet.tasks.image.rows import load_unlabelled

        check_proba(args)
        return load_unlabelled(args, known)

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        """Models side by side want the same classes, ``--frames`` one that descends."""
        from lossnet.tasks.image.drawing import descending

        (first, one), *others = models.items()
        for name, model in others:
            if len(model.classes_) != len(one.classes_):
                raise SettingError(
                    f"{name} has {len(model.classes_)} classes and {first} {len(one.classes_)}: "
                    "evaluate them apart"
                )
        if args.frames is not None:
            descending(models)

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        """``--picture`` and ``--frames``."""
        from lossnet.tasks.image.drawing import draw_frames, draw_grid

        lines = []
        if args.picture is not None:
            lines.append(f"picture: {draw_grid(judged, args.picture)}")
        if args.frames is not None:
            lines.append(f"frames: {draw_frames(judged, args.frames)}")
        return lines

    def predict(self, model: Any, known: Known, rows: Rows, args: argparse.Namespace) -> None:
        """Masks as PNG files in a folder, or as arrays."""
        from lossnet.tasks.image.predictions import write

        write(model, rows.data, args)

    def describe(self, args: argparse.Namespace) -> str:
        """Counts, sizes and the shares of the classes."""
        from lossnet.tasks.image.describe import describe
        from lossnet.tasks.image.parts import read

        return describe(read(args.data, args.size), classes=args.classes, top=args.top)


def _size(text: str) -> tuple[int, int]:
    """What ``--size`` says: a side, or a height and a width."""
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(side.isdecimal() and int(side) > 0 for side in sides):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height and a width such as 64x48")
    return int(sides[0]), int(sides[-1])


def _picture(text: str) -> str:
    """The name of a picture to write."""
    if Path(text).suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES)}")
    return text


TASK: Task = Images()
