"""What a task says of a fitted model to have it exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn


@dataclass(frozen=True)
class Input:
    """An input of the exported net.

    Args:
        example: a tensor of its dtype and shape, with at least 2 entries along every axis.
        free: the axes that may have another length.
    """

    example: Tensor
    free: tuple[int, ...]


@dataclass(frozen=True)
class Exported:
    """A fitted model, as far as it is exported.

    Args:
        net: what predicts: it takes tensors by the names of ``inputs`` and returns a tensor, or a
            tuple of them, in the order of ``outputs``. It is traced on the examples.
        inputs: by name.
        outputs: their names.
        model: ``"module:Class"``, the :class:`~lossnet.exporting.runtime.base.Model` that reads,
            codes and decides in numpy, in one of the files of ``runtime``.
        runtime: files that are copied to the folder's package ``runtime``; they may import
            each other and ``base``, relatively, and numpy.
        facts: what that class must know, as JSON can hold it.
        arrays: the same as arrays.
        reads: what files ``predict.py`` takes, for the folder's README.
    """

    net: nn.Module
    inputs: Mapping[str, Input]
    outputs: Sequence[str]
    model: str
    runtime: Sequence[Path]
    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    reads: str


def runtime_files(*names: str) -> list[Path]:
    """Files of :mod:`lossnet.exporting.runtime` by their names without ``.py``."""
    return [Path(__file__).parent / "runtime" / f"{name}.py" for name in names]
