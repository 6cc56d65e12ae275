"""What is exported of a segmenter: images to probabilities as a net; crops and rules in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnet.exporting import Exported, Input, runtime_files
from lossnet.exporting.predicting import Predicting

_READS = "images: .npy (n, H, W, channels), .npz with images, or a picture if Pillow is installed"


class ImagesToPixels(nn.Module):
    """Images ``(B, channels, H, W)``, uint8 divided by 255, to probabilities of their pixels."""

    mean: Tensor
    scale: Tensor

    def __init__(self, net: Predicting, mean: np.ndarray, scale: np.ndarray) -> None:
        super().__init__()
        self.net = net
        self.register_buffer("mean", torch.as_tensor(mean).view(-1, 1, 1))
        self.register_buffer("scale", torch.as_tensor(scale).view(-1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """``(B, H, W)``, or of more than two classes ``(B, H, W, C)``."""
        return self.net.space.relax(self.net((images - self.mean) / self.scale))


def exported(model: Any) -> Exported:
    """A fitted segmenter."""
    net = Predicting(model.nets_, model._proposal().net, model._output()[1])
    channels, own = model.channels_, model.standardiser_
    mean, scale = np.zeros(channels, np.float32), np.ones(channels, np.float32)
    if own is not None:
        mean, scale = own.mean, own.scale
    height, width = (max(side, 4) for side in model.crop_)
    facts = {
        "classes": list(model.classes_),
        "channels": channels,
        "crop": list(model.crop_),
        "average": int(model.average),
        "metric": model.metric,
        "decision": model._decision().to_json(),
        "temperature": model.temperature_,
    }
    return Exported(
        ImagesToPixels(net, mean, scale),
        {"images": Input(torch.zeros(3, channels, height, width + 1), (0, 2, 3))},
        ("probabilities",),
        "pixels:PixelModel",
        runtime_files("pixels", "tiling"),
        facts,
        {},
        _READS,
    )
