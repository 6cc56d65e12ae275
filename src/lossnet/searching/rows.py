"""The rows of a search: the same training and validation rows in every trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lossnet.errors import DataError


@dataclass(frozen=True)
class Data:
    """What every trial is trained and validated on.

    Args:
        inputs: the first arguments of ``fit``: inputs and truth, or data that holds both.
        validation: the same of validation rows.
        fit_params: further arguments of ``fit``.
        checksums: of all of it, to know a search by.
    """

    inputs: tuple[Any, ...]
    validation: Any
    fit_params: Mapping[str, Any]
    checksums: str


def data_of(
    model: Any, inputs: tuple[Any, ...], validation: Any, fit_params: Mapping[str, Any]
) -> Data:
    """The data of a search; without validation data some rows are held out for it."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    copy = clone(model)
    read = copy._labelled(inputs, "the training data")
    checksums = [read.checksum()]
    if validation is None:
        fraction, rows = model.validation_fraction, len(read)
        if not 1 <= round(fraction * rows) < rows:
            what = f"validation_fraction={fraction} of {rows} rows leaves none to validate on"
            raise DataError(f"{what}; a search needs some: pass validation data")
        parts = copy._cut(read, round(fraction * rows) / rows, copy._seed())
        if len(inputs) == 1:
            train, validation = (read.subset(part) for part in parts)
            inputs = (train,)
        else:
            cut = [[_safe_indexing(one, part) for one in inputs] for part in parts]
            inputs, validation = tuple(cut[0]), tuple(cut[1])
    given = validation if isinstance(validation, tuple) else (validation,)
    checksums.append(clone(model)._labelled(given, "validation_data").checksum())
    known = [value for value in fit_params.values() if hasattr(value, "checksum")]
    checksums += [value.checksum() for value in known]
    return Data(inputs, validation, fit_params, " ".join(checksums))
