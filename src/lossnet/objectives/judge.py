"""Judge one prediction by a weighted sum of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.needs import TARGET
from lossnet.objectives.objective import Objective, check_path, names, wrong_net
from lossnet.proposals.net import NetOutput
from lossnet.proposals.proposal import Proposal
from lossnet.terms import Weighted


@dataclass(frozen=True)
class Judge(Objective):
    """A weighted sum of terms on one prediction.

    Args:
        terms: the weighted terms.
        prediction: where the prediction comes from; the net's own output by default.
    """

    terms: tuple[Weighted, ...]
    prediction: Proposal = field(default_factory=NetOutput)

    @property
    def nets(self) -> frozenset[str]:
        return self.prediction.nets.union(*(t.term.nets for t in self._counted))

    @property
    def needs(self) -> frozenset[str]:
        return self.prediction.needs.union(*(t.term.needs for t in self._counted))

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        return (self.prediction,)

    @property
    def cost_augmented(self) -> frozenset[str]:
        raised = any(t.term.cost_augmented for t in self._counted)
        return self.prediction.nets if raised else frozenset()

    @property
    def convex_part(self) -> Judge | None:
        terms = tuple(t for t in self._counted if t.term.convex)
        return replace(self, terms=terms) if terms else None

    @property
    def without_target(self) -> Judge | None:
        terms = tuple(t for t in self._counted if not t.term.needs >= TARGET)
        # Entropy alone would only make the net more or less certain.
        informed = any(t.term.nets or t.term.needs for t in terms)
        known = not self.prediction.needs >= TARGET
        return replace(self, terms=terms) if informed and known else None

    @property
    def without_energy(self) -> Judge | None:
        terms = tuple(t for t in self._counted if t.term.needs >= TARGET and not t.term.nets)
        return replace(self, terms=terms) if terms else None

    @property
    def _counted(self) -> list[Weighted]:
        return [weighted for weighted in self.terms if weighted.weight]

    def check(self, *, keep_graph: bool, trains: Sequence[str]) -> None:
        if not self._counted:
            raise SettingError("every term has weight 0, so there is nothing to minimise")
        if keep_graph:
            check_path(self.prediction, "judge a NetOutput")
        if keep_graph and not self.nets & set(trains):
            raise wrong_net(trains, "judges a prediction that does not run it", *sorted(self.nets))
        direct = isinstance(self.prediction, NetOutput) and self.prediction.net in trains
        if not direct and not keep_graph:
            raise SettingError(
                f"an update of {names(trains)} judges a prediction of "
                f"{type(self.prediction).__name__}, through which only gradient=Unrolled() "
                "reaches it"
            )

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Tensor:
        prediction = self.prediction(context, keep_graph=True)
        total: Tensor | None = None
        for weighted in self._counted:
            value = weighted.term(context, prediction)
            value = value if weighted.weight == 1 else weighted.weight * value
            total = value if total is None else total + value
        return prediction.y.new_zeros(()) if total is None else total
