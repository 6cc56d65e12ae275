"""A batch, the nets, and what has been computed on them so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.costs import ByReward, Cost
from lossnet.errors import SettingError
from lossnet.needs import NOTHING, REWARD, needs_of
from lossnet.nets.base import Derived, JointNet, WithFeatures, headed, without_graph
from lossnet.noise import row_noise, uniform_noise
from lossnet.precision import Precision, as_float32, autocast
from lossnet.spaces import Space, sparse
from lossnet.streams import Streams


@dataclass(eq=False, repr=False)
class Context:
    """A batch, the nets and their cached passes.

    A net's pass is computed once for each state of its parameters and reused: by samples and task
    loss, by K candidates of one encoding, by two heads on the same features.

    Args:
        nets: the nets by name; the energy answers ``encode`` and ``forward``.
        batch: the batch.
        space: what an output is.
        generator: source of the proposals' randomness.
        training: nets that this phase trains, in train mode; others are in eval mode, no graph.
        streams: random streams of the nets; without them torch's global generator is used.
        given: logits computed elsewhere, by net name.
        unlabelled: a batch of unlabelled rows, for objectives with parts on them.
        unlabelled_weight: what a mean over the unlabelled rows counts in a piece of a batch.
        precision: ``"bfloat16"`` runs the nets under ``torch.autocast``; they return float32.
        shared_noise: let proposals draw the same noise for every row: for predictions.
        average: the mean of tensors over the processes that share a batch; None: one has all of it.

    Attributes:
        reports: sums of what objectives report besides their loss, and how often each was reported.
        reads: the nets that read another's features, and the other's name.
    """

    nets: Mapping[str, Any]
    batch: Batch
    space: Space
    _: KW_ONLY
    generator: torch.Generator | None = None
    training: frozenset[str] = NOTHING
    streams: Streams | None = None
    given: Mapping[str, Tensor] = field(default_factory=dict)
    unlabelled: Batch | None = None
    unlabelled_weight: float = 1.0
    precision: Precision = "float32"
    shared_noise: bool = False
    average: Callable[[Sequence[Tensor]], Sequence[Tensor]] | None = None

    def __post_init__(self) -> None:
        self.reports: dict[str, tuple[Tensor, int]] = {}
        self._cache: dict[tuple[str, str, bool, bool], Any] = {}
        derived = [net for net in self.nets.values() if isinstance(net, Derived)]
        reads = {name: getattr(net, "reads", None) for name, net in self.nets.items()}
        self.reads: dict[str, str] = {name: base for name, base in reads.items() if base}
        self._shared = {net.base for net in derived if net.shares_features}
        self._shared |= {*self.reads.values()}
        self._read: dict[tuple[int, str], Any] = {}  # features as energies read them
        self._before: dict[str, Tensor] = {}  # streams as they were before a net's pass
        self._focus = self._attached = NOTHING
        self._draws = 0
        self._others: Context | None = None
        if self.unlabelled is not None:
            self._others = replace(self, batch=self.unlabelled, unlabelled=None, given={})
            self._others.reports, self._others._before = self.reports, self._before
            self._others._read = self._read

    @property
    def target(self) -> Tensor:
        """The batch's targets; entries not known are the task-net's relaxed output, a constant."""
        target = self.given_target
        if self.batch.known is None:
            return target
        return self.known_or(target, self.space.relax(self._completing().detach()))

    @property
    def given_target(self) -> Tensor:
        """The batch's targets, of which only known entries mean anything; an error without any."""
        if self.batch.target is None:
            raise TypeError("this step needs targets, and the batch has none")
        return self.batch.target

    def known_or(self, y: Tensor, other: Tensor) -> Tensor:
        """Outputs ``(..., B, *S)`` with the entries that are not known taken from ``other``."""
        known = self.batch.known
        if known is None:
            return y
        known = known.unsqueeze(-1) if self.space.coupled else known
        return torch.where(known, sparse.dense(y, other.dtype), other)

    def _completing(self) -> Tensor:
        """The logits that stand for entries of the truth that are not known."""
        if "task" not in self.nets and "task" not in self.given:
            what = "entries of the truth are not known, and there is no net 'task' to fill them in"
            raise SettingError(f"{what}; use a method with a task-net, such as cross-entropy")
        return self.logits("task")

    def mean(self, losses: Tensor) -> Tensor:
        """The mean Σ w l / Σ w of rows' losses ``(B,)``, w being the rows' weights."""
        weight = self.batch.row_weight
        if weight is None:
            return losses.mean()
        return (weight * losses).sum() / weight.sum().clamp_min(torch.finfo(weight.dtype).tiny)

    def for_rows(self, rows: str) -> Context:
        """This context, or for ``"unlabelled"`` rows the one that comes with it."""
        if rows != "unlabelled":
            return self
        if self._others is None:
            raise TypeError("this step needs unlabelled rows, and the context has none")
        return self._others

    def cost(self, cost: Cost | ByReward, y: Tensor) -> Tensor:
        """Costs ``(K, B)`` of candidates: against the truth, or by the batch's reward."""
        judge: Any = cost
        if not needs_of(cost) >= REWARD:
            return judge(y, self.target, self.batch.counted)
        if self.batch.reward is None:
            raise TypeError("this step needs a reward, and the batch has none")
        return judge(self.batch.reward(y))

    @contextmanager
    def updating(self, names: Iterable[str], *, attached: Iterable[str] = ()) -> Iterator[None]:
        """Compute an update of these nets: only then is an energy encoded in train mode.

        ``attached`` nets stay frozen, in eval mode, but keep their graph.
        """
        before = self._focus, self._attached
        self._focus_on(frozenset(names), frozenset(attached))
        try:
            yield
        finally:
            self._focus_on(*before)

    def _focus_on(self, names: frozenset[str], attached: frozenset[str]) -> None:
        self._focus, self._attached = names, attached
        if self._others is not None:
            self._others._focus_on(names, attached)

    def logits(self, name: str = "task") -> Tensor:
        """Logits ``(B, *S)`` of a task-net, with their graph where the phase trains it.

        Those of a :class:`~lossnet.nets.JointNet` are the logits of its marginals.
        """
        net, scores = self.joint_net(name), self.scores(name)
        if net is None:
            return scores
        call = partial(net.marginal_logits, scores, self.batch.mask)
        return self._cached("marginals", name, name in self.training, call)

    def joint_net(self, name: str) -> JointNet | None:
        """The net of that name if its positions depend on each other, else None."""
        net = None if name in self.given else self.nets[name]
        return net if isinstance(net, JointNet) else None

    def scores(self, name: str) -> Tensor:
        """What a task-net's pass gives ``(B, *S)``: its logits, unless it is a joint net."""
        if name in self.given:
            return self.given[name]
        net, trained = self.nets[name], name
        if isinstance(net, Derived):
            call = partial(net.logits, self)
            trained = name if net.trainable else net.base
        elif name in self._shared:
            call = partial(net.head, self.features(name))
        else:
            call = partial(net, self.batch.x)
        return self._cached("scores", name, trained in self.training, call)

    def features(self, name: str) -> Any:
        """What a :class:`~lossnet.nets.Headed` net's head is given, for other heads to share."""
        call = partial(headed(self.nets, name).features, self.batch.x)
        return self._cached("features", name, name in self.training, call)

    def encoded(self, name: str = "energy") -> Any:
        """The energy's encoding of the inputs, with its graph while the energy is trained."""
        x = self._with_features(self.reads[name]) if name in self.reads else self.batch.x
        call = partial(self.nets[name].encode, x, self.batch.mask)
        return self._cached("encoded", name, name in self._focus, call)

    def _with_features(self, name: str) -> WithFeatures:
        """The inputs and a net's features as constants, which ``replay`` leaves as they are."""
        key = id(self), name
        if key not in self._read:
            # Where this runs without gradients, the net's own loss still goes on from this pass.
            with torch.set_grad_enabled(torch.is_grad_enabled() or name in self.training):
                self._read[key] = without_graph(self.features(name))
        return WithFeatures(self.batch.x, self._read[key])

    def energy(self, y: Tensor, name: str = "energy", h: Any = None) -> Tensor:
        """Energies ``(K, B)`` of candidates ``(K, B, *S)``; ``h`` stands in for the encoding."""
        return self._judged(self.nets[name], y, name, h)

    def local_energies(self, y: Tensor, name: str = "energy") -> Tensor:
        """Energies ``(K, B, *P)`` of every position of candidates, whose mean is the energy."""
        if not hasattr(self.nets[name], "local"):
            what = "local=True needs an energy with a value per position, such as ScoreMap"
            got = f"the net {name!r} is a {type(self.nets[name]).__name__}"
            raise SettingError(f"{what}; {got}; take local=False")
        return self._judged(self.nets[name].local, y, name)

    def _judged(self, judge: Callable[..., Tensor], y: Tensor, name: str, h: Any = None) -> Tensor:
        h = self.encoded(name) if h is None else h
        with self._running(name, name in self._focus):
            e = judge(h, y, self.batch.mask)
        return e if self.precision == "float32" else as_float32(e)

    def uniform(self, k: int, like: Tensor) -> Tensor:
        """Uniform noise ``(K, *like.shape)``; if it is shared, one row ``(K, 1, *S)`` for all."""
        if self.batch.row_seed is None:
            return uniform_noise(k, like, self.generator, self.shared_noise)
        self._draws += 1
        return row_noise(self.batch.row_seed, self._draws, k, like)

    def report(self, name: str, values: Tensor) -> None:
        """Report the mean of ``values``; the history has its mean over an epoch."""
        total, count = self.reports.get(name, (0.0, 0))
        self.reports[name] = total + values.detach().mean(), count + 1

    @contextmanager
    def without_reports(self) -> Iterator[None]:
        """Discard what is reported inside, for a loss that only its derivatives are needed of."""
        before = dict(self.reports)
        try:
            yield
        finally:
            self.reports.clear()  # in place: the unlabelled context reports to the same dict
            self.reports.update(before)

    def invalidate(self, names: Iterable[str]) -> None:
        """Forget what was computed with the nets' old parameters."""
        stale = set(names)
        self.given = {name: logits for name, logits in self.given.items() if name not in stale}
        for name in stale:
            self._before.pop(name, None)
        derived = [(name, net) for name, net in self.nets.items() if isinstance(net, Derived)]
        for key in [key for key in self._read if key[1] in stale]:
            del self._read[key]
        stale |= {name for name, net in derived if net.base in stale}
        stale |= {name for name, base in self.reads.items() if base in stale}
        self._cache = {key: value for key, value in self._cache.items() if key[1] not in stale}
        if self._others is not None:
            self._others.invalidate(stale)

    def replay(self, name: str) -> None:
        """Forget a net's pass; the next draws the same masks, and energies read what they read."""
        before, read = self._before.get(name), dict(self._read)
        self.invalidate([name])
        self._read |= read
        if self.streams is not None and before is not None:
            self.streams.states[name] = before

    def _cached(self, what: str, name: str, train: bool, call: Callable[[], Any]) -> Any:
        """A pass of a net, from the cache where it was made in the same mode."""
        graph = train or name in self._attached
        key = (what, name, train, graph)
        if key not in self._cache:
            if train and self.streams is not None:
                self._before.setdefault(name, self.streams.states[name])
            graph = graph and torch.is_grad_enabled()
            with torch.set_grad_enabled(graph), self._running(name, train):
                found = call()
            self._cache[key] = found if self.precision == "float32" else as_float32(found)
        return self._cache[key]

    @contextmanager
    def _running(self, name: str, train: bool) -> Iterator[None]:
        """Hold a net in train or eval mode; in train mode it draws from its own stream."""
        net = self.nets[name]
        if net.training != train:
            net.train(train)
        with (
            self.streams.use(name) if train and self.streams is not None else nullcontext(),
            autocast(net) if self.precision == "bfloat16" else nullcontext(),
        ):
            yield
