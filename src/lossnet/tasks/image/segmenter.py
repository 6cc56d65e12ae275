"""Image segmentation with scikit-learn's interface."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from lossnet.exporting import Exported
from lossnet.exporting.runtime import tiling
from lossnet.files import check_form
from lossnet.method import Method
from lossnet.needs import LOCAL
from lossnet.proposals import GBI, NetOutput, Proposal
from lossnet.ranges import Choice, Dimension, Range
from lossnet.spaces import Binary, Categorical, Space
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.image import pixels
from lossnet.tasks.image.crops import FixedCrops, RandomCrops, image_tensor, pixels_of
from lossnet.tasks.image.deciding import PixelDecisions
from lossnet.tasks.image.exported_pixels import exported
from lossnet.tasks.image.folders import as_images
from lossnet.tasks.image.images import ImageData, Size, known_pixels, known_rows
from lossnet.tasks.image.metrics import IMAGE_METRICS
from lossnet.tasks.image.paper_settings import FORMER, PAPERS
from lossnet.tasks.image.scales import far_from_training, standardiser_of
from lossnet.tasks.method_checks import check_completes
from lossnet.tasks.model_folder import CONFIG, LABELS
from lossnet.tasks.networks import NetFactory
from lossnet.tasks.standardiser import Standardiser
from lossnet.training.predict import predict, predict_path
from lossnet.training.source import row_slices

#: Images predicted at a time, and crops in a batch, at most.
_CHUNK, _BATCH = 64, 128
#: Pixels of these, unless one image or one crop has more.
_CHUNK_PIXELS, _BATCH_PIXELS = 2**22, 2**19


@dataclass(eq=False, repr=False)
class ImageSegmenter(PixelDecisions):
    """A convolutional network that assigns a class to every pixel, trained with a learned loss.

    :meth:`fit` takes colour images ``(n, H, W, 3)`` or grey images ``(n, H, W)``, uint8 or float,
    and masks ``(n, H, W)`` with the class of every pixel, integers from 0. Every method, and
    ``validation_data``, also accepts an :class:`~lossnet.tasks.image.ImageData`, or a folder or
    file that :func:`~lossnet.tasks.image.load_images` can read. :meth:`predict` returns the class
    of every pixel ``(n, H, W)``, :meth:`predict_proba` the probability of the foreground
    ``(n, H, W)`` or of each class ``(n, H, W, C)``; methods that predict by descending on the
    energy return relaxed outputs.

    With two classes an output is a :class:`~lossnet.Binary` mask ``(H, W)``, with more a
    :class:`~lossnet.Categorical` one ``(H, W, C)``; everything else is the same.

    Args:
        method: a name from ``lossnet methods``, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method that override its defaults; each can also
            be set as ``method__name``. Methods whose cost is soft F1 use soft IoU here, and
            :data:`~lossnet.tasks.image.pixels.PIXEL_DEFAULTS` lists the other differences.
        preset: ``"paper"`` or ``"paper:ROW"``, the settings of a paper's experiments where you give
            no other, or ``"0.1"``, what that version had by default; see ``docs/methods.md``.
        classes: number or names of the classes; None uses those in the training masks.
        task_net: ``"unet"``, a small U-Net, ``"fcn"``, the papers' network, or a function
            ``(channels, outputs) -> nn.Module`` from images ``(B, channels, H, W)`` to logits.
        energy_net: ``"critic"``, one number per image, ``"score-map"`` or ``"unet-map"``, the
            mean of a score map from an FCN or a U-Net, or a function ``(channels, outputs) ->
            Energy``; None selects the U-Net's map for ``alen`` and ``aen``, otherwise the critic.
        width: number of maps in the nets' first layer; half as many in a U-Net.
        energy_width: the same for the loss-net; None uses ``width``, for a U-Net's map half of it.
        dropout: dropout of the task-net's coarser maps.
        energy_dropout: dropout of the loss-net; None uses 0.25 for the critic of methods that do
            not descend on the energy, otherwise 0.
        energy_features: the loss-net's feature network: ``"own"``, ``"copy"`` (it starts with the
            task-net's weights, for an ``"fcn"`` and a critic of one width) or ``"shared"`` (a
            critic reads the task-net's maps).
        crop: side, or height and width, of the random training crops; ``"auto"`` uses three
            quarters of the images' sides, at most 64, None does not crop.
        flip: mirror half of the crops in training.
        crops: random crops per image and epoch; None takes up to 4, so that an epoch has at most
            a thousand, of a random part of the images where they are more.
        average: crops per side whose outputs are averaged in prediction; 6 means 36 crops, as in
            the papers; 1 predicts on uncropped images if the nets support it, as early stopping
            does. Images larger than that many crops side by side, or two, are predicted as with 1,
            and large ones in overlapping tiles, see ``docs/image.md``.
        metric: metric of early stopping and ``score``: a name in
            :data:`~lossnet.tasks.image.IMAGE_METRICS`.
        validation_fraction: share of the images held out if ``fit`` gets no validation data.
        batch_size: images per batch.
        max_epochs: maximum number of epochs of each phase.
        patience: epochs without improvement after which a phase ends.
        unlabelled_weight: weight of unlabelled inputs, on which the task-net follows the loss-net.
        accumulate: pieces in which a batch is processed, to save memory.
        precision: ``"bfloat16"`` runs the nets in mixed precision.
        plateau: epochs without improvement after which a named method's learning rates are halved;
            None keeps the method's own, 5, which is too short for a noisy metric on few images.
        refine: refine predictions with the energy, see :class:`~lossnet.MultiLabelClassifier`.
        decode: how outputs become masks: ``"argmax"``, the most probable class of every pixel; or
            for two classes, IoU and methods that predict with the task-net alone, ``"expected"``:
            the pixels of highest expected IoU. ``"auto"`` leaves argmax only for a gain on
            validation data above its standard error.
        decode_samples: not used for images.
        device: torch device.
        random_state: seed.
        verbose: 1 shows a progress bar.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        classes_: names of the classes.
        channels_: number of channels of an image.
        crop_: height and width of a crop.
        white_: the grey value that is scaled to 255 if training pictures had more than 8 bits, in
            training and in prediction; otherwise None.
        decision_: the :class:`~lossnet.tasks.decision.Decision` and what was measured of it.
        history_: a dict per epoch.
        refine_steps_: number of descent steps chosen by :meth:`tune_refinement` for the current
            ``refine``; None uses the method's own.

    >>> rng = np.random.default_rng(0)
    >>> masks = (np.arange(8)[:, None] + rng.integers(0, 8, (20, 1, 1)) > 8) * np.ones((1, 1, 8))
    >>> images = masks + 0.1 * rng.normal(size=masks.shape)
    >>> model = ImageSegmenter("cross-entropy", width=4, max_epochs=2, random_state=0)
    >>> model.fit(images, masks).predict(images).shape
    (20, 8, 8)
    """

    provides: ClassVar[frozenset[str]] = StructuredEstimator.provides | LOCAL
    labels_noun: ClassVar[str] = "masks"
    papers, former = PAPERS, FORMER
    search_space: ClassVar[Mapping[str, Dimension]] = {
        "batch_size": Choice(8, 16, 32),
        "width": Choice(32, 64),
        "dropout": Range(0.0, 0.6),
    }

    method: str | Method = "cross-entropy"
    _: KW_ONLY
    classes: int | Sequence[str] | None = None
    task_net: Literal["unet", "fcn"] | NetFactory = "unet"
    energy_net: Literal["critic", "score-map", "unet-map"] | NetFactory | None = None
    width: int = 64
    energy_width: int | None = None
    dropout: float = 0.25
    energy_dropout: float | None = None
    crop: int | Size | Literal["auto"] | None = "auto"
    flip: bool = True
    crops: int | None = None
    average: int = 3
    metric: str = "mean-iou"
    batch_size: int = 16
    max_epochs: int = 200
    patience: int = 30
    plateau: int | None = 15

    def _task_defaults(self) -> dict[str, Any]:
        return pixels.pixel_defaults(str(self.method), self.energy_net, self.plateau)

    def _filled_in(self, method: Method) -> dict[str, Any]:
        return pixels.filled_in(self._effective_params(), method)

    def _check_own_settings(self, method: Method) -> None:
        pixels.check_settings(self._effective_params() | self._filled_in(method))

    def _data(self, inputs: Any, targets: Any = None) -> ImageData:
        return as_images(inputs, targets, white=getattr(self, "white_", None))

    def _learn_classes(self, data: ImageData, reward: Any) -> None:
        self.classes_ = pixels.named_classes(self.classes, data)
        check_completes(self._assembled(), data.n_unknown(len(self.classes_)), "pixels")
        self.channels_, self.white_ = data.channels, data.white
        self.crop_: Size = pixels.crop_of(self.crop, data.size)

    def _learn(self, data: ImageData, validation: Any, unlabelled: Any, seed: int) -> None:
        self.standardiser_ = standardiser_of(data)

    def _check_fits(self, data: ImageData, what: str | None = None) -> ImageData:
        pixels.check_fits(data, self, what)
        # Validation data is checked before anything is learnt.
        if note := far_from_training(data, getattr(self, "standardiser_", None)):
            warnings.warn(note, stacklevel=4)
        return data

    def _output(self) -> tuple[tuple[int, ...], Space]:
        classes = len(self.classes_)
        return ((1,), Binary()) if classes == 2 else ((classes,), Categorical())

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        (outputs,), _ = self._output()
        if (own := self._own_factory(name)) is not None:
            return own(self.channels_, outputs)
        params = self._effective_params() | self._filled_in(self.method_)
        return pixels.make_net(name, params, self.channels_, outputs, self.crop_, features)

    def _source(
        self, data: ImageData, *, training: bool = False, reward: Any = None
    ) -> RandomCrops | FixedCrops:
        how: Any = {"standardiser": self.standardiser_, "classes": len(self.classes_)}
        images, targets, known = pixels_of(data, **how, device=self.device)
        given: dict[str, Any] = {"crop": self.crop_, "known": known}
        if training:
            given |= pixels.crops_of(self.crops, len(images))
            return RandomCrops(images, targets, flip=self.flip, **given)
        return FixedCrops(images, targets, side=1, **given)

    def _outputs(self, by: Proposal, data: ImageData, *, source: Any = None) -> np.ndarray:
        # Early stopping only compares epochs; averaged crops would take a sixth of the time.
        return self._averaged(predict, by, data, side=self.average if source is None else 1)

    def _path(self, descent: GBI, data: ImageData) -> np.ndarray:
        return self._averaged(predict_path, descent, data, side=self.average, axis=1)

    def _averaged(
        self,
        find: Callable[..., Tensor],
        by: Proposal,
        data: ImageData,
        *,
        side: int,
        axis: int = 0,
    ) -> np.ndarray:
        """What ``find`` gives for every image's crops, ``side`` x ``side``, averaged.

        It takes some images at a time; ``axis`` counts them: 1 where steps come first.
        """
        # Uncropped, or in few tiles, unless a net takes nothing but crops; those cover the image.
        fixed = any(hasattr(self.nets_[name], "size") for name in by.nets)
        averaged = side > 1 and not tiling.outgrown(data.size, self.crop_, side)
        crop = self.crop_ if fixed or averaged else tiling.tile_of(data.size)
        chunk = max(1, min(_CHUNK, _CHUNK_PIXELS // prod(data.size)))
        batch_size = max(1, min(_BATCH, _BATCH_PIXELS // prod(crop)))
        pieces = []
        for rows in row_slices(len(data), chunk):
            images = image_tensor(data.subset(rows), self.standardiser_, self.device)
            source = FixedCrops(images, crop=crop, side=side)
            how: dict[str, Any] = {"batch_size": batch_size, "precision": self.precision}
            found = find(by, self.nets_, self._output()[1], source, **how)
            pieces.append(source.average(found, axis).cpu().numpy())
        outputs: np.ndarray = np.concatenate(pieces, axis)
        return outputs

    def _finish(self, validation: ImageData | None) -> None:
        """Refine by as many steps as validation images support, up to the method's; by none too."""
        descent = self._proposal()
        if validation is None or self.refine is not None or not isinstance(descent, GBI):
            return
        if isinstance(descent.start, NetOutput):
            self.tune_refinement(validation, most=descent.steps)

    def _with_truth(self, data: ImageData) -> tuple[Tensor, ...]:
        outputs = torch.as_tensor(self._outputs(self._proposal(), data))
        masks = np.asarray(data.masks)
        known = known_pixels(masks, len(self.classes_))
        more = () if known is None else (torch.as_tensor(known),)
        return outputs, torch.as_tensor(masks), *more

    def _known_rows(self, data: ImageData, *, every: bool = False) -> np.ndarray | None:
        return known_rows(data.masks, len(self.classes_), every=every)

    def _measure(self, data: ImageData, outputs: np.ndarray) -> float:
        assert data.masks is not None
        return IMAGE_METRICS[self.metric](data.masks, self._discrete(outputs), len(self.classes_))

    def _exported(self) -> Exported:
        return exported(self)

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        facts = {"channels": self.channels_, "crop": list(self.crop_), "white": self.white_}
        tensors = {} if self.standardiser_ is None else self.standardiser_.tensors()
        return tensors, {**facts, "labels": {"classes": self.classes_}}

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        check_form(facts, {"channels": int, "crop": [int], "white": (None, int)}, CONFIG)
        check_form(facts["labels"], {"classes": [str]}, LABELS)
        self.classes_ = facts["labels"]["classes"]
        self.channels_, self.white_ = facts["channels"], facts["white"]
        self.crop_ = (facts["crop"][0], facts["crop"][1])
        self.standardiser_ = Standardiser.from_tensors(tensors, self.channels_)
