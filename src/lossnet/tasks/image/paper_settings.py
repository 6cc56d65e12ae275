"""What papers 000 and 004 set for pixels: ``preset="paper"`` of ``ImageSegmenter``.

The one row is ``horses``, 32 x 32: an FCN, random crops of 24 x 24 in training and the average of
36 at prediction. SEAL's energy is a critic with the FCN's convolutions (paper 000, section 4.4);
ALEN's is an FCN that gives a score to every pixel (paper 004). Neither paper prints rates, weights
or epochs for images, and the released settings lack them: those stay. Pixels are standardised here,
scaled to [0, 1] there.
"""

from __future__ import annotations

from typing import Any

from lossnet.tasks.presets import Papers, Row

_FCN: dict[str, Any] = {
    **{"task_net": "fcn", "width": 64, "dropout": 0.0, "metric": "mean-iou", "decode": "argmax"},
    **{"crop": 24, "crops": 1, "flip": False, "average": 6},
}
_SEAL: dict[str, Any] = {**_FCN, "energy_net": "critic", "energy_dropout": 0.25}
_ALEN: dict[str, Any] = {**_FCN, "energy_net": "score-map", "energy_dropout": 0.0}

_ROWS = {
    "cross-entropy": Row(_FCN),
    "dvn": Row(_SEAL, {"inference": {"on": "value"}}),
    "seal-regression": Row(_SEAL),
    "seal-nce": Row(_SEAL, {"entropy_weight": 0.0}),
    "alen": Row(_ALEN, {"noise": 0.0, "share": 1.0}),
    "aen": Row(_ALEN),
}

WHY = {
    "task_net": "with cross-entropy a U-Net gains 7 points of mean IoU on horses",
    "energy_net": "a U-Net sees more of an image",
    "dropout": "against overfitting to few images",
    "energy_dropout": "inference descends without dropout",
    "crop": "three quarters of the sides, for images of any size",
    "crops": "more crops of an image per epoch, fewer epochs",
    "flip": "mirrored images are more images; the papers' horses all look left",
    "average": "36 crops take twice the training time of 9 and gain little",
    "decode": "the default leaves argmax where validation images show a gain",
    "noise": "not in the paper; a net that has learnt its images shows the energy no mistakes",
    "energy_width": "inference runs a U-Net's map dozens of times per batch",
    "share": "a tenth of the epochs, after cross-entropy, has most of the gain",
    "entropy_weight": "not in the paper; keeps probabilities useful",
    "inference": "the value of a mask hardly changes with a pixel",
}

PAPERS = Papers({method: {"horses": row} for method, row in _ROWS.items()}, WHY)
#: What former versions had by default.
FORMER = {"0.1": Row({"method": "alen", "crops": 4}, {"share": 1.0})}
