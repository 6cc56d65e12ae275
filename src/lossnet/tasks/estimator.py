"""What every estimator does alike: the method's parameters, training, refining, storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.checks import (
    check_choice,
    check_device,
    check_int,
    check_method,
    check_params,
    check_share,
    describe,
)
from lossnet.context import stream_seed
from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.needs import EXACT, LOCAL, REWARD, TARGET, UNLABELLED
from lossnet.parameters import plain, with_value
from lossnet.proposals import GBI, NetOutput, Proposal, Random, Samples
from lossnet.recipes import build, methods_needing, parameters
from lossnet.spaces import Space
from lossnet.tasks.multilabel.metric_registry import get_metric
from lossnet.tasks.networks import build_nets, check_memory
from lossnet.tasks.parts import D, cut_rows
from lossnet.training import (
    Checkpoint,
    Duration,
    Source,
    Trainer,
    resume,
    save_checkpoint,
    show_progress,
)

#: Where ``refine`` starts from, by name.
REFINEMENTS: dict[str, Proposal] = {
    "net": GBI(20, 0.05, start=NetOutput()),
    "samples": GBI(20, 0.05, start=Samples(10)),
    "random": GBI(20, 0.1, start=Random(3)),
}


class LossnetEstimator(BaseEstimator):
    """The shared part of the estimators.

    A subclass stores the parameters named below in its ``__init__``, trains with
    :meth:`_train`, and says with :meth:`_make_net`, :meth:`_pack` and :meth:`_unpack` what its
    nets are and what else a model folder holds.
    """

    #: What a method may need of this task: see :mod:`lossnet.needs`.
    provides: ClassVar[frozenset[str]] = TARGET | UNLABELLED

    method: str | Method
    method_params: dict[str, Any] | None
    metric: Any
    validation_fraction: float
    batch_size: int
    max_epochs: int
    patience: int
    refine: str | Proposal | None
    device: str
    random_state: int | np.random.RandomState | None
    verbose: int

    method_: Method
    nets_: dict[str, nn.Module]
    history_: list[dict[str, Any]]
    refine_steps_: int | None
    refined_as_: Any

    # Parameters ------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the estimator; with ``deep`` the method's own as ``method__name``.

        Those of its parts are ``method__part__name``.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.method_params, Mapping):
            params |= dict(_joined("method", self.method_params))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``method__name=value`` sets one of the method's own.

        ``method__energy_optimiser__lr=1e-3`` sets one of a part, at any depth.
        """
        own = {key: value for key, value in params.items() if not key.startswith("method__")}
        super().set_params(**own)
        # A part before its own parameters.
        for key in sorted(params.keys() - own.keys(), key=len):
            check_params(self.method_params)
            path = key.removeprefix("method__").split("__")
            self.method_params = with_value(self.method_params or {}, path, params[key])
        return self

    def _check_settings(self) -> Method:
        """Raise on settings that cannot work, before any data is looked at; the method."""
        raise NotImplementedError

    def _check_training_settings(self) -> Method:
        """Raise on settings that cannot work, before any data is looked at; the method."""
        method = self._assembled()
        self._check_needs(method)
        for name in ("batch_size", "max_epochs", "patience"):
            check_int(name, getattr(self, name))
        check_share("validation_fraction", self.validation_fraction)
        self._metric_name()
        check_device(self.device)
        self._refinement(method, method.nets)
        return method

    def resolved_method_params(self) -> dict[str, Any]:
        """Every parameter of the named method as ``fit`` takes it, in a form for JSON.

        The recipe's defaults, changed by those of this task and then by ``method_params``; a part
        is a dict of its ``kind`` and its parameters. ``method_params`` takes all of it back. A
        :class:`~lossnet.Method` of your own has none.
        """
        if not isinstance(self.method, str):
            return {}
        found: dict[str, Any] = plain(
            parameters(self.method, self._task_defaults(), self.method_params)
        )
        return found

    def resolved_params(self) -> dict[str, Any]:
        """Every parameter as ``fit`` takes it: what a default, the task or the method decides too.

        A model folder stores these, so that a changed default changes no stored model.
        """
        params = self.get_params(deep=False) | self._filled_in(self._assembled())
        return params | {"method_params": self.resolved_method_params() or None}

    def _filled_in(self, method: Method) -> dict[str, Any]:
        """The parameters whose None leaves the choice to the method or to another parameter."""
        return {}

    def _task_defaults(self) -> dict[str, Any]:
        """Parameters in which this task overrides the named recipe's defaults."""
        return {}

    def _assembled(self) -> Method:
        check_method(self.method, self.method_params)
        if isinstance(self.method, Method):
            return self.method
        return build(self.method, self._task_defaults(), self.method_params)

    def _provided(self) -> frozenset[str]:
        """What this task provides; an energy of the user's own may have what no other has."""
        own = callable(getattr(self, "energy_net", None))
        return self.provides | LOCAL | EXACT if own else self.provides

    def _check_needs(self, method: Method) -> None:
        """Raise where the method needs what this task does not provide."""
        if not (missing := method.needs - self._provided()):
            return
        others = [
            kind.__name__
            for kind in LossnetEstimator.__subclasses__()
            if method.needs <= kind.provides and kind is not type(self)
        ]
        raise SettingError(
            f"the method {method.name!r} needs {' and '.join(sorted(missing))}, which "
            f"{type(self).__name__} does not provide; take another method, or a task that does: "
            f"{', '.join(others) or 'none is known'}"
        )

    def _metric_name(self) -> str:
        """What progress calls the validation metric; an error where it is unknown."""
        return get_metric(self.metric).name

    def _seed(self) -> int:
        """The seed of a fit: the ``random_state`` itself, or a number drawn from it."""
        drawn = int(check_random_state(self.random_state).randint(2**31 - 1))
        return int(self.random_state) if isinstance(self.random_state, Integral) else drawn

    # Training --------------------------------------------------------------------------------

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was, fitted or not, where the block fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_unlabelled(self, method: Method, given: bool, *, reward: bool = False) -> None:
        """Raise where unlabelled rows or a reward are missing, or of no use to the method."""
        judged = method.needs >= REWARD
        if judged and not reward:
            raise SettingError(
                f"the method {method.name!r} judges outputs on unlabelled rows by a reward; give "
                "one: fit(..., unlabelled=..., reward=function)"
            )
        if reward and not judged:
            raise SettingError(
                f"the method {method.name!r} as it is set has no use for a reward; leave it out, "
                f"or take a method that needs one: {', '.join(methods_needing('reward'))}"
            )
        wanted = method.needs >= UNLABELLED
        if wanted and not given:
            raise SettingError(
                f"the method {method.name!r} as it is set trains on unlabelled rows; give them: "
                "fit(..., unlabelled=...), or --unlabelled DATA on the command line"
            )
        if given and not wanted:
            raise SettingError(
                f"the method {method.name!r} as it is set has no use for unlabelled rows; leave "
                "them out, or take a method or a parameter that trains on them"
            )

    def _hold_out(self, data: D, seed: int) -> tuple[D, D | None]:
        """Training and validation rows, drawn at random; no validation where too few are asked."""
        wanted = round(self.validation_fraction * len(data))
        if wanted < 1 or len(data) - wanted < 1:
            return data, None
        train, held = self._cut(data, wanted / len(data), stream_seed(seed, "validation"))
        return data.subset(train), data.subset(held) if len(held) else None

    def _cut(self, data: Any, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and to hold out."""
        train, held = cut_rows(len(data), [fraction], seed)
        return train, held

    def _check_resume(self, checkpoint: str | Path | None, wanted: bool) -> None:
        if wanted and checkpoint is None:
            raise SettingError("resume_from_checkpoint needs the file: give checkpoint= as well")
        if wanted and not isinstance(self.random_state, Integral):
            raise SettingError(
                f"random_state is {self.random_state!r}; resuming needs the whole number that "
                "training was started with"
            )

    def _train(
        self,
        space: Space,
        data: Source,
        *,
        validation: Source | None,
        unlabelled: Source | None = None,
        score: Callable[[Proposal], float] | None,
        seed: int,
        data_digest: str,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
    ) -> None:
        """Run ``method_`` on ``nets_`` and freeze them; sets ``history_``."""
        self.refine_steps_ = self.refined_as_ = None
        method, nets = self._prepared()
        trainer = Trainer(
            method,
            nets,
            space,
            data,
            score=score,
            validation=validation,
            unlabelled=unlabelled,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.patience,
            seed=seed,
        )
        if self.verbose:
            trainer.callbacks.append(show_progress(self._metric_name()))
            trainer.callbacks.append(Duration())
        if checkpoint is not None:
            free = {"device", "random_state", "refine", "verbose"}
            params = self.resolved_params()
            settings = {key: describe(v) for key, v in params.items() if key not in free}
            settings |= {"seed": seed, "data": data_digest}
            if resume_from_checkpoint:
                resume(checkpoint, trainer, settings)
            else:
                # Now rather than after an epoch: a file that cannot be written is found first.
                save_checkpoint(checkpoint, trainer, settings)
            trainer.callbacks.append(Checkpoint(checkpoint, settings))
        self.history_ = trainer.run()
        for net in self.nets_.values():
            net.eval().requires_grad_(False)

    def _prepared(self) -> tuple[Method, Mapping[str, nn.Module]]:
        """What the training loop runs and on which nets: ``method_`` and ``nets_``, or more."""
        return self.method_, self.nets_

    # Predicting ------------------------------------------------------------------------------

    def _proposal(self) -> Proposal:
        """What predicts: the method's own proposal, or the refinement asked for."""
        proposal = self._refinement(self.method_, self.nets_) or self.method_.predict
        # Steps that were chosen for another refinement mean nothing for this one.
        steps = self.refine_steps_ if self.refined_as_ == describe(self.refine) else None
        if steps is not None and isinstance(proposal, GBI):
            return replace(proposal, steps=steps)
        return proposal

    def _descent(self, steps: int) -> GBI:
        """What predicts, where that is a descent on the energy, with so many steps."""
        check_int("steps", steps, least=0)
        proposal = self._proposal()
        if not isinstance(proposal, GBI):
            raise SettingError(
                f"{self.method_.name!r} predicts without descending on the energy; set refine, "
                "for instance to 'net', or take a method such as alen or dvn"
            )
        return replace(proposal, steps=steps)

    def _refinement(self, method: Method, nets: Any) -> Proposal | None:
        if self.refine is None:
            return None
        if isinstance(self.refine, str):
            check_choice("refine", self.refine, REFINEMENTS)
            proposal = REFINEMENTS[self.refine]
        elif isinstance(getattr(self.refine, "nets", None), frozenset):
            proposal = self.refine
        else:
            raise SettingError(
                f"refine is {self.refine!r}; give {', '.join(map(repr, REFINEMENTS))}, a GBI or "
                "None"
            )
        if proposal.needs >= TARGET:
            raise SettingError("refine needs the truth, which predictions lack: drop its cost")
        if missing := proposal.nets - set(nets):
            raise SettingError(
                f"refine needs the net {sorted(missing)[0]!r}, which {method.name!r} does not "
                "train or which was not kept; take a method with a loss-net, or refine=None"
            )
        return proposal

    # Storage ---------------------------------------------------------------------------------

    def _build_nets(self, names: Iterable[str], seed: int = 0) -> dict[str, nn.Module]:
        """New nets of the fitted sizes, on the estimator's device."""
        names = list(names)
        # A function of the user's may not work without memory.
        if not any(callable(getattr(self, self._factory_of(name))) for name in names):
            check_memory(lambda: self._new_nets(names))
        nets = self._new_nets(names, seed)
        return {name: net.to(self.device) for name, net in nets.items()}

    def _new_nets(self, names: Iterable[str], seed: int = 0) -> dict[str, nn.Module]:
        """New nets of the fitted sizes, on torch's default device."""
        outputs, space = self._output()
        return build_nets(names, self._make_net, self.method_.derived, outputs, space, seed=seed)

    def _output(self) -> tuple[tuple[int, ...], Space]:
        """The shape of one output, as far as nets depend on it, and what an output is."""
        raise NotImplementedError

    def _make_net(self, name: str) -> nn.Module:
        """A new net that stands by itself."""
        raise NotImplementedError

    def _factory_of(self, net: str) -> str:
        """The parameter that may hold a user's own function for a net."""
        raise NotImplementedError

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and readable facts that a model folder holds beside the nets."""
        raise NotImplementedError

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Take up what :meth:`_pack` gave."""
        raise NotImplementedError

    def save(self, path: str | Path, *, keep_energy: bool = True) -> Path:
        """Write the fitted model to a folder: config, weights and label names; no pickle.

        A folder that holds a model is written over; it holds the old or the new model at any
        moment.

        Args:
            path: the folder.
            keep_energy: keep the nets that predictions do not need, to refine with later.
        """
        from lossnet.tasks.storage import save

        check_is_fitted(self, "nets_")
        return save(self, path, keep_energy=keep_energy)

    @classmethod
    def load(cls, path: str | Path, **replace: Any) -> Self:
        """Read a model that :meth:`save` wrote.

        Args:
            path: the folder.
            replace: parameters in place of the stored ones, ``device`` or ``refine`` for
                instance; those that are objects of your own (``task_net``, ``energy_net``, a
                ``Method``) are not stored and must be given.
        """
        from lossnet.tasks.storage import load

        return load(cls, path, replace)


def _joined(prefix: str, params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value of nested mappings, and the mappings too, by names joined with ``__``."""
    for key, value in params.items():
        yield f"{prefix}__{key}", value
        if isinstance(value, Mapping):
            yield from _joined(f"{prefix}__{key}", value)
