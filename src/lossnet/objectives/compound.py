"""Weighted sums of objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.objectives.compare import Compare
from lossnet.objectives.judge import Judge
from lossnet.objectives.likelihood import Likelihood
from lossnet.proposals.base import Proposal


@dataclass(frozen=True)
class Part:
    """``weight`` times an objective, under a name of its own in the history."""

    name: str
    weight: float
    objective: Compare | Judge | Likelihood

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise SettingError(f"the weight of {self.name!r} is {self.weight}; give 0 or more")


@dataclass(frozen=True)
class Compound:
    """A weighted sum of objectives, such as paper 003's Eq. 6; parts of weight 0 are left out."""

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not self._counted:
            raise SettingError("every part has weight 0, so there is nothing to minimise")

    @property
    def _counted(self) -> list[Part]:
        return [part for part in self.parts if part.weight]

    @property
    def nets(self) -> frozenset[str]:
        """Every net it runs."""
        return frozenset().union(*(part.objective.nets for part in self._counted))

    @property
    def needs_target(self) -> bool:
        return any(part.objective.needs_target for part in self._counted)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Where its candidates and predictions come from."""
        return tuple(p for part in self._counted for p in part.objective.proposals)

    @property
    def raises_cost(self) -> frozenset[str]:
        """Nets that it drives away from the truth: cost-augmented ones, unfit to predict."""
        return frozenset().union(*(part.objective.raises_cost for part in self._counted))

    def check(self, *, keep_path: bool, trains: Sequence[str]) -> None:
        """Raise where a part cannot be minimised by training these nets."""
        for part in self._counted:
            part.objective.check(keep_path=keep_path, trains=trains)

    def __call__(self, context: Context, *, keep_path: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""
        total: Tensor | None = None
        for part in self._counted:
            value = part.objective(context, keep_path=keep_path)
            context.note(part.name, value)
            value = value if part.weight == 1 else part.weight * value
            total = value if total is None else total + value
        assert total is not None
        return total
