"""The exact likelihood of an energy whose partition function can be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.meaning import DENSITY, ORDER, RATIO, Meaning
from lossnet.errors import SettingError
from lossnet.needs import EXACT, TARGET, RunsEnergy
from lossnet.objectives.objective import Objective, wrong_net


@dataclass(frozen=True)
class Likelihood(RunsEnergy, Objective):
    """-log p(y*|x) = E(x, y*) + log Σ_y exp(-E(x, y)): a conditional random field.

    With a net q, whose positions are independent, p ∝ q exp(-E) and the loss is

        log q(y*|x) - log p(y*|x) = E(x, y*) + log Σ_y q(y|x) exp(-E(x, y)),

    minus the nats that E adds to q. It is what ranking (paper 001, Eq. 10) against K samples of q
    tends to, less log K, as K grows.

    For energies that have ``log_partition``, such as a chain, and with q positions' energies
    ``(B, T, C)`` as their encoding.

    Args:
        energy: name of the energy.
        q: name of the net, which is constant here; None has none.
    """

    energy: str = "energy"
    q: str | None = None
    needs = EXACT | TARGET

    @property
    def nets(self) -> frozenset[str]:
        return super().nets | ({self.q} if self.q else set())

    def meaning(self, energy: str) -> Meaning | None:
        if energy != self.energy:
            return None
        # A ratio gives probabilities only next to its q: the task-net itself.
        return {None: DENSITY, "task": RATIO}.get(self.q, ORDER)

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
        h = context.encoded(self.energy)
        if self.q is not None:
            h = h - context.logits(self.q).detach().log_softmax(-1)
        z: Tensor = energy.log_partition(h, context.batch.mask)
        return e + z
