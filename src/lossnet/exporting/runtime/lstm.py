"""The operator that a ``model.pt2`` with an LSTM is written with: ``lossnet::lstm``, in torch.

torch.export unrolls ``nn.LSTM`` to the length of its example; as one operator it stays whole.
"""

from __future__ import annotations

import torch
from torch import Tensor

_SCHEMA = "(Tensor x, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"


def _lstm(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    """``(B, T, hidden)`` of ``(B, T, d)``."""
    zeros = x.new_zeros(1, x.shape[0], w_hh.shape[1])
    weights = [w_ih, w_hh, b_ih, b_hh]
    found: Tensor = torch.lstm(x, [zeros, zeros], weights, True, 1, 0.0, False, False, True)[0]
    return found


def _shaped(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], x.shape[1], w_hh.shape[1])


if not hasattr(torch.ops.lossnet, "lstm"):  # lossnet and an exported folder in one process
    _operator = torch.library.custom_op(
        "lossnet::lstm", _lstm, mutates_args=(), device_types="cpu", schema=_SCHEMA
    )
    _operator.register_fake(_shaped)
