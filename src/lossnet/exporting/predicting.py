"""The net that predicts as a module by itself."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor, nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.nets import Derived
from lossnet.spaces import Space


class Predicting(nn.Module):
    """Inputs to what a net's pass gives, by the same pass as in prediction.

    Args:
        nets: those of a fitted model.
        name: the net that predicts; one it is derived from is kept with it.
        space: what an output is.
    """

    def __init__(self, nets: Mapping[str, nn.Module], name: str, space: Space) -> None:
        super().__init__()
        net = nets[name]
        kept: Iterable[str] = (net.base, name) if isinstance(net, Derived) else (name,)
        self.nets = nn.ModuleDict({one: copy.deepcopy(nets[one]) for one in kept}).cpu().eval()
        self.name, self.space = name, space

    def context(self, x: Any, mask: Tensor | None = None) -> Context:
        """A batch of inputs and the nets."""
        return Context(dict(self.nets.items()), Batch(x, None, mask), self.space)

    def forward(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """Scores ``(B, *S)``."""
        return self.context(x, mask).scores(self.name)

    def unary(self, x: Any, mask: Tensor | None = None) -> Any:
        """The encoding of an energy."""
        return self.context(x, mask).encoded(self.name)
