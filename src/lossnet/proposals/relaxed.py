"""Samples that carry a path to the net they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.needs import NOTHING
from lossnet.proposals.noise import sampling_noise
from lossnet.proposals.proposal import Candidates


@dataclass(frozen=True)
class RelaxedSamples:
    """``k`` samples of the net's output through which gradients reach the net, with log q.

    y = relax((logits + noise) / temperature) with logistic noise on labels and Gumbel noise on
    classes: the concrete distribution, whose rounding is an exact sample of the net. With
    ``straight_through`` the rounded sample is the candidate and the relaxed one gives its
    gradient. log q is the net's log-probability of the candidate, positions independent; of a
    candidate that is not rounded it is the same expression, linear in y, and no density.

    log q itself is held constant unless ``path_through_log_q``. It corrects for how candidates
    were drawn; a loss that may change it gains by making the truth improbable under the net.

    Args:
        k: number of samples.
        temperature: of the relaxation: lower is closer to rounding, with steeper gradients.
        straight_through: whether candidates are rounded.
        path_through_log_q: whether gradients reach the net through log q as well.
        net: the net that is sampled.
    """

    k: int = 20
    temperature: float = 0.5
    straight_through: bool = True
    path_through_log_q: bool = False
    net: str = "task"
    kind: ClassVar[str] = "relaxed"
    provides = frozenset({"log_q", "path"})
    needs = NOTHING

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"k must be at least 1, got {self.k}")
        if not self.temperature > 0:
            raise SettingError(f"temperature must be above 0, got {self.temperature}")

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        space, mask, target = context.space, context.batch.mask, context.batch.target
        logits = context.logits(self.net)
        logits = logits if keep_graph else logits.detach()
        noisy = logits + sampling_noise(context.uniform(self.k, logits), space.coupled)
        y = space.relax(noisy / self.temperature)
        if self.straight_through:
            rounded = space.decode(y).to(y.dtype)
            y = rounded + (y - y.detach()) if keep_graph else rounded
        if not self.path_through_log_q:
            logits = logits.detach()
        return Candidates(
            y,
            log_q=space.log_prob(logits, y if self.path_through_log_q else y.detach(), mask),
            log_q_target=None
            if target is None
            else space.log_prob(logits, target.unsqueeze(0), mask)[0],
        )
