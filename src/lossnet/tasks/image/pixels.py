"""The nets of :class:`~lossnet.ImageSegmenter` by name, its defaults, and its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from torch import nn

from lossnet.checks import check_choice, check_flag, check_int, check_share
from lossnet.energies import ConvolutionalCritic, Energy, ScoreMap
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.nets import FCN, SharedFeatures, UNet
from lossnet.parameters import with_value
from lossnet.recipes import defaults
from lossnet.tasks.image.images import ImageData, Size, known_pixels
from lossnet.tasks.image.metrics import IMAGE_METRICS

#: More classes than 16-bit masks can hold are a mistake.
MOST_CLASSES = 2**16
#: The longest side of a crop that is not asked for.
LARGEST_CROP = 64
#: Crops of an epoch, and the most of one image, that are not asked for.
EPOCH_CROPS, MOST_CROPS = 1000, 4
#: Energies that are a mean over pixels.
MAPS = ("score-map", "unet-map")

#: Cross-entropy is a sum over hundreds of pixels, next to which a value between 0 and 1 would count
#: for nothing: a hundredth of it.
_SHARE: dict[str, Any] = {"xent_weight": 0.01}
#: A normalised step of 2 turns four pixels round, or shares that out over many.
_REFINED: dict[str, Any] = {**_SHARE, "energy_weight": 1.0, "energy_optimiser": {"lr": 2e-3}}

#: The value of a mask changes by a thousandth with a pixel, so plain steps on it are long.
_LONG: dict[str, Any] = {"steps": 30, "lr": 50.0}

_NOISE = {"noise": 4.0, "radius": 2.0}

#: Overrides of the recipes' defaults for pixels, by method; with an energy that is a map, ``alen``
#: and ``aen`` also compare pixel by pixel (``local``).
PIXEL_DEFAULTS: dict[str, dict[str, Any]] = {
    "dvn": {
        "inference": _LONG,
        "predict_steps": 30,
        "energy_optimiser": {"weight_decay": 6e-2, "decay": None},
    },
    "seal-regression": {**_SHARE, "energy_weight": 0.1, "energy_steps": 1},
    "seal-regression-s": {**_SHARE, "energy_weight": 1.0, "energy_steps": 1},
    "seal-static-regression": {**_SHARE, "energy_weight": 1.0},
    "seal-margin": {**_SHARE, "energy_weight": 1.0},
    "seal-static-margin": {**_SHARE, "energy_weight": 1.0},
    "implicit-dvn": _SHARE,
    "implicit-ssvm": _SHARE,
    "alen": {
        **{**_REFINED, "inference": {"steps": 3, "lr": 2.0}, "predict_steps": 10, **_NOISE},
        "share": 0.1,  # an epoch takes as long as four of cross-entropy
    },
    "aen": {**_REFINED, "inference": {"steps": 10, "lr": 2.0}},
}


def pixel_defaults(method: str, energy_net: Any, plateau: int | None) -> dict[str, Any]:
    """Overrides of a recipe's defaults for pixels: soft IoU, the above, and another plateau."""
    if plateau is not None:
        check_int("plateau", plateau)
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
    """A score map from a net of this kind; it takes images of any size."""

    def build(channels: int, outputs: int, *, size: Size, width: int, dropout: float) -> Energy:
        return ScoreMap(partial(net, width=width, dropout=dropout), channels, outputs)

    return build


NETS: dict[str, Callable[..., nn.Module]] = {"fcn": FCN, "unet": _unet}
ENERGIES: dict[str, Callable[..., Energy]] = {
    "critic": ConvolutionalCritic,
    "score-map": _map_of(FCN),
    "unet-map": _map_of(_unet),
}


def energy_for(chosen: Any, method: str) -> Any:
    """The energy asked for, or the one that suits the method."""
    if chosen is not None:
        return chosen
    return "unet-map" if method in ("alen", "aen") else "critic"


def filled_in(params: Mapping[str, Any], method: Method) -> dict[str, Any]:
    """The loss-net's parameters that None leaves to the method or to the task-net's."""
    chosen, dropout = energy_for(params["energy_net"], method.name), params["energy_dropout"]
    if dropout is None:
        dropout = 0.25 if chosen == "critic" and not method.descends_on_energy else 0.0
    width = params["energy_width"]
    if width is None:
        # Inference runs a map dozens of times per batch.
        width = -(-params["width"] // 2) if chosen == "unet-map" else params["width"]
    return {"energy_net": chosen, "energy_dropout": dropout, "energy_width": width}


def make_net(
    name: str,
    params: Mapping[str, Any],
    channels: int,
    outputs: int,
    crop: Size,
    features: SharedFeatures | None = None,
) -> nn.Module:
    """The net of that name from parameters that are filled in."""
    if name == "energy":
        sizes = {"width": params["energy_width"], "dropout": params["energy_dropout"]}
        sizes |= {} if features is None else {"features": features}
        return ENERGIES[params["energy_net"]](channels, outputs, size=crop, **sizes)
    sizes = {"width": params["width"], "dropout": params["dropout"]}
    return NETS[params["task_net"]](channels, outputs, **sizes)


def check_settings(params: Mapping[str, Any]) -> None:
    """Raise on parameters, filled in, that cannot work."""
    for name in ("width", "energy_width", "crops", "average"):
        if name != "crops" or params[name] is not None:
            check_int(name, params[name])
    for name in ("dropout", "energy_dropout"):
        check_share(name, params[name])
    check_choice("metric", params["metric"], IMAGE_METRICS)
    check_classes(params["classes"])
    check_crop(params["crop"])
    check_flag("flip", params["flip"])
    if params["energy_features"] == "shared" and params["energy_net"] in MAPS:
        rule = f"needs energy_net='critic', got {params['energy_net']!r}"
        why = "which runs its net on image and output together"
        raise SettingError(
            f"energy_features='shared' {rule}, {why}; use 'critic', or 'own' features"
        )
    for name, options in (("task_net", NETS), ("energy_net", ENERGIES)):
        if isinstance(params[name], nn.Module):
            rule = f"{name} must be a function that builds a net, (channels, outputs) -> module"
            got = type(params[name]).__name__
            raise SettingError(f"{rule}, since every fit starts from a new one; got a {got}")
        if not callable(params[name]):
            check_choice(name, params[name], options)


def check_crop(value: Any) -> None:
    """Raise unless ``value`` is "auto", None, a side or a height and a width."""
    if value is None or value == "auto":
        return
    sides = value if isinstance(value, tuple | list) else (value, value)
    if len(sides) != 2 or not all(isinstance(side, Integral) for side in sides):
        rule = "crop must be a side in pixels, a height and a width, 'auto' or None"
        raise SettingError(f"{rule}, got {value!r}")
    for side in sides:
        check_int("crop", side)


def crop_of(crop: Any, size: Size) -> Size:
    """Height and width of a crop of images of that size."""
    if crop is None:
        return size
    if crop == "auto":
        height, width = (min(LARGEST_CROP, -(-3 * side // 4)) for side in size)
        return height, width
    sides = crop if isinstance(crop, tuple | list) else (crop,)
    height, width = int(sides[0]), int(sides[-1])
    if height > size[0] or width > size[1]:
        rule = f"crop must be at most {size[0]} x {size[1]}, the images' size, or None"
        raise SettingError(f"{rule} to crop nothing, got {height} x {width}")
    return height, width


def crops_of(crops: int | None, images: int) -> dict[str, int]:
    """Crops of each image in an epoch (``times``), and without a number the ``most`` of all.

    >>> crops_of(None, 160), crops_of(None, 1500), crops_of(6, 1500)
    ({'times': 4, 'most': 1000}, {'times': 1, 'most': 1000}, {'times': 6})
    """
    if crops is not None:
        return {"times": int(crops)}
    return {"times": max(1, min(MOST_CROPS, EPOCH_CROPS // images)), "most": EPOCH_CROPS}


def check_fits(data: ImageData, model: Any, what: str | None = None) -> None:
    """Raise unless a model can take the data, judged by what it learnt of its training data.

    Args:
        data: the images, and where known their masks.
        model: has ``channels_``, ``crop_``, ``classes_`` and ``white_``.
        what: what errors call the data; its own name where None.
    """
    what = data.name if what is None else what
    channels, crop = model.channels_, model.crop_
    if data.channels != channels:
        kinds = {1: "grey images (1 channel)", 3: "images of 3 channels"}
        came, wanted = (kinds.get(n, f"images of {n} channels") for n in (data.channels, channels))
        # (H, W, 3) reads as H grey images of W x 3.
        single = data.channels == 1 and data.size[1] == channels
        hint = "pass a single image as image[None]" if single else "convert them"
        raise DataError(f"{what} has {came} and the model takes {wanted}; {hint}")
    if data.size[0] < crop[0] or data.size[1] < crop[1]:
        came = f"{what} has images of {data.size[0]} x {data.size[1]}"
        trained = f"the model was trained on crops of {crop[0]} x {crop[1]}"
        raise DataError(f"{came} and {trained}; use images as large, or train with a smaller crop")
    if data.masks is not None:
        named_classes(model.classes_, data, what)
    white = model.white_
    if None not in (data.white, white) and data.white != white:
        came = f"{what} has grey values scaled from 0 to {data.white}"
        remedy = f"read it with load_images(path, white={white})"
        raise DataError(f"{came}, and in training from 0 to {white}; {remedy}")


def check_classes(value: Any) -> None:
    """Raise unless ``value`` is None, a number of classes or their names."""
    if value is None or (isinstance(value, Integral) and int(value) <= MOST_CLASSES):
        return
    if isinstance(value, str) or not isinstance(value, Iterable):
        rule = f"classes must be their number, at most {MOST_CLASSES:,}, or a list of their names"
        raise SettingError(f"{rule}, got {value!r}")


def named_classes(classes: Any, data: ImageData, what: str | None = None) -> list[str]:
    """The classes' names; an error where a mask has one that was not declared.

    ``what`` is what errors call the data; its own name where None.
    """
    what = data.name if what is None else what
    assert data.masks is not None
    if classes is None:
        _check_gaps(data, what)
        classes = data.classes
    check_classes(classes)
    names = [str(c) for c in (range(int(classes)) if isinstance(classes, Integral) else classes)]
    if len(names) < 2 or len(set(names)) < len(names):
        raise SettingError(f"classes must be at least 2, with different names, got {classes!r}")
    if _largest(data.mask_values, len(names)) >= len(names):
        highest = (_largest(mask, len(names)) for mask in data.masks)
        row, largest = next((k, most) for k, most in enumerate(highest) if most >= len(names))
        mask = f"the mask of image {data.names[row]!r} has the class {largest}"
        there = f"there are {len(names)}: {', '.join(names)} (numbered from 0)"
        raise DataError(f"{what}: {mask}, and {there}; declare all classes, or correct the mask")
    return names


def _largest(values: np.ndarray, classes: int) -> int:
    """The largest value of a mask that is known."""
    known = known_pixels(values, classes)
    return int(values.max() if known is None else values.max(where=known, initial=0))


def _check_gaps(data: ImageData, what: str) -> None:
    """Raise where masks use so few of the classes they imply that others must be meant."""
    values = [v for v in np.unique(data.mask_values).tolist() if v < data.classes]
    if data.classes > 2 and 2 * len(values) < data.classes:
        listed = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
        masks = f"{what}: the masks hold the values {listed} up to {values[-1]}, which would be "
        masks += f"{data.classes} classes: classes are numbered from 0 without gaps"
        remedy = f"renumber them, or declare classes={data.classes} if they are meant"
        raise DataError(f"{masks}; {remedy}; 255 is a pixel that is not known")
