"""Segment the ink of handwritten digits with noise and a blot.

Compares cross-entropy, ALEN's net and its refined output, and draws ``segmentation.png`` and
``refinement_frames.png`` in the current folder.
"""

import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from lossnet import ImageSegmenter
from lossnet.proposals import NetOutput
from lossnet.tasks.image import draw_refinement_frames, draw_segmentation, mean_iou

rng = np.random.default_rng(0)
ink = np.stack([zoom(digit, 3, order=1) for digit in load_digits().images[:900] / 16])
masks = (ink > 0.5).astype(int)
images = 0.5 + 0.3 * (masks - 0.5)
for image, (row, column) in zip(images, rng.integers(2, 14, (len(images), 2)), strict=True):
    image[row : row + 8, column : column + 8] = 0.5  # a blot
images = np.clip(images + 0.25 * rng.normal(size=images.shape), 0, 1)
train, validation, test = slice(0, 500), slice(500, 600), slice(600, 900)


def fitted(method: str, **params: float) -> ImageSegmenter:
    """Train with the same network and epochs; digits are centred, so nothing is cropped."""
    model = ImageSegmenter(
        method,
        method_params=params,
        task_net="fcn",
        width=16,
        crop=None,
        crops=1,
        flip=False,
        average=1,
        energy_width=16,
        max_epochs=12,
        random_state=0,
    )
    return model.fit(
        images[train], masks[train], validation_data=(images[validation], masks[validation])
    )


found = {"cross-entropy": fitted("cross-entropy").predict(images[test])}
alen = fitted("alen", share=1.0)  # both nets from the first epoch, as in its paper
alen.tune_refinement(images[validation], masks[validation])
found["refined"] = alen.predict(images[test])
frames = alen.refinement_path(images[600:603], steps=alen.refine_steps_ or 10)
found["ALEN's net"] = alen.set_params(refine=NetOutput()).predict(images[test])

for name, predicted in found.items():
    print(f"{name}: test IoU {100 * mean_iou(masks[test], predicted, 2):.1f}")
columns = {name: found[name] for name in ("cross-entropy", "ALEN's net", "refined")}
draw_segmentation(images[test], masks[test], columns, "segmentation.png", worst=2, best=2)
draw_refinement_frames(images[600:603], masks[600:603], frames, "refinement_frames.png")
