"""What the nets' passes are computed in: float32, or bfloat16 by ``torch.autocast``."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from lossnet.devices import device_of
from lossnet.errors import SettingError
from lossnet.parameters import check_value

Precision = Literal["float32", "bfloat16"]


def check_precision(precision: Precision, device: torch.device | str) -> None:
    """Raise where the device lacks the precision.

    Every CPU has bfloat16; without the instructions for it (avx512_bf16, amx) it is slower.
    """
    check_value("precision", Precision, precision)
    kind = torch.device(device).type
    if precision == "float32" or kind == "cpu":
        return
    lacking = kind == "cuda" and not torch.cuda.is_bf16_supported()
    if lacking or not torch.amp.is_autocast_available(kind):
        raise SettingError(
            f"precision must be 'float32' on {kind}, which has no bfloat16 here, got {precision!r}"
        )


def autocast(net: nn.Module) -> torch.autocast:
    """Run a pass of the net in bfloat16.

    Without torch's cache of weights in bfloat16: it would give a pass with a graph the weights
    that one without a graph left there.
    """
    return torch.autocast(device_of([net]).type, dtype=torch.bfloat16, cache_enabled=False)


def as_float32(found: Any) -> Any:
    """What a pass returns, its bfloat16 tensors as float32, whatever it is made of."""
    return torch.utils._pytree.tree_map_only(Tensor, _raised, found)


def _raised(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor
