"""Image segmentation in the manner of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.checks import check_choice, check_flag, check_int, check_share, describe
from lossnet.errors import DataError
from lossnet.method import Method
from lossnet.needs import LOCAL
from lossnet.proposals import Proposal
from lossnet.spaces import Binary, Categorical, Space
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.image.crops import FixedCrops, RandomCrops, corners
from lossnet.tasks.image.folders import load_images
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.image.metrics import IMAGE_METRICS
from lossnet.tasks.image.pixels import (
    ENERGIES,
    NETS,
    check_classes,
    check_crop,
    check_fits,
    check_net,
    check_white,
    crop_of,
    energy_for,
    far_from_training,
    named_classes,
    pixel_defaults,
)
from lossnet.tasks.model_folder import CONFIG, LABELS, check_form
from lossnet.tasks.networks import NetFactory, try_energy, try_task_net
from lossnet.tasks.standardiser import PER_COLUMN, Standardiser, check_lengths
from lossnet.training import predict
from lossnet.training.predict import predict_path

#: Images predicted at a time; what is held of them grows with their crops.
_CHUNK = 64


class ImageSegmenter(StructuredEstimator):
    """A convolutional network that gives every pixel a class, trained with a learned loss.

    With two classes an output is a :class:`~lossnet.Binary` mask ``(H, W)``, with more a
    :class:`~lossnet.Categorical` one ``(H, W, C)``; all else is the same.

    Args:
        method: a name that ``lossnet methods`` lists, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method in place of its defaults; each can also
            be set as ``method__name``. Methods whose cost is soft F1 take soft IoU here, and
            :data:`~lossnet.tasks.image.pixels.PIXEL_DEFAULTS` names what else differs.
        classes: the classes' number, or their names; None counts those of the training masks.
        task_net: ``"unet"``, a small U-Net, ``"fcn"``, the papers' network, or a function
            ``(channels, outputs) -> nn.Module`` from images ``(B, channels, H, W)`` to logits.
        energy_net: ``"critic"``, one number of the whole image, ``"score-map"`` or ``"unet-map"``,
            the mean of a map that an FCN or a U-Net gives, or a function ``(channels, outputs) ->
            Energy``; None takes the U-Net's map for ``alen`` and ``aen``, otherwise the critic.
        width: maps of the nets' first layer; a U-Net's has half as many.
        energy_width: the same of the loss-net; None takes ``width``.
        dropout: dropout of the task-net's coarser maps.
        energy_dropout: dropout of the loss-net; None takes 0.25 for the critic of methods that do
            not descend on the energy, otherwise 0.
        crop: side of the random crops it learns from, or height and width; ``"auto"`` takes three
            quarters of the images' sides, None whole images.
        flip: mirror half of the crops in training.
        crops: random crops of each image an epoch.
        average: crops a side whose outputs are averaged, in prediction and in validation alike; 6
            are 36 in all, as in the papers, and seldom worth twice the training time; 1 predicts
            on whole images where the nets can.
        metric: what early stopping watches and ``score`` gives: a name of
            :data:`lossnet.tasks.image.IMAGE_METRICS`.
        validation_fraction: share of the images split off for validation where ``fit`` is given
            none; 0 trains without.
        batch_size: images a batch.
        max_epochs: most epochs of each phase.
        patience: epochs without a better metric after which a phase ends.
        plateau: the same after which a named method's learning rates are halved; None leaves its
            own, 5, which a noisy metric on few images reaches too soon.
        refine: polish predictions with the energy, see :class:`~lossnet.MultiLabelClassifier`.
        device: torch device.
        random_state: seed.
        verbose: 1 shows a progress bar.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        classes_: names of the classes.
        channels_: channels of an image.
        crop_: height and width of a crop.
        white_: the grey value that became 255 where training pictures had more than 8 bits, and
            does in files to predict; None where they had not.
        history_: a row for each epoch.
        refine_steps_: steps of the descent that predicts, where :meth:`tune_refinement` chose
            them for the present ``refine``; None takes the method's own.

    >>> rng = np.random.default_rng(0)
    >>> masks = (np.arange(8)[:, None] + rng.integers(0, 8, (20, 1, 1)) > 8) * np.ones((1, 1, 8))
    >>> images = masks + 0.1 * rng.normal(size=masks.shape)
    >>> model = ImageSegmenter("cross-entropy", width=4, max_epochs=2, random_state=0)
    >>> model.fit(images, masks).predict(images).shape
    (20, 8, 8)
    """

    def __init__(
        self,
        method: str | Method = "alen",
        *,
        method_params: dict[str, Any] | None = None,
        classes: int | Sequence[str] | None = None,
        task_net: Literal["unet", "fcn"] | NetFactory = "unet",
        energy_net: Literal["critic", "score-map", "unet-map"] | NetFactory | None = None,
        width: int = 64,
        energy_width: int | None = None,
        dropout: float = 0.25,
        energy_dropout: float | None = None,
        crop: int | tuple[int, int] | Literal["auto"] | None = "auto",
        flip: bool = True,
        crops: int = 4,
        average: int = 3,
        metric: str = "mean-iou",
        validation_fraction: float = 0.15,
        batch_size: int = 16,
        max_epochs: int = 200,
        patience: int = 30,
        plateau: int | None = 15,
        refine: str | Proposal | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.method_params = method_params
        self.classes = classes
        self.task_net = task_net
        self.energy_net = energy_net
        self.width = width
        self.energy_width = energy_width
        self.dropout = dropout
        self.energy_dropout = energy_dropout
        self.crop = crop
        self.flip = flip
        self.crops = crops
        self.average = average
        self.metric = metric
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.plateau = plateau
        self.refine = refine
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    provides = StructuredEstimator.provides | LOCAL

    classes_: list[str]
    channels_: int
    crop_: tuple[int, int]
    white_: int | None
    standardiser_: Standardiser | None

    # Settings --------------------------------------------------------------------------------

    def _task_defaults(self) -> dict[str, Any]:
        if self.plateau is not None:
            check_int("plateau", self.plateau)
        return pixel_defaults(str(self.method), self.energy_net, self.plateau)

    def _metric_name(self) -> str:
        check_choice("metric", self.metric, IMAGE_METRICS)
        return str(self.metric)

    def _check_settings(self) -> Method:
        method = self._check_training_settings()
        check_int("width", self.width)
        if self.energy_width is not None:
            check_int("energy_width", self.energy_width)
        check_int("crops", self.crops)
        check_int("average", self.average)
        check_share("dropout", self.dropout)
        if self.energy_dropout is not None:
            check_share("energy_dropout", self.energy_dropout)
        check_classes(self.classes)
        check_crop(self.crop)
        check_flag("flip", self.flip)
        check_net("task_net", self.task_net, NETS)
        check_net("energy_net", self.energy_net, [*ENERGIES, None])
        return method

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        images: Any,
        masks: Any = None,
        *,
        validation_data: Any = None,
        unlabelled: Any = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
    ) -> ImageSegmenter:
        """Train on images ``(n, H, W, 3)`` or ``(n, H, W)`` and masks ``(n, H, W)``.

        Where it fails the estimator stays as it was, fitted or not.

        Args:
            images: uint8 or float; or an :class:`~lossnet.tasks.image.ImageData` with masks, or a
                folder or file that :func:`~lossnet.tasks.image.load_images` reads.
            masks: the class of every pixel, whole numbers from 0.
            validation_data: ``(images, masks)``, an ImageData or a folder, for early stopping, in
                place of a split.
            unlabelled: images without masks, for ``infnet`` with ``tune_on="unlabelled"``.
            checkpoint: file that is written during training, to resume from.
            resume_from_checkpoint: go on from ``checkpoint``, which must exist.
        """
        with self._all_or_nothing():
            method = self._check_settings()
            self._check_resume(checkpoint, resume_from_checkpoint)
            self._check_unlabelled(method, unlabelled is not None)
            data = _labelled(images, masks, "the training data")
            self.classes_ = named_classes(self.classes, data)
            self.channels_, self.white_ = data.channels, data.white
            self.crop_ = crop_of(self.crop, data.size)
            seed = self._seed()
            data, held_out = self._split(data, validation_data, seed)
            spare = (
                None if unlabelled is None else self._fitting(_read(unlabelled, white=self.white_))
            )
            self.standardiser_ = Standardiser.of(data.floats().reshape(-1, data.channels), True)
            self.method_ = method
            train = self._random(data)
            self.nets_ = self._build_nets(method.nets, seed)
            self._try_nets(train)
            validation = score = None
            if held_out is not None:
                validation = self._crops(*self._tensors(held_out), count=1)
                score = partial(self._score, held_out)
            self._train(
                self._output()[1],
                train,
                validation=validation,
                unlabelled=None if spare is None else self._random(spare),
                score=score,
                seed=seed,
                data_digest=" ".join(
                    part.checksum() for part in (data, held_out, spare) if part is not None
                ),
                checkpoint=checkpoint,
                resume_from_checkpoint=resume_from_checkpoint,
            )
        return self

    def _split(self, data: ImageData, given: Any, seed: int) -> tuple[ImageData, ImageData | None]:
        if given is not None:
            pair = given if isinstance(given, tuple | list) else (given, None)
            if len(pair) != 2:
                raise DataError(
                    f"validation_data has {len(pair)} members; give a pair (images, masks)"
                )
            held_out = _labelled(pair[0], pair[1], "validation_data", self.white_)
            return data, self._fitting(held_out, "validation_data")
        return self._hold_out(data, seed)

    def _fitting(self, data: ImageData, what: str | None = None) -> ImageData:
        """The data, or an error where the model cannot take it, which calls it ``what``."""
        check_fits(data, channels=self.channels_, crop=self.crop_, classes=self.classes_, what=what)
        check_white(data, self.white_, what)
        return data

    def _tensors(self, data: ImageData) -> tuple[Tensor, Tensor | None]:
        """Images ``(n, channels, H, W)`` and targets ``(n, H, W)`` or ``(n, H, W, C)``."""
        values = data.floats()
        values = values if self.standardiser_ is None else self.standardiser_(values)
        values = np.ascontiguousarray(values.transpose(0, 3, 1, 2))
        images = torch.as_tensor(values, device=self.device)
        if data.masks is None:
            return images, None
        targets = torch.as_tensor(data.masks, device=self.device)
        if len(self.classes_) > 2:
            targets = F.one_hot(targets, len(self.classes_))
        return images, targets.to(images.dtype)

    def _random(self, data: ImageData) -> RandomCrops:
        images, targets = self._tensors(data)
        return RandomCrops(images, targets, crop=self.crop_, flip=self.flip, times=self.crops)

    def _crops(self, images: Tensor, targets: Tensor | None = None, *, count: int) -> FixedCrops:
        height, width = images.shape[-2:]
        places = corners((height, width), self.crop_, count)
        return FixedCrops(images, targets, crop=self.crop_, corners=places)

    def _factory_of(self, net: str) -> str:
        return "energy_net" if net == "energy" else "task_net"

    def _output(self) -> tuple[tuple[int, ...], Space]:
        classes = len(self.classes_)
        return ((1,), Binary()) if classes == 2 else ((classes,), Categorical())

    def _filled_in(self, method: Method) -> dict[str, Any]:
        chosen, dropout = self.energy_net, self.energy_dropout
        if not callable(chosen):
            chosen = energy_for(chosen, method.name)
        if dropout is None:
            dropout = 0.25 if chosen == "critic" and not method.descends_on_energy else 0.0
        width = self.width if self.energy_width is None else self.energy_width
        return {"energy_net": chosen, "energy_dropout": dropout, "energy_width": width}

    def _make_net(self, name: str) -> nn.Module:
        (outputs,), _ = self._output()
        chosen = getattr(self, self._factory_of(name))
        if callable(chosen):
            return chosen(self.channels_, outputs)
        if name != "energy":
            return NETS[chosen](self.channels_, outputs, width=self.width, dropout=self.dropout)
        settled = self._filled_in(self.method_)
        return ENERGIES[settled["energy_net"]](
            self.channels_,
            outputs,
            size=self.crop_,
            width=settled["energy_width"],
            dropout=settled["energy_dropout"],
        )

    def _try_nets(self, data: RandomCrops) -> None:
        """Try the nets that a user's function made on a few crops."""
        x = data.batch(slice(0, 2)).x
        (outputs,), _ = self._output()
        shape = self.crop_ if outputs == 1 else (*self.crop_, outputs)
        for name, net in self.nets_.items():
            if name not in self.method_.derived and callable(getattr(self, self._factory_of(name))):
                attempt = try_energy if name == "energy" else try_task_net
                attempt(name, net, x, shape)

    def _score(self, data: ImageData, by: Proposal) -> float:
        """The metric on validation data, predicted as :meth:`predict` does."""
        return self._metric(data, self._outputs(by, data))

    def _metric(self, data: ImageData, outputs: np.ndarray) -> float:
        assert data.masks is not None
        found = IMAGE_METRICS[self.metric]
        return found(data.masks, self._decoded(outputs), len(self.classes_))

    def tune_refinement(self, images: Any, masks: Any = None, *, most: int = 30) -> ImageSegmenter:
        """Choose how many steps predictions descend on the energy, 0 to ``most``.

        For methods that predict so, or with ``refine``. The fewest steps of the best metric on
        this data, crops averaged as in prediction, are kept in ``refine_steps_``.
        """
        data = self._unseen(images, masks, labelled="the data to tune on")
        path = self._path(data, most)
        self.refine_steps_ = int(np.argmax([self._metric(data, y) for y in path]))
        self.refined_as_ = describe(self.refine)
        return self

    # Predicting ------------------------------------------------------------------------------

    def _over_images(
        self,
        find: Callable[[FixedCrops], Tensor],
        data: ImageData,
        *,
        nets: frozenset[str],
        axis: int = 0,
    ) -> np.ndarray:
        """What ``find`` gives for every image's crops, averaged, some images at a time.

        ``axis`` is the one that counts images: 1 where steps come first.
        """
        pieces = []
        fixed = any(hasattr(self.nets_[name], "size") for name in nets)
        for first in range(0, len(data), _CHUNK):
            part = data.subset(range(first, min(first + _CHUNK, len(data))))
            images, _ = self._tensors(part)
            # Whole images, unless a net takes crops alone; those then cover the image.
            whole = self.average == 1 and not fixed
            crops = partial(self._crops, count=self.average)
            source = FixedCrops(images, crop=part.size) if whole else crops(images)
            found = find(source)
            if axis:
                found = torch.stack([source.average(step) for step in found])
            else:
                found = source.average(found)
            pieces.append(found.cpu().numpy())
        outputs: np.ndarray = np.concatenate(pieces, axis)
        return outputs

    def _outputs(self, by: Proposal, data: ImageData) -> np.ndarray:
        space = self._output()[1]
        return self._over_images(
            lambda source: predict(by, self.nets_, space, source, batch_size=128),
            data,
            nets=by.nets,
        )

    def _path(self, data: ImageData, steps: int) -> np.ndarray:
        descent, space = self._descent(steps), self._output()[1]
        return self._over_images(
            lambda source: predict_path(descent, self.nets_, space, source, batch_size=128),
            data,
            nets=descent.nets,
            axis=1,
        )

    def _decoded(self, outputs: np.ndarray) -> np.ndarray:
        """The class of every pixel."""
        decoded = outputs >= 0.5 if len(self.classes_) == 2 else outputs.argmax(-1)
        classes: np.ndarray = decoded.astype(np.int64)
        return classes

    def _unseen(self, images: Any, masks: Any = None, *, labelled: str | None = None) -> ImageData:
        """Images for the fitted model; with ``labelled``, what errors call them, masks too."""
        check_is_fitted(self, "nets_")
        if labelled is None:
            data = _read(images, white=self.white_)
        else:
            data = _labelled(images, masks, labelled, self.white_)
        if (told := far_from_training(data, self.standardiser_)) is not None:
            warnings.warn(told, stacklevel=3)
        return self._fitting(data)

    def predict_proba(self, images: Any) -> np.ndarray:
        """Probability of the foreground ``(n, H, W)``, or of each class ``(n, H, W, C)``.

        Methods that predict by descending on the energy give relaxed outputs.
        """
        data = self._unseen(images)
        return self._outputs(self._proposal(), data)

    def predict(self, images: Any) -> np.ndarray:
        """The class of every pixel, ``(n, H, W)``."""
        return self._decoded(self.predict_proba(images))

    def refinement_path(self, images: Any, *, steps: int = 30) -> np.ndarray:
        """What :meth:`predict_proba` gives after 0, 1, ... steps, ``(steps + 1, n, H, W)``.

        For methods that predict by descending on the energy, or with ``refine``; with more than
        two classes a last axis holds them.
        """
        return self._path(self._unseen(images), steps)

    def score(self, images: Any, masks: Any = None) -> float:
        """The metric, by default mean IoU, on images and their masks."""
        data = self._unseen(images, masks, labelled="the data to score")
        return self._metric(data, self._outputs(self._proposal(), data))

    # Storage ---------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {} if self.standardiser_ is None else self.standardiser_.tensors()
        facts = {
            "channels": self.channels_,
            "crop": list(self.crop_),
            "white": self.white_,
            "labels": {"classes": self.classes_},
        }
        return tensors, facts

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        check_form(facts, {"channels": int, "crop": [int], "white": (None, int)}, CONFIG)
        check_form(facts["labels"], {"classes": [str]}, LABELS)
        self.classes_ = facts["labels"]["classes"]
        self.channels_ = facts["channels"]
        height, width = facts["crop"]
        self.crop_ = (int(height), int(width))
        self.white_ = facts["white"]
        check_lengths(tensors, PER_COLUMN, self.channels_)
        self.standardiser_ = Standardiser.from_tensors(tensors)


def _read(images: Any, masks: Any = None, *, white: int | None = None) -> ImageData:
    """Images as given, or of a file or folder; ``white`` is that of the training pictures."""
    if isinstance(images, str | Path):
        images = load_images(images, white=white)
    if not isinstance(images, ImageData):
        return ImageData(images, masks)
    if masks is not None:
        raise DataError("masks are given beside an ImageData or a folder, which has its own")
    return images


def _labelled(images: Any, masks: Any, what: str, white: int | None = None) -> ImageData:
    data = _read(images, masks, white=white)
    if data.masks is None:
        raise DataError(f"{what} has no masks; give the class of every pixel, (n, H, W)")
    return data
