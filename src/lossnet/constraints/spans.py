"""Constraints on the spans of a sequence."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lossnet.constraints.constraint import Constraint
from lossnet.errors import SettingError
from lossnet.spaces import sparse


@dataclass(frozen=True)
class UniqueSpans(Constraint):
    """A role has at most one span: Σ_roles Σ_{s<t} p_s p_t, the expected number of pairs.

    p_t is the probability that a span of the role begins at position t, Σ_{c in group} y_tc. The
    sum over pairs is ((Σ_t p_t)² - Σ_t p_t²) / 2. Li et al. (2020), whose constraint this is,
    relax the rule "B-X at s implies no other B-X" with t-norms instead.

    Args:
        groups: for each role the numbers of the tags that begin one of its spans; without any,
            nothing is violated.

    >>> y = torch.eye(3)[[0, 2, 0, 1]].expand(1, 1, 4, 3)  # B-A, O, B-A, I-A
    >>> UniqueSpans([[0]])(y)
    tensor([[1.]])
    """

    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        groups = tuple(tuple(map(int, group)) for group in self.groups)
        if not all(groups):
            raise SettingError(f"a group must have at least one tag, got {self.groups!r}")
        object.__setattr__(self, "groups", groups)

    def __call__(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = sparse.dense(y, y.dtype if y.is_floating_point() else torch.get_default_dtype())
        none = y.new_zeros((0, *y.shape[:-1]))
        begins = torch.cat([none, *(y[..., list(group)].sum(-1)[None] for group in self.groups)])
        if mask is not None:
            begins = begins.masked_fill(~mask, 0.0)
        pairs = begins.sum(-1).square() - begins.square().sum(-1)
        return 0.5 * pairs.sum(0)
