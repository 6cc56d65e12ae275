"""Cost-augmented nets that share with the test-time net (paper 003, section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from lossnet.errors import SettingError
from lossnet.nets.base import Derived, Headed
from lossnet.spaces import Space

if TYPE_CHECKING:
    from lossnet.context import Context

#: What the stacked map multiplies a probability with at first, so that F starts close to A.
_SHARPNESS = 10.0


class SharedHead(Derived):
    """A second head on another net's features ("shared", paper 003, Figure 1b).

    Args:
        base: name of the net whose features it reads.
        head: the module from features to logits.
    """

    shares_features: ClassVar[bool] = True

    def __init__(self, base: str, head: nn.Module) -> None:
        super().__init__()
        self.base = base
        self.own_head = head

    @classmethod
    def build(cls, base: str, net: nn.Module, outputs: tuple[int, ...], space: Space) -> SharedHead:
        if not isinstance(net, Headed):
            raise SettingError(
                f"the net {base!r} is a {type(net).__name__}, which has no features to share; "
                "derive it from lossnet.nets.Headed, or take sharing='separated' or 'stacked'"
            )
        return cls(base, net.new_head())

    def logits(self, context: Context) -> Tensor:
        return self.own_head(context.features(self.base))


class Stacked(Derived):
    """F(x, y*) = relax(W [A(x); y*] + b), on top of another net's output ("stacked").

    Paper 003, section 3.1. A(x) is held constant, so no gradient reaches the net below. On
    labels, which do not exclude each other, W holds two numbers per label; on classes it is the
    paper's C x 2C matrix. It starts as relax(10 A(x)), respectively relax(10 A(x) - 5): a sharper
    A(x), blind to y*.

    On classes W and b are held divided by 10. AdamW moves a weight by about its learning rate per
    step; held as they are, weights of 10 would keep F close to A throughout training.

    Args:
        base: name of the net it stands on.
        labels: number of labels L, or of classes C.
        coupled: whether they are classes that exclude each other.
    """

    needs_target: ClassVar[bool] = True

    def __init__(self, base: str, labels: int, *, coupled: bool = False) -> None:
        super().__init__()
        self.base, self.coupled = base, coupled
        start = torch.eye(labels) if coupled else torch.full((labels,), _SHARPNESS)
        self.on_output = nn.Parameter(start)
        self.on_target = nn.Parameter(torch.zeros_like(self.on_output))
        self.bias = nn.Parameter(torch.full((labels,), 0.0 if coupled else -_SHARPNESS / 2))

    @classmethod
    def build(cls, base: str, net: nn.Module, outputs: tuple[int, ...], space: Space) -> Stacked:
        return cls(base, outputs[-1], coupled=space.coupled)

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        """Logits of the affine map of an output A(x) and the truth, both ``(B, *S)``."""
        if self.coupled:
            return _SHARPNESS * (output @ self.on_output + target @ self.on_target + self.bias)
        return torch.addcmul(self.bias, output, self.on_output).addcmul(target, self.on_target)

    def logits(self, context: Context) -> Tensor:
        output = context.space.relax(context.logits(self.base).detach())
        return self(output, context.target)
