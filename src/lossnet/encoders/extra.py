"""The packages of the extra ``lossnet[text]``, imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import Any

from lossnet.errors import SettingError


def need(module: str, what: str) -> Any:
    """The module; where it is not installed, an error that says what needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        missing = f"{what} needs the text extra, and {package} cannot be imported ({error})"
        raise SettingError(f"{missing}; run pip install 'lossnet[text]'") from error
