"""Nets that are made of parts, and nets that are computed from another net's pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from lossnet.errors import SettingError
from lossnet.spaces import Space

if TYPE_CHECKING:
    from lossnet.context import Context


class Headed(nn.Module):
    """A task-net made of a feature network and a head, so that another head can share the first.

    Subclasses set ``features`` and implement both methods; ``forward`` is the one after the other.
    For a loss-net to read the features, ``features`` has their width as ``out_features``.
    """

    features: nn.Module

    def head(self, h: Any) -> Tensor:
        """Logits ``(B, *S)`` of features."""
        raise NotImplementedError

    def new_head(self) -> nn.Module:
        """A second head of the same kind, with weights of its own: a module on features."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``(B, *S)``."""
        return self.head(self.features(x))


@runtime_checkable
class JointNet(Protocol):
    """A task-net whose positions depend on each other, such as a chain.

    Its pass gives scores, of which its distribution is made. Everything that takes a net's output
    is given its marginals; cross-entropy is the likelihood of a complete output.
    """

    def marginal_logits(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits ``(B, *S)`` of the marginals."""

    def nll(
        self,
        scores: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        known: Tensor | None = None,
    ) -> Tensor:
        """-log p(target), ``(B,)``, over what is ``known`` of it."""


@dataclass(frozen=True)
class WithFeatures:
    """What an energy that reads another net's features is given to encode.

    Attributes:
        x: the inputs.
        features: the other net's features of them, without a graph.
    """

    x: Any
    features: Any


class SharedFeatures(nn.Module):
    """A loss-net's feature network that takes another net's features, as constants.

    Args:
        width: width of those features.
        reads: name of the other net.
    """

    def __init__(self, width: int, reads: str = "task") -> None:
        super().__init__()
        self.out_features, self.reads = width, reads

    def forward(self, x: WithFeatures) -> Any:
        """The features."""
        return x.features


def headed(nets: Mapping[str, nn.Module], name: str) -> Headed:
    """The net of that name, whose features another net reads; an error where it has none."""
    net = nets.get(name)
    if isinstance(net, Headed):
        return net
    kind = "missing" if net is None else f"a {type(net).__name__}, which has no features to share"
    remedy = "derive it from lossnet.nets.Headed, or take energy_features='own'"
    raise SettingError(
        f"a loss-net reads the features of the net {name!r}, which is {kind}; {remedy}"
    )


def without_graph(values: Any) -> Any:
    """Tensors, or tuples, lists and dicts of them, detached."""
    return tree_map_only(Tensor, Tensor.detach, values)


class Derived(nn.Module):
    """A net whose logits are computed from another net's pass over the same batch.

    It holds its own parameters alone; the other net is found in the context by its name.

    Attributes:
        base: name of the other net.
        needs_target: whether it can run only where the truth is known.
        trainable: whether it has parameters of its own; where not, it is trained with the other.
        shares_features: whether it reads the other net's features.
    """

    base: str
    needs_target: ClassVar[bool] = False
    trainable: ClassVar[bool] = True
    shares_features: ClassVar[bool] = False

    @classmethod
    def build(cls, base: str, net: nn.Module, outputs: tuple[int, ...], space: Space) -> Self:
        """One on top of ``net``, for outputs of shape ``outputs`` in ``space``."""
        raise NotImplementedError

    def logits(self, context: Context) -> Tensor:
        """Logits ``(B, *S)`` for the context's batch."""
        raise NotImplementedError


@dataclass(frozen=True)
class Derivation:
    """How a method's net is derived from another: which kind, and from which net.

    >>> from lossnet.nets import SharedHead
    >>> Derivation(SharedHead, base="task").base
    'task'
    """

    kind: type[Derived]
    base: str = "task"
