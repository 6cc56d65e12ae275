"""What :class:`~lossnet.ImageSegmenter` is made of by name, and the checks of its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from torch import nn

from lossnet.checks import check_choice, check_int
from lossnet.energies import ConvolutionalCritic, Energy, ScoreMap
from lossnet.errors import DataError, SettingError
from lossnet.nets import FCN, UNet
from lossnet.parameters import with_value
from lossnet.recipes import defaults
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.standardiser import Standardiser

#: More classes than 16-bit masks can tell apart are a mistake.
MOST_CLASSES = 2**16

#: Cross-entropy is a sum over hundreds of pixels, beside which a value between 0 and 1 would count
#: for nothing: a hundredth of it.
_SHARE: dict[str, Any] = {"xent_weight": 0.01}
#: A normalised step of 2 turns four pixels round, or shares that out over many.
_REFINED: dict[str, Any] = {
    **_SHARE,
    "energy_weight": 1.0,
    "energy_optimiser": {"lr": 2e-3},
}

#: Overrides of the recipes' defaults for pixels, by method; with an energy that is a map, ``alen``
#: and ``aen`` compare pixel by pixel besides (``local``).
PIXEL_DEFAULTS: dict[str, dict[str, Any]] = {
    "seal-regression": {**_SHARE, "energy_weight": 0.1, "energy_steps": 1},
    "seal-regression-s": {**_SHARE, "energy_weight": 1.0, "energy_steps": 1},
    "seal-static-regression": {**_SHARE, "energy_weight": 1.0},
    "seal-margin": {**_SHARE, "energy_weight": 1.0},
    "seal-static-margin": {**_SHARE, "energy_weight": 1.0},
    "implicit-dvn": _SHARE,
    "implicit-ssvm": _SHARE,
    "alen": {
        **_REFINED,
        "inference": {"steps": 3, "lr": 2.0},
        "predict_steps": 10,
        "noise": 4.0,
        "radius": 2.0,
    },
    "aen": {**_REFINED, "inference": {"steps": 10, "lr": 2.0}},
}


def pixel_defaults(method: str, energy_net: Any, plateau: int | None) -> dict[str, Any]:
    """Overrides of a recipe's defaults for pixels: soft IoU, the above, and another plateau."""
    recipe = defaults(method)
    found: dict[str, Any] = {"cost": "pixel-iou"} if recipe.get("cost") == "f1" else {}
    if "local" in recipe:
        found["local"] = energy_for(energy_net, method) in MAPS
    found |= PIXEL_DEFAULTS.get(method, {})
    for key, part in recipe.items():
        if plateau is not None and getattr(part, "plateau", None) is not None:
            found = with_value(found, [key, "plateau"], plateau)
    return found


def _unet(channels: int, outputs: int, *, width: int, dropout: float) -> UNet:
    widths = [max(8, -(-width * n // 16) * 8) for n in (1, 2, 4)]
    return UNet(channels, outputs, widths=widths, dropout=dropout)


def _map_of(net: Callable[..., nn.Module]) -> Callable[..., Energy]:
    """A score map from such a net; it takes images of any size."""

    def build(
        channels: int, outputs: int, *, size: tuple[int, int], width: int, dropout: float
    ) -> Energy:
        return ScoreMap(partial(net, width=width, dropout=dropout), channels, outputs)

    return build


NETS: dict[str, Callable[..., nn.Module]] = {"fcn": FCN, "unet": _unet}
ENERGIES: dict[str, Callable[..., Energy]] = {
    "critic": ConvolutionalCritic,
    "score-map": _map_of(FCN),
    "unet-map": _map_of(_unet),
}


#: Deviations from the training images' mean beyond which a channel was scaled otherwise.
FAR = 30.0
#: Energies that are a mean over pixels.
MAPS = ("score-map", "unet-map")


def energy_for(chosen: Any, method: str) -> Any:
    """The energy asked for, or the one that suits the method."""
    if chosen is not None:
        return chosen
    return "unet-map" if method in ("alen", "aen") else "critic"


def check_net(name: str, value: Any, options: Iterable[str | None]) -> None:
    """Raise unless ``value`` is one of the names or a function that builds a net."""
    if isinstance(value, nn.Module):
        raise SettingError(
            f"{name} is a {type(value).__name__}; give a function that builds one, (channels, "
            "outputs) -> module: every fit starts from a new net"
        )
    if not callable(value) and value not in options:
        check_choice(name, value, [option for option in options if option is not None])


def check_crop(value: Any) -> None:
    """Raise unless ``value`` is "auto", None, a side or a height and a width."""
    if value is None or value == "auto":
        return
    sides = value if isinstance(value, tuple | list) else (value, value)
    if len(sides) != 2:
        raise SettingError(f"crop is {value!r}; give a side, a height and a width, 'auto' or None")
    for side in sides:
        if not isinstance(side, Integral):
            raise SettingError(
                f"crop is {value!r}; give a side in pixels, a height and a width, 'auto' or None"
            )
        check_int("crop", side)


def crop_of(crop: Any, size: tuple[int, int]) -> tuple[int, int]:
    """Height and width of a crop of images of that size."""
    if crop is None:
        return size
    if crop == "auto":
        return -(-3 * size[0] // 4), -(-3 * size[1] // 4)
    sides = crop if isinstance(crop, tuple | list) else (crop,)
    height, width = int(sides[0]), int(sides[-1])
    if height > size[0] or width > size[1]:
        raise SettingError(
            f"crop is {height} x {width} and the images are {size[0]} x {size[1]}; give a smaller "
            "one, or None for whole images"
        )
    return height, width


def check_fits(
    data: ImageData,
    *,
    channels: int,
    crop: tuple[int, int],
    classes: list[str],
    what: str | None = None,
) -> None:
    """Raise unless a model of these channels, crops and classes can take the data.

    ``what`` is what errors call the data; its own name where None.
    """
    what = data.name if what is None else what
    if data.channels != channels:
        kinds = {1: "grey images (1 channel)", 3: "images of 3 channels"}
        came, wanted = (kinds.get(n, f"images of {n} channels") for n in (data.channels, channels))
        # (H, W, 3) reads as H grey images of W x 3.
        single = data.channels == 1 and data.size[1] == channels
        hint = "give a single image as image[None]" if single else "convert them"
        raise DataError(f"{what} has {came} and the model takes {wanted}; {hint}")
    if data.size[0] < crop[0] or data.size[1] < crop[1]:
        raise DataError(
            f"{what} has images of {data.size[0]} x {data.size[1]} and the model was trained "
            f"on crops of {crop[0]} x {crop[1]}; give images as large, or train with a smaller crop"
        )
    if data.masks is not None:
        named_classes(classes, data, what)


def check_white(data: ImageData, white: int | None, what: str | None = None) -> None:
    """Raise where pictures of more than 8 bits were scaled otherwise than those of training."""
    if None not in (data.white, white) and data.white != white:
        raise DataError(
            f"{data.name if what is None else what} has grey values scaled from 0 to {data.white}, "
            f"and in training from 0 to {white}; read it with load_images(path, white={white})"
        )


def far_from_training(data: ImageData, standardiser: Standardiser | None) -> str | None:
    """What to tell where the images are scaled otherwise than those of training, else None."""
    if standardiser is None or len(standardiser.mean) != data.channels:
        return None  # of other channels check_fits tells
    means = data.images.mean((0, 1, 2), dtype=np.float64)
    means = means / 255 if data.images.dtype == np.uint8 else means  # without a copy of all images
    distance = np.abs(means - standardiser.mean) / standardiser.scale
    channel = int(distance.argmax())
    if distance[channel] <= FAR:
        return None
    return (
        f"{data.name}: channel {channel} has a mean of {means[channel]:.4g}, and in training "
        f"{standardiser.mean[channel]:.4g} with a deviation of {standardiser.scale[channel]:.4g}; "
        "uint8 images count as 0 to 1 and other numbers as they are: give images as in training"
    )


def check_classes(value: Any) -> None:
    """Raise unless ``value`` is None, a number of classes or their names."""
    if value is None or (isinstance(value, Integral) and int(value) <= MOST_CLASSES):
        return
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError(
            f"classes is {value!r}; give their number, at most {MOST_CLASSES:,}, or a list of "
            "their names"
        )


def named_classes(classes: Any, data: ImageData, what: str | None = None) -> list[str]:
    """The classes' names; an error where a mask has one that was not declared.

    ``what`` is what errors call the data; its own name where None.
    """
    what = data.name if what is None else what
    if classes is None:
        _check_gaps(data, what)
        classes = data.classes
    check_classes(classes)
    if isinstance(classes, Integral):
        names = [str(number) for number in range(int(classes))]
    else:
        names = [str(name) for name in classes]
    if len(names) < 2 or len(set(names)) < len(names):
        raise SettingError(f"classes is {classes!r}; give 2 or more, or their names, each once")
    assert data.masks is not None
    if data.masks.max() >= len(names):
        row = int(np.argmax((data.masks >= len(names)).any((1, 2))))
        raise DataError(
            f"{what}: the mask of image {data.names[row]!r} has the class "
            f"{data.masks[row].max()}, and there are {len(names)}: {', '.join(names)} (numbered "
            "from 0); declare all classes, or correct the mask"
        )
    return names


def _check_gaps(data: ImageData, what: str) -> None:
    """Raise where masks use so few of the classes they ask for that others were meant."""
    values = np.unique(np.asarray(data.masks)).tolist()
    if data.classes > 2 and 2 * len(values) < data.classes:
        listed = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
        raise DataError(
            f"{what}: the masks hold the values {listed} up to {values[-1]}, which would be "
            f"{data.classes} classes: classes are numbered from 0 without gaps, and pixels to be "
            f"ignored are not supported; renumber them, or declare classes={data.classes} if they "
            "are meant"
        )
