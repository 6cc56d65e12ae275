"""What a task's estimator must say of itself, and its parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor, nn

from lossnet.checks import check_device, check_int, check_share
from lossnet.method import Method
from lossnet.needs import EXACT, LOCAL, TARGET, UNLABELLED
from lossnet.parameters import Weight, check_value, plain
from lossnet.precision import Precision, check_precision
from lossnet.proposals import GBI, NetOutput, Proposal
from lossnet.recipes import build, parameters
from lossnet.spaces import Space
from lossnet.tasks.method_checks import (
    check_features,
    check_given_nets,
    check_method,
    check_needs,
    feature_net,
    refinement,
)
from lossnet.tasks.networks import build_nets, check_memory, copy_features, try_net
from lossnet.tasks.parts import cut_rows
from lossnet.tasks.presets import WithPreset
from lossnet.training import Arrays, Source, predict
from lossnet.training.checks import check_gradients
from lossnet.training.predict import predict_path


class Fitted(WithPreset):
    """What every fitted estimator has."""

    method_: Method
    nets_: dict[str, nn.Module]
    history_: list[dict[str, Any]]
    refine_steps_: int | None
    refined_as_: Any


@dataclass(eq=False, repr=False)
class TaskEstimator(Fitted):
    """The contract between a task's estimator and the template that runs it.

    A subclass is a dataclass too: its fields are parameters in addition to those below, or other
    defaults for these. It implements the methods under "The task" that have no default. They speak
    of the task's own data class, see :class:`~lossnet.tasks.parts.Data`, and of *outputs*, what
    the nets give for it.
    """

    #: What a method may need of this task: see :mod:`lossnet.needs`.
    provides: ClassVar[frozenset[str]] = TARGET | UNLABELLED
    #: What errors call what comes with the truth, and the truth, in the plural.
    inputs_noun: ClassVar[str] = "a pair of inputs"
    labels_noun: ClassVar[str] = "labels"
    #: How many arguments :meth:`_data` takes with the truth, at least and at most.
    inputs_taken: ClassVar[tuple[int, int]] = (2, 2)

    method: str | Method = "seal-nce"
    _: KW_ONLY
    method_params: dict[str, Any] | None = None
    preset: str | None = None
    energy_features: Literal["own", "copy", "shared"] | None = "own"
    metric: Any = "score"
    validation_fraction: float = 0.15
    batch_size: int = 32
    max_epochs: int = 100
    patience: int = 10
    unlabelled_weight: float = 1.0
    accumulate: int = 1
    precision: Precision = "float32"
    refine: str | Proposal | None = None
    decode: str = "auto"
    decode_samples: int = 100
    device: str = "cpu"
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    # The task --------------------------------------------------------------------------------

    def _check_own_settings(self, method: Method) -> None:
        """Raise on parameters of the task that cannot work, before any data is looked at."""

    def _task_defaults(self) -> dict[str, Any]:
        """Parameters in which the task overrides the named recipe's defaults."""
        return {}

    def _filled_in(self, method: Method) -> dict[str, Any]:
        """Parameters whose None leaves the choice to the method or to another parameter."""
        return {}

    def _data(self, inputs: Any, targets: Any = None) -> Any:
        """What users pass, as the task's data; once fitted, in the columns of training."""
        raise NotImplementedError

    def _learn_classes(self, data: Any, reward: Any) -> None:
        """Set what other data is checked against: classes and columns of the training data."""

    def _learn(self, data: Any, validation: Any, unlabelled: Any, seed: int) -> None:
        """Set what turns data into numbers: scales, vocabularies, from the rows trained on."""

    def _fit_beforehand(self, data: Any, seed: int, **weights: Any) -> None:
        """Fit what the nets build on."""

    def _check_fits(self, data: Any, what: str | None = None) -> Any:
        """The data, or an error that calls it ``what`` where the model cannot take it."""
        return data

    def _known_rows(self, data: Any, *, every: bool = False) -> np.ndarray | None:
        """Which rows have some, or with ``every`` all, of their truth known; None: all have all."""
        return None

    def _entry_weights(self, data: Any) -> np.ndarray | None:
        """``(2, L)``: what entries of the truth that are off, and on, count in the cross-entropy.

        None: all alike.
        """
        return None

    def _cut(self, data: Any, fraction: float, seed: int) -> Iterable[Any]:
        """Rows to train on, and rows to hold out for validation."""
        return cut_rows(len(data), [fraction], seed, data.groups)

    def _source(self, data: Any, *, training: bool = False, reward: Any = None) -> Source:
        """Batches of the data; with ``training`` as the nets learn from them."""
        raise NotImplementedError

    def _output(self) -> tuple[tuple[int, ...], Space]:
        """The shape of one output, as far as nets depend on it, and what an output is."""
        raise NotImplementedError

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        """A new net of the fitted sizes, one that is not derived from another.

        ``features`` is what the loss-net has with ``energy_features="shared"`` in place of a
        feature network of its own: a :class:`~lossnet.nets.SharedFeatures`.
        """
        raise NotImplementedError

    def _outputs(self, by: Proposal, data: Any, *, source: Any = None) -> Any:
        """What the nets give for every row, by a proposal: relaxed outputs ``(n, *S)``.

        Early stopping passes the ``source`` of its data, made once, and asks for no more than
        single precision.
        """
        nets: Mapping[str, nn.Module] = self.nets_
        if source is None:
            nets, source = self._precise(by, data)
        # Every batch costs the repacking of the weights; inference holds many arrays per batch.
        rows = 2048 if isinstance(by, NetOutput) else 512
        how: dict[str, Any] = {"batch_size": rows, "precision": self.precision}
        outputs = predict(by, nets, self._output()[1], source, **how)
        return outputs.float().cpu().numpy()

    def _path(self, descent: GBI, data: Any) -> Any:
        """The same after 0, 1, ... steps of a descent on the energy."""
        nets, source = self._precise(descent, data)
        path = predict_path(descent, nets, self._output()[1], source, precision=self.precision)
        return path.float().cpu().numpy()

    def _precise(self, by: Proposal, data: Any) -> tuple[Mapping[str, nn.Module], Any]:
        """Nets and batches for a proposal; of arrays in double precision for a descent.

        How a product is rounded depends on the size of its batch, and Adam's steps go a full
        length wherever a gradient is not exactly 0: in single precision outputs would move by 0.01
        with the other rows of a batch. A user's own nets may not take double precision.
        """
        source = self._source(data)
        own = any(map(self._own_factory, ("task", "energy")))
        if own or not isinstance(by, GBI) or not isinstance(source, Arrays):
            return self.nets_, source
        nets = copy.deepcopy(dict(self.nets_))
        return {name: net.double() for name, net in nets.items()}, source.double()

    def _measure(self, data: Any, outputs: Any) -> float:
        """The metric of outputs against the truth."""
        raise NotImplementedError

    def _metric_name(self) -> str:
        """What progress calls the validation metric; an error where it is unknown."""
        return str(self.metric)

    def _finish(self, validation: Any) -> None:
        """Choose what is left to choose on validation data (or None) after training."""

    def _prepared(self) -> tuple[Method, Mapping[str, nn.Module]]:
        """What the training loop runs and on which nets: ``method_`` and ``nets_``, or more."""
        return self.method_, self.nets_

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and readable facts that a model folder holds in addition to the nets."""
        return {}, {}

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Restore what :meth:`_pack` gave."""

    # Parameters ------------------------------------------------------------------------------

    def resolved_method_params(self) -> dict[str, Any]:
        """Every parameter of the named method as ``fit`` takes it, in a form for JSON.

        The recipe's defaults, changed by those of this task, by the ``preset`` and then by
        ``method_params``; a part is a dict of its ``kind`` and its parameters. ``method_params``
        takes all of it back. A :class:`~lossnet.Method` of your own has none.
        """
        if not isinstance(self.method, str):
            return {}
        return dict(plain(parameters(self.method, *self._overrides())))

    def _overrides(self) -> Iterable[Mapping[str, Any] | None]:
        """What overrides the named recipe's defaults, in turn."""
        row = self._preset_row(strict=True)
        preset = None if row is None else row.method_params
        return self._task_defaults(), preset, self.method_params

    def resolved_params(self) -> dict[str, Any]:
        """Every parameter as ``fit`` takes it: what a default, the task or the method decides too.

        A model folder stores these, so that a changed default changes no stored model.
        """
        params = self._effective_params()
        resolved = self._filled_in(self._assembled())
        resolved |= {"method_params": self.resolved_method_params() or None}
        # A subclass with an __init__ of its own may lack some.
        return params | {name: value for name, value in resolved.items() if name in params}

    def _assembled(self) -> Method:
        check_method(self.method, self.method_params)
        if isinstance(self.method, Method):
            self._preset_row(strict=True)
            return self.method
        return build(self.method, *self._overrides())

    def _check_settings(self) -> Method:
        """Raise on parameters that cannot work, before any data is looked at; the method."""
        method = self._assembled()
        # An energy of the user's own may have what no other has.
        own = LOCAL | EXACT if callable(getattr(self, "energy_net", None)) else frozenset()
        check_needs(method, self.provides | own, type(self))
        check_given_nets(method, self._own_factory)
        for name in ("batch_size", "max_epochs", "patience", "accumulate"):
            check_int(name, getattr(self, name))
        check_share("validation_fraction", self.validation_fraction)
        check_value("unlabelled_weight", Weight, self.unlabelled_weight)
        self._metric_name()
        check_device(self.device)
        choice = self._filled_in(method).get("energy_features", self.energy_features)
        check_features(choice, method, self._own_factory("energy") is not None)
        check_precision(self.precision, self.device)
        check_gradients(method, self.accumulate, self.precision)
        refinement(self.refine, method, method.nets)
        self._check_own_settings(method)
        return method

    # Nets ------------------------------------------------------------------------------------

    def _build_nets(self, names: Iterable[str], seed: int = 0) -> dict[str, nn.Module]:
        """New nets of the fitted sizes, on the estimator's device."""
        names = list(names)
        # A function of the user's may not work without memory.
        if not any(map(self._own_factory, names)):
            check_memory(lambda: self._new_nets(names))
        nets = self._new_nets(names, seed)
        if "energy" in nets and (base := self._feature_net("copy")):
            copy_features(nets, base)
        return {name: net.to(self.device) for name, net in nets.items()}

    def _feature_net(self, how: str) -> str | None:
        """The net whose features the loss-net has so, ``"copy"`` or ``"shared"``, or None."""
        found = self._filled_in(self.method_).get("energy_features", self.energy_features)
        return feature_net(self.method_) or "task" if found == how else None

    def _new_nets(self, names: Iterable[str], seed: int = 0) -> dict[str, nn.Module]:
        """New nets of the fitted sizes, on torch's default device."""
        outputs, space = self._output()
        parts = self._make_net, self.method_.derived, outputs, space
        return build_nets(names, *parts, seed=seed, shared=self._feature_net("shared"))

    def _try_nets(self, source: Source) -> None:
        """Run the nets that a user's own function made on two rows."""
        for name in self.nets_:
            if name not in self.method_.derived and self._own_factory(name):
                try_net(name, self.nets_, source.batch(slice(0, 2)))

    def _factory_of(self, net: str) -> str:
        """The parameter that may hold a user's own function for a net."""
        return "energy_net" if net == "energy" else "task_net"

    def _own_factory(self, net: str) -> Callable[..., nn.Module] | None:
        """The user's own function for a net, None where there is none."""
        made = getattr(self, self._factory_of(net), None)
        return made if callable(made) else None
