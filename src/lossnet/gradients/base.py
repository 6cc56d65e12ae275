"""The interface of a gradient rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from torch import Tensor

from lossnet.needs import NOTHING

if TYPE_CHECKING:
    from lossnet.context import Context
    from lossnet.objectives import Objective


Tensors = Sequence[Tensor]


@dataclass(frozen=True)
class Gradient:
    """What a rule finds on one batch.

    Attributes:
        loss: the mean loss, a scalar without a graph.
        values: the gradient with respect to each parameter, None where there is none.
        measures: what else the history should hold, by name.
    """

    loss: Tensor
    values: Sequence[Tensor | None]
    measures: Mapping[str, float] = field(default_factory=dict)


class GradientRule(Protocol):
    """How an update's gradient is found.

    ``keeps_graph`` says whether candidates stay attached to the nets they come from.
    """

    keeps_graph: ClassVar[bool]

    @property
    def nets(self) -> frozenset[str]:
        """Nets it runs besides the objective's own."""
        return NOTHING

    @property
    def in_pieces(self) -> bool:
        """Whether the gradient of a batch is the mean of its pieces' gradients."""
        return True

    @property
    def needs_float32(self) -> bool:
        """Whether nets in a lower precision would make it meaningless."""
        return False

    def through(self, inner: Objective) -> Self:
        """The rule for candidates of a net that is trained on ``inner``: the same by default."""
        return self

    def check(self, objective: Objective, trains: Sequence[str]) -> None:
        """Raise where the rule cannot work with this objective."""
        objective.check(keep_graph=self.keeps_graph, trains=trains)

    def __call__(
        self, objective: Objective, context: Context, trains: Sequence[str], parameters: Tensors
    ) -> Gradient:
        """The loss on the context's batch and its gradient with respect to each parameter."""
