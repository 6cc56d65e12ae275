"""Two small tasks made from scikit-learn's 1,797 handwritten digits (8 x 8 pixels)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.errors import SettingError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.parts import Parts

# Properties of the number and of the digit as it is printed, not of one person's drawing: a
# handwritten 4 may be closed and a handwritten 2 may have a loop.
ATTRIBUTES: dict[str, frozenset[int]] = {
    "even": frozenset((0, 2, 4, 6, 8)),
    "odd": frozenset((1, 3, 5, 7, 9)),
    "prime": frozenset((2, 3, 5, 7)),
    "composite": frozenset((4, 6, 8, 9)),
    "square": frozenset((0, 1, 4, 9)),
    "fibonacci": frozenset((0, 1, 2, 3, 5, 8)),
    "power_of_two": frozenset((1, 2, 4, 8)),
    "multiple_of_three": frozenset((0, 3, 6, 9)),
    "above_four": frozenset((5, 6, 7, 8, 9)),
    "printed_loop": frozenset((0, 4, 6, 8, 9)),
    "printed_two_loops": frozenset((8,)),
    "printed_straight": frozenset((1, 4, 7)),
}
ATTRIBUTE_LABELS = [f"digit_{d}" for d in range(10)] + list(ATTRIBUTES)


def valid_label_sets() -> np.ndarray[Any, Any]:
    """The ten label sets that exist, (10, 22): row d belongs to the digit d."""
    attributes = np.array([[d in members for members in ATTRIBUTES.values()] for d in range(10)])
    return np.concatenate([np.eye(10, dtype=np.uint8), attributes.astype(np.uint8)], axis=1)


def contradicts(Y: Any) -> np.ndarray[Any, Any]:
    """Which rows of Y (n, 22) are none of the ten label sets that exist.

    >>> contradicts(valid_label_sets()).any()
    np.False_
    """
    Y = np.asarray(Y)
    valid = valid_label_sets()
    if Y.ndim != 2 or Y.shape[1] != valid.shape[1]:
        raise SettingError(f"Y has shape {Y.shape}; expected (rows, {valid.shape[1]})")
    result: np.ndarray[Any, Any] = ~(Y[:, None, :] == valid[None]).all(axis=2).any(axis=1)
    return result


def digits_attributes(
    seed: int = 0, *, n_train: int = 300, n_validation: int = 300, noise: float = 0.5
) -> Parts[MultiLabelData]:
    """Noisy digits in, the digit and a dozen facts that follow from it out.

    64 pixels in [0, 1] plus Gaussian noise -> 22 labels. Only ten label sets exist, so a
    prediction label by label can contradict itself: see :func:`contradicts`. The seed draws the
    noise and shuffles the rows.

    Args:
        seed: of the noise and of the rows' order.
        n_train: rows to train on; few, so that the facts help.
        n_validation: rows to validate on; the rest are for testing.
        noise: standard deviation of the noise.
    """
    if noise < 0:
        raise SettingError(f"noise={noise}: a standard deviation cannot be negative")
    pixels, digit = _load()
    rng = np.random.default_rng(seed)
    X = pixels + noise * rng.standard_normal(pixels.shape)
    names = _pixel_names(0, 8), ATTRIBUTE_LABELS
    data = MultiLabelData(X, valid_label_sets()[digit], *names, "digits-attributes")
    return _split(data, rng.permutation(len(digit)), n_train, n_validation)


def digits_completion(
    seed: int = 0, *, n_train: int = 1000, n_validation: int = 300
) -> Parts[MultiLabelData]:
    """The upper half of a digit in, its lower half out.

    32 pixels in [0, 1] -> 32 labels, on where a pixel of the lower half has at least half of
    the full ink. The seed shuffles the rows.
    """
    pixels, _ = _load()
    rng = np.random.default_rng(seed)
    names = _pixel_names(0, 4), _pixel_names(4, 8)
    data = MultiLabelData(pixels[:, :32], pixels[:, 32:] >= 0.5, *names, "digits-completion")
    return _split(data, rng.permutation(len(pixels)), n_train, n_validation)


def _load() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    from sklearn.datasets import load_digits

    pixels, digit = load_digits(return_X_y=True)
    return pixels / 16.0, digit


def _pixel_names(first: int, last: int) -> list[str]:
    return [f"pixel_{r}_{c}" for r in range(first, last) for c in range(8)]


def _split(
    data: MultiLabelData, order: np.ndarray[Any, Any], n_train: int, n_validation: int
) -> Parts[MultiLabelData]:
    if n_train < 1 or n_validation < 1 or n_train + n_validation >= len(order):
        rule = f"both must be positive and leave some of the {len(order)} rows for testing"
        raise SettingError(f"n_train={n_train} and n_validation={n_validation}: {rule}")
    return Parts(*map(data.subset, np.split(order, [n_train, n_train + n_validation])))
