"""The exact likelihood of an energy whose partition function can be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.meaning import DENSITY, Meaning
from lossnet.errors import SettingError
from lossnet.needs import EXACT, TARGET, RunsEnergy
from lossnet.objectives.objective import Objective, wrong_net


@dataclass(frozen=True)
class Likelihood(RunsEnergy, Objective):
    """-log p(y*|x) = E(x, y*) + log Σ_y exp(-E(x, y)): a conditional random field.

    For energies that have ``log_partition``, such as a chain.

    Args:
        energy: name of the energy.
    """

    energy: str = "energy"
    needs = EXACT | TARGET

    def meaning(self, energy: str) -> Meaning | None:
        return DENSITY if energy == self.energy else None

    def check(self, *, keep_graph: bool, trains: Sequence[str]) -> None:
        if self.energy not in trains:
            raise wrong_net(trains, f"minimises the likelihood of {self.energy!r}", self.energy)

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Tensor:
        energy = context.nets[self.energy]
        if not hasattr(energy, "log_partition"):
            raise SettingError(
                f"the energy must have a log_partition, as ChainEnergy, got {type(energy).__name__}"
            )
        e = context.energy(context.target.unsqueeze(0), self.energy)[0]
        z: Tensor = energy.log_partition(context.encoded(self.energy), context.batch.mask)
        return e + z
