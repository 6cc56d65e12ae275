"""AdamW on a few rows of a weight: the others wait, and catch up when they are read."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

#: Rows that are brought up to date at a time.
_ROWS = 4096
#: What keeps 1 / √v finite, far below ε².
_TINY = 1e-37


class RowSteps:
    """The rows of one weight ``(..., H)``, each with the number of the step it is up to date with.

    AdamW also moves a row that has no gradient: by what is left of its first moment, and by weight
    decay. With m and v as they were at step s, the steps s + 1 to t, of learning rates η_j, leave

        p_t = p_s Π_j (1 - η_j λ) - Σ_j c_j m / (√v + ε a_j) Π_{i>j} (1 - η_i λ),
        a_j = √(1 - β2^j) β2^((s-j)/2),    c_j = η_j β1^(j-s) / (1 - β1^j) a_j,    j = s + 1 .. t.

    With ε times the mean of the a_j, weighted by what m / √v is multiplied with, in place of every
    ε a_j, product and sum are numbers that depend on s and t alone, and a row catches up by one
    multiplication and one addition, however many steps it has waited for. This is AdamW itself but
    for rounding and for terms of second order in ε / √v: ε = 1e-8 is all but invisible next to
    gradients of 1e-6.

    Rows of the last batch are held by themselves, and written to the weight when others are opened.

    Args:
        weight: changed in place.
        slots: its ``step``, ``exp_avg`` and ``exp_avg_sq``.
        betas, weight_decay, eps: of AdamW.
    """

    def __init__(
        self,
        weight: Tensor,
        slots: Mapping[str, Tensor],
        *,
        betas: tuple[float, float],
        weight_decay: float,
        eps: float,
    ) -> None:
        self._held = [
            one.detach().view(-1, weight.shape[-1])
            for one in (weight, slots["exp_avg"], slots["exp_avg_sq"])
        ]
        self._step, self._betas, self._decay, self._eps = slots["step"], betas, weight_decay, eps
        width = weight.shape[-1]
        # Numbers of steps are counted from the last time that all rows were up to date.
        self._last = torch.zeros(len(self._held[0]), dtype=torch.int32, device=weight.device)
        self._opened: Tensor | None = None
        self._buffers = self._held[0].new_empty(4, 0, width)
        self._start()

    def _start(self) -> None:
        self._begun, self._now = int(self._step.item()), 0
        # Of rows that are up to date with step s: product, sum, and sum times the mean of a.
        self._table = torch.zeros(3, 64, dtype=torch.float64)
        self._table[0, 0] = 1.0

    def open(self, rows: Tensor) -> Tensor | None:
        """The values of these rows ``(R, H)`` as of now; None where all rows are as of now."""
        return self.hold(rows)[0] if self._now else None

    def hold(self, rows: Tensor) -> list[Tensor]:
        """Values and both moments of these different rows, to change in place: ``(R, H)`` each."""
        if self._opened is None or not torch.equal(self._opened, rows):
            self._write()
            if self._buffers.shape[1] < len(rows):
                # Memory that is used again: fresh pages cost more than the arithmetic.
                more = len(rows) * 5 // 4
                self._buffers = self._buffers.new_empty(4, more, self._buffers.shape[2])
            self._opened = rows
            for held, own in zip(self._held, self._room(), strict=False):
                torch.index_select(held, 0, rows, out=own)
            self._catch_up(self._room(), self._last[rows])
            self._last[rows] = self._now
        return self._room()[:3]

    def _room(self) -> list[Tensor]:
        """The opened rows' values and moments, and as much memory to work in."""
        assert self._opened is not None
        return [buffer[: len(self._opened)] for buffer in self._buffers]

    def _write(self) -> None:
        """Write the opened rows to the weight and its slots."""
        if self._opened is not None:
            for held, own in zip(self._held, self._room(), strict=False):
                _assign(held, self._opened, own)
            self._opened = None

    def stepped(self, lr: float) -> None:
        """Count a step that was taken on the opened rows, with this learning rate."""
        self._extend(lr)
        self._last[self._opened] = self._now

    def _extend(self, lr: float) -> None:
        """Count a step: products and sums of all rows that do not take it."""
        (beta1, beta2), now = self._betas, self._now + 1
        if now == self._table.shape[1]:
            self._table = torch.cat([self._table, torch.zeros_like(self._table)], 1)
        if self._decay:
            self._table[:, :now] *= 1.0 - lr * self._decay
        t = self._begun + now
        waited = torch.arange(now, 0, -1, dtype=torch.float64)
        scale, correction = lr / (1.0 - beta1**t), 1.0 - beta2**t
        self._table[1, :now] += scale * correction**0.5 * (beta1 / beta2**0.5) ** waited
        self._table[2, :now] += scale * correction * (beta1 / beta2) ** waited
        self._table[0, now], self._now = 1.0, now

    def _catch_up(self, rows: list[Tensor], last: Tensor) -> None:
        """Bring rows up to date that are so with the steps ``last``.

        ``rows`` are their values, both moments, and memory of the same size to work in.
        """
        value, first, second, room = rows
        if not (last < self._now).any():
            return
        beta1, beta2 = self._betas
        waited = torch.arange(self._now, -1, -1, dtype=torch.float64)
        kept, moved, mean = self._table[:, : len(waited)]
        eps = self._eps * torch.where(moved > 0, mean / moved, 1.0)
        numbers = torch.stack([kept, moved, eps, beta1**waited, beta2**waited])
        of_row = numbers.to(value)[:, last.long()].unsqueeze(2)
        kept, moved, eps, of_first, of_second = of_row
        # √v as v / √v: torch.sqrt takes several times as long where v is 0 or nearly so.
        torch.add(second, _TINY, out=room).rsqrt_().mul_(second).add_(eps)
        torch.div(first, room, out=room)
        if self._decay:
            value.mul_(kept)
        value.addcmul_(room, moved, value=-1.0)
        first.mul_(of_first)
        second.mul_(of_second)

    def settle(self) -> None:
        """Bring all rows up to date."""
        if self._now == 0:
            return
        self._write()
        room = self._held[0].new_empty(min(_ROWS, len(self._last)), self._held[0].shape[1])
        for first in range(0, len(self._last), _ROWS):
            part = slice(first, first + _ROWS)
            last = self._last[part]
            self._catch_up([*(held[part] for held in self._held), room[: len(last)]], last)
        self._last.zero_()
        self._start()


def _assign(held: Tensor, rows: Tensor, values: Tensor) -> None:
    if held.device.type == "cpu":
        held.numpy()[rows.numpy()] = values.numpy()  # in 0.6 of index_copy_'s time
    else:
        held.index_copy_(0, rows, values)
