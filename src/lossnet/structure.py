"""Does structure pay? How much the loss-net knows of complete outputs beyond the task-net.

With q the task-net, p(y|x) = q(y|x) w(y) / Z the loss-net's joint (see
:class:`~lossnet.contrasts.meaning.Meaning`) and y* the truth of a held-out row, its gain is

    log p(y*|x) - log q(y*|x) = log w(y*) - log Z,   Z = E_q[w(y)].

Shapes: ``B`` rows, ``K`` samples of q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.decisions import self_normalised
from lossnet.energies import ChainEnergy, LabelEnergy
from lossnet.errors import DataError
from lossnet.proposals import Samples
from lossnet.spaces import Binary, Categorical, log_count

#: Spaces of at most so many outputs are enumerated.
ENUMERATED = 2**14
#: Entries of the outputs that are judged at a time.
_ENTRIES = 2**18
#: Normal quantile of a 95 % interval.
_QUANTILE = 1.96
#: Fewer nats a row are not worth a loss-net.
_NEGLIGIBLE = 0.05
#: A smaller effective sample size gets a warning, and so do estimates further apart than this, in
#: nats or as a share of them.
_LEAST_ESS, _APART = 5.0, 0.25


@dataclass(frozen=True)
class StructureGain:
    """Held-out nats a row that the loss-net knows beyond the task-net, with a 95 % interval.

    It is the mean of log p(y*|x) - log q(y*|x) over rows; negative, the loss-net knows less than
    the task-net. Of these nats ``dependence`` are due to how labels (tags, pixels) depend on each
    other, log p(y*|x) - Σ_i log p(y*_i|x), and the rest to the loss-net's probabilities of single
    labels, Σ_i log p(y*_i|x) - log q(y*|x). Either may be negative. Samples do not tell them apart.

    With ``exact`` Z is a sum over all outputs, ``nats`` is the mean and ``low`` and ``high`` are
    1.96 standard errors away. Otherwise it is estimated with K samples in three ways, see
    :func:`sampled_gains`: ``nats`` is the lesser of the plain and the resampled mean, ``high`` the
    upper end of the plain one's interval and ``low`` the least lower end of all three.

    Attributes:
        nats: the estimate.
        low, high: ends of the interval.
        exact: whether no Z was sampled.
        ess: effective sample size, (Σ w)^2 / Σ w^2, mean over rows; None where exact.
        apart: how far the means of the highest and the lowest estimate differ, 0 where exact.
        dependence: see above; None where not exact.
        rows: number of rows.
        samples: K.
    """

    nats: float
    low: float
    high: float
    exact: bool
    ess: float | None
    apart: float
    dependence: float | None
    rows: int
    samples: int

    @property
    def words(self) -> str:
        """The result in a sentence, and a warning in another where it is unreliable."""
        return in_words(self.nats, self.low, self.high, self.dependence) + self._warning

    @property
    def _warning(self) -> str:
        close = self.apart <= max(_APART, _APART * abs(self.nats))
        if self.ess is None or (close and self.ess >= _LEAST_ESS):
            return ""
        what = f" The interval is wide: {self.samples} samples of the task-net are worth "
        return what + f"{self.ess:.1f} of the loss-net on average; more of them may narrow it."

    def __str__(self) -> str:
        return self.words


def in_words(nats: float, low: float, high: float, dependence: float | None = None) -> str:
    """What a gain, its interval and where known its part by dependence say, in words."""
    between = f"{_text(low)} to {_text(high)}"
    parts = ""
    if dependence is not None:
        parts = f" How labels depend on each other accounts for {_text(dependence)} of them, "
        parts += f"single labels for {_text(nats - dependence)}."
    if low > 0:
        pays = "pays" if nats >= _NEGLIGIBLE else "hardly pays"
        what = "Structure"
        if dependence is not None and dependence < _NEGLIGIBLE:
            what, pays = "Dependence between labels", "does not pay here"
        found = f"{what} {pays}: the loss-net knows {_text(nats)} nats a row ({between}) beyond "
        return f"{found}the task-net.{parts}"
    if high >= _NEGLIGIBLE:
        found = "Not clear: the loss-net may know more or less than the task-net, "
        return f"{found}{_text(nats)} nats a row ({between}).{parts}"
    if high > 0:
        found = "Structure does not pay here: the loss-net knows next to nothing beyond the "
        return f"{found}task-net, {_text(nats)} nats a row ({between})."
    found = f"Structure does not pay here: the loss-net knows {_text(-nats)} nats a row "
    return f"{found}({_text(-high)} to {_text(-low)}) less than the task-net."


def _text(nats: float) -> str:
    return f"{nats:.2f}" if abs(nats) < 1000 else f"{nats:.1e}"


def sampled_gains(log_w_truth: Tensor, log_w: Tensor) -> Tensor:
    """Three estimates of rows' gains from K samples of q, and their effective size, ``(B, 4)``.

    With w_0 the truth's weight, w_1, ..., w_K those of independent samples of q, expectations over
    these samples and q* the distribution of truths given x:

    - plain: log w_0 - log (1/K) Σ_{k≥1} w_k. Its expectation is at least the gain, for every row
      and every energy, for log is concave.
    - resampled: log w_0 - log (1/(K+1)) Σ_{k≥0} w_k, at most log(K+1). Its expectation is at most
      log q_K(y*|x) - log q(y*|x), where q_K draws K+1 outputs from q and keeps one of them with
      probability in proportion to w; hence over rows at most E KL(q* || q), for every energy
      (InfoNCE). It is at most the mean gain where q* is the joint; of a worse loss-net the gain may
      be lower.
    - linear: log w_0 - (1/K) Σ_{k≥1} (w_k / c_k + log c_k - 1), c_k the mean of the K weights other
      than w_k, the truth's among them. Its expectation is at most the gain, for every row and every
      energy, for log Z <= Z / c + log c - 1 (Poole et al., 2019, section 2.2, with c from the other
      samples). It may be far lower.

    All tend to the gain as K grows. These are bounds on expectations: where hardly any sample
    finds the outputs that hold most of Z, a mean over rows may miss it, as its standard error does.

    Args:
        log_w_truth: log w of the truths, ``(B,)``.
        log_w: log w of samples, ``(K, B)``.
    """
    truth, others = log_w_truth.double(), log_w.double()
    k = len(others)
    total = others.logsumexp(0)
    plain = truth - (total - math.log(k))
    resampled = truth - (torch.logaddexp(truth, total) - math.log(k + 1))
    c = _without_each(truth, others) - math.log(k)
    # Clamped: the square of a larger one is not finite.
    linear = truth - ((others - c).clamp_max(300.0).exp() + c - 1.0).mean(0)
    return torch.stack([plain, resampled, linear, self_normalised(others)[1]], 1)


def _without_each(first: Tensor, others: Tensor) -> Tensor:
    """log Σ exp over ``first`` ``(B,)`` and all but one of ``others``, for each of them ``(K, B)``.

    Sums from both ends: a difference would lose its digits where one weight outweighs the rest.
    """
    none = torch.full_like(first, -math.inf).unsqueeze(0)
    before = torch.cat([first.unsqueeze(0), others[:-1]]).logcumsumexp(0)
    after = torch.cat([others[1:], none]).flip(0).logcumsumexp(0).flip(0)
    return torch.logaddexp(before, after)


def row_gains(context: Context, meaning: Meaning, samples: int, *, exact: bool = True) -> Tensor:
    """What :func:`sampled_gains` gives for a batch with its truth, and the dependence, ``(B, 5)``.

    Where Z can be computed, and ``exact`` allows it, the three estimates are the gain itself and
    the size is NaN; otherwise the dependence is. The context's noise must not be shared: a standard
    error over rows is for independent ones.
    """
    space, mask, target = context.space, context.batch.mask, context.target.unsqueeze(0)
    log_q = space.log_prob(context.logits(), target, mask).double()
    truth = _log_w(context, meaning, target, log_q)[0]
    unknown = torch.full_like(truth, math.nan).unsqueeze(1)
    if (summed := _exact(context, meaning) if exact else None) is None:
        gains = sampled_gains(truth, torch.cat(list(_sampled(context, meaning, samples))))
        gains = torch.cat([gains, unknown], 1)
    else:
        log_z, marginals = summed
        gain = (truth - log_z).unsqueeze(1)
        singles = space.log_prob(space.unrelax(marginals), target.double(), mask)
        dependence = gain + (log_q - singles).T
        gains = torch.cat([gain, gain, gain, unknown, dependence], 1)
    if not gains[:, :3].isfinite().all():
        raise DataError("the loss-net's energies of these rows are not finite; check the inputs")
    return gains


def _log_w(context: Context, meaning: Meaning, y: Tensor, log_q: Tensor) -> Tensor:
    """log w of candidates, ``(K, B)``, in double precision."""
    log_q = log_q.double()
    return meaning.log_joint(context.energy(y).double(), log_q) - log_q


def _sampled(context: Context, meaning: Meaning, samples: int) -> Iterator[Tensor]:
    """log w of samples of the task-net, ``(k, B)``, a few samples at a time."""
    most = max(1, _ENTRIES // max(1, context.target.numel()))
    for first in range(0, samples, most):
        drawn = Samples(min(most, samples - first))(context)
        assert drawn.log_q is not None
        yield _log_w(context, meaning, drawn.y, drawn.log_q)


def _exact(context: Context, meaning: Meaning) -> tuple[Tensor, Tensor] | None:
    """log Z ``(B,)`` and the joint's marginals ``(B, *S)``; None where they cannot be computed."""
    space, shape = context.space, context.target.shape[1:]
    if type(space) not in (Binary, Categorical):  # others draw from a part of their outputs
        return None
    energy: Any = context.nets["energy"]
    if isinstance(energy, ChainEnergy):
        unary, mask = context.encoded(), context.batch.mask
        if meaning.joint == "ratio":
            unary = unary - context.logits().log_softmax(-1)
        return energy.log_partition(unary, mask).double(), energy.marginals(unary, mask).double()
    if log_count(space, shape) > math.log(ENUMERATED) + 1e-9:
        return None
    return _enumerated(context, meaning, space.enumerate(tuple(shape)).to(context.target.device))


def _enumerated(context: Context, meaning: Meaning, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """log Z and marginals as sums over all outputs ``(N, *S)``."""
    joints, qs = [], []
    # Most of a label energy does not depend on the row: computed once for all.
    rows = 1 if type(context.nets["energy"]) is LabelEnergy else len(context.target)
    for y in outputs.split(max(1, _ENTRIES // max(1, context.target.numel()))):
        candidates = y.unsqueeze(1).expand(-1, rows, *y.shape[1:])
        qs.append(context.space.log_prob(context.logits(), candidates, context.batch.mask).double())
        joints.append(meaning.log_joint(context.energy(candidates).double(), qs[-1]))
    log_joint = torch.cat(joints)
    marginals = (log_joint.softmax(0).T @ outputs.flatten(1).double()).view_as(context.target)
    # The sum of q is 1 but where padded positions repeat every output, in both sums alike.
    return log_joint.logsumexp(0) - torch.cat(qs).logsumexp(0), marginals


def summarise(gains: Tensor, samples: int) -> StructureGain:
    """The gain over rows, from what :func:`row_gains` gives of each, ``(n, 5)``."""
    rows = len(gains)
    if rows < 2:
        raise DataError(f"an interval over rows needs at least 2 rows, got {rows}")
    bounds, ess = gains[:, :3].double(), gains[:, 3]
    mean = bounds.mean(0)
    away = _QUANTILE * bounds.std(0) / math.sqrt(rows)
    sampled, dependence = ess[~ess.isnan()], float(gains[:, 4].mean())
    return StructureGain(
        nats=float(mean[:2].min()),
        low=float((mean - away).min()),
        high=float(mean[0] + away[0]),
        exact=len(sampled) == 0,
        ess=float(sampled.mean()) if len(sampled) else None,
        apart=float(mean.max() - mean.min()),
        dependence=None if math.isnan(dependence) else dependence,
        rows=rows,
        samples=samples,
    )
