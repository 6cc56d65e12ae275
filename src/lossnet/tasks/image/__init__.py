"""Images with a class for each pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lossnet._lazy import lazy

if TYPE_CHECKING:
    from lossnet.tasks.image.folders import load_image_splits, load_images
    from lossnet.tasks.image.images import ImageData
    from lossnet.tasks.image.metrics import (
        IMAGE_METRICS,
        class_ious,
        evaluate_masks,
        global_iou,
        image_ious,
        mean_iou,
        pixel_accuracy,
    )
    from lossnet.tasks.image.picture_files import (
        DamagedImageWarning,
        MissingPillowError,
        write_masks,
    )
    from lossnet.tasks.image.pictures import draw_refinement_frames, draw_segmentation
    from lossnet.tasks.image.segmenter import ImageSegmenter

__all__ = [
    "IMAGE_METRICS",
    "DamagedImageWarning",
    "ImageData",
    "ImageSegmenter",
    "MissingPillowError",
    "class_ious",
    "draw_refinement_frames",
    "draw_segmentation",
    "evaluate_masks",
    "global_iou",
    "image_ious",
    "load_image_splits",
    "load_images",
    "mean_iou",
    "pixel_accuracy",
    "write_masks",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "DamagedImageWarning": "picture_files",
        "IMAGE_METRICS": "metrics",
        "ImageData": "images",
        "ImageSegmenter": "segmenter",
        "MissingPillowError": "picture_files",
        "class_ious": "metrics",
        "draw_refinement_frames": "pictures",
        "draw_segmentation": "pictures",
        "evaluate_masks": "metrics",
        "global_iou": "metrics",
        "image_ious": "metrics",
        "load_image_splits": "folders",
        "load_images": "folders",
        "mean_iou": "metrics",
        "pixel_accuracy": "metrics",
        "write_masks": "picture_files",
    },
)
