"""Weighted sums of objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.errors import SettingError
from lossnet.needs import NOTHING, TARGET, UNLABELLED
from lossnet.objectives.compare import Compare
from lossnet.objectives.objective import Objective
from lossnet.parameters import AtLeast, Checked
from lossnet.proposals.proposal import Proposal
from lossnet.spaces import sparse


@dataclass(frozen=True)
class Fold(Checked):
    """The rows that a part leaves out: those of fold ``index`` among ``count`` folds."""

    index: Annotated[int, AtLeast(0)]
    count: Annotated[int, AtLeast(2)]

    def __call__(self, context: Context, losses: Tensor) -> Tensor:
        """Losses ``(B,)``, 0 on the fold's rows and count / (count - 1) times as much on others."""
        fold = context.batch.fold
        if fold is None:
            return losses
        return losses * (fold != self.index) * (self.count / (self.count - 1))


@dataclass(frozen=True)
class Part(Checked):
    """``weight`` times an objective, under a name of its own in the history.

    Args:
        name: what the history calls it.
        weight: its weight.
        objective: what is summed.
        rows: the ``"batch"`` itself, or the ``"unlabelled"`` rows that come with it.
        fold: the rows of the batch that are left out; None: none.
    """

    name: str
    weight: float
    objective: Objective
    rows: Literal["batch", "unlabelled"] = "batch"
    fold: Fold | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows == "unlabelled" and self.objective.needs >= TARGET:
            raise SettingError(
                f"the objective of {self.name!r} needs the truth, which unlabelled rows lack; take "
                "cost=ByReward() and candidates that do not need it, or terms without cross-entropy"
            )
        if not self.weight >= 0:
            raise SettingError(f"the weight of {self.name!r} must be at least 0, got {self.weight}")


@dataclass(frozen=True)
class Compound(Objective):
    """A weighted sum of objectives, such as paper 003's Eq. 6; parts of weight 0 are left out.

    Parts may be on unlabelled rows, of which a batch comes with the labelled one: the mean of
    such a part is added to every example, so that the mean loss is L_labelled + λ L_unlabelled.
    """

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not self._counted:
            raise SettingError("every part has weight 0, so there is nothing to minimise")

    @property
    def _counted(self) -> list[Part]:
        return [part for part in self.parts if part.weight]

    @property
    def nets(self) -> frozenset[str]:
        return frozenset().union(*(part.objective.nets for part in self._counted))

    @property
    def needs(self) -> frozenset[str]:
        own = UNLABELLED if self._unlabelled else NOTHING
        return own.union(*(part.objective.needs for part in self._counted))

    @property
    def nets_unlabelled(self) -> frozenset[str]:
        return frozenset().union(*(part.objective.nets for part in self._unlabelled))

    @property
    def _unlabelled(self) -> list[Part]:
        return [part for part in self._counted if part.rows == "unlabelled"]

    @property
    def convex_part(self) -> Compound | None:
        found = [(part, part.objective.convex_part) for part in self._counted]
        parts = tuple(replace(part, objective=convex) for part, convex in found if convex)
        return Compound(parts) if parts else None

    @property
    def without_target(self) -> Compound | None:
        own = [part for part in self._counted if part.rows == "batch"]
        found = [(part, part.objective.without_target) for part in own]
        parts = tuple(replace(part, objective=free) for part, free in found if free)
        return Compound(parts) if parts else None

    @property
    def without_energy(self) -> Compound | None:
        found = [(part, part.objective.without_energy) for part in self._counted]
        parts = tuple(replace(part, objective=own) for part, own in found if own)
        return Compound(parts) if parts else None

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        return tuple(p for part in self._counted for p in part.objective.proposals)

    @property
    def cost_augmented(self) -> frozenset[str]:
        return frozenset().union(*(part.objective.cost_augmented for part in self._counted))

    def meaning(self, energy: str) -> Meaning | None:
        found = (part.objective.meaning(energy) for part in self._counted)
        return next((meaning for meaning in found if meaning is not None), None)

    def check(self, *, keep_graph: bool, trains: Sequence[str]) -> None:
        for part in self._counted:
            part.objective.check(keep_graph=keep_graph, trains=trains)

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Tensor:
        total: Tensor | None = None
        for part, value in zip(self._counted, self._losses(context, keep_graph), strict=True):
            value = value if part.fold is None else part.fold(context, value)
            context.report(part.name, value)
            weight = part.weight
            if part.rows == "unlabelled":
                value, weight = value.mean(), weight * context.unlabelled_weight
            value = value if weight == 1 else weight * value
            total = value if total is None else total + value
        assert total is not None
        return total

    def _losses(self, context: Context, keep_graph: bool) -> list[Tensor]:
        objectives = [part.objective for part in self._counted]
        alike = [one for one in objectives if isinstance(one, Compare)]
        together = (
            len(alike) == len(objectives) > 1
            and not self._unlabelled
            and context.batch.known is None  # otherwise each may draw its own truth
            and len({(one.energy, one.local) for one in alike}) == 1
            and all("target" in one.contrast.requires for one in alike)
        )
        if together:
            return _compare_together(alike, context, keep_graph)
        pairs = [(part.objective, context.for_rows(part.rows)) for part in self._counted]
        return [objective(rows, keep_graph=keep_graph) for objective, rows in pairs]


def _compare_together(parts: list[Compare], context: Context, keep_graph: bool) -> list[Tensor]:
    """The losses of several comparisons with the truth, all energies found in one pass."""
    drawn = [part.drawn(context, keep_graph) for part in parts]
    dtype = context.target.dtype
    dense = [sparse.dense(p.compared(context, d), dtype) for p, d in zip(parts, drawn, strict=True)]
    e = parts[0].energies(context, torch.cat([context.target.unsqueeze(0), *dense]))
    losses, at = [], 1
    for part, candidates, y in zip(parts, drawn, dense, strict=True):
        losses.append(part.loss(context, candidates, e[at : at + len(y)], e[0]))
        at += len(y)
    return losses
