"""Multi-label classification in the manner of scikit-learn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from lossnet.context import stream_seed
from lossnet.energies import LabelEnergy
from lossnet.errors import DataError, SettingError, unknown
from lossnet.estimators.inputs import Standardiser, label_matrix
from lossnet.method import Method
from lossnet.metrics import apply_threshold, get_metric, stratified_split, tune_threshold
from lossnet.nets import LabelMLP
from lossnet.proposals import GBI, NetOutput, Proposal, Random, Samples
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.training import Arrays, Checkpoint, Progress, Trainer, predict, resume

NetFactory = Callable[[int, int], nn.Module]

#: Where ``refine`` starts from, by name.
REFINEMENTS: dict[str, Proposal] = {
    "net": GBI(20, 0.05, start=NetOutput()),
    "samples": GBI(20, 0.05, start=Samples(10)),
    "random": GBI(20, 0.1, start=Random(3)),
}


class MultiLabelClassifier(ClassifierMixin, BaseEstimator):
    """A feed-forward network for many labels at once, trained with a learned loss.

    Args:
        method: a name that ``lossnet methods`` lists, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method in place of its defaults; each can also
            be set as ``method__name``, for instance in a grid search.
        hidden: widths of the feature network's layers, for both nets.
        dropout: dropout between those layers.
        input_dropout: dropout of the inputs.
        global_hidden: width of the energy's global part.
        task_net: function ``(features, labels) -> nn.Module`` that builds the task-net.
        energy_net: function ``(features, labels) -> Energy`` that builds the loss-net.
        standardise: ``"auto"`` centres and scales the real-valued columns of dense input;
            True scales every column, False none.
        threshold: ``"tuned"``, one threshold tuned on validation data; ``"tuned-per-label"``;
            or a fixed number.
        metric: what early stopping and the threshold are tuned for: a name of
            :data:`lossnet.metrics.METRICS` or a function ``(Y, P) -> float``.
        validation_fraction: share of the rows split off for validation, stratified by label,
            where ``fit`` is given no validation data; 0 trains without.
        batch_size: rows a batch.
        max_epochs: most epochs of each phase.
        patience: epochs without a better metric after which a phase ends; the best weights are
            restored.
        refine: polish predictions with the energy: ``"net"`` descends from the task-net's
            output, ``"samples"`` from samples of it, ``"random"`` from random points; or a
            :class:`~lossnet.proposals.GBI` of your own. None predicts as the method says.
        device: torch device.
        random_state: seed.
        verbose: 1 shows a progress bar with the losses and the validation metric.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        threshold_: the threshold, a number or one for each label.
        history_: a row for each epoch.
        label_names_: names of the labels.
        best_metric_: validation metric of the weights kept, None without validation.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 5)); Y = (X[:, :3] > 0).astype(int)
    >>> clf = MultiLabelClassifier("cross-entropy", hidden=(16,), max_epochs=5, random_state=0)
    >>> clf.fit(X, Y).predict_proba(X).shape
    (80, 3)
    """

    def __init__(
        self,
        method: str | Method = "seal-nce",
        *,
        method_params: dict[str, Any] | None = None,
        hidden: Sequence[int] = (400, 400),
        dropout: float = 0.5,
        input_dropout: float = 0.0,
        global_hidden: int = 200,
        task_net: NetFactory | None = None,
        energy_net: NetFactory | None = None,
        standardise: bool | Literal["auto"] = "auto",
        threshold: float | Literal["tuned", "tuned-per-label"] = "tuned",
        metric: str | Callable[..., float] = "example-f1",
        validation_fraction: float = 0.15,
        batch_size: int = 32,
        max_epochs: int = 100,
        patience: int = 10,
        refine: str | Proposal | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.method_params = method_params
        self.hidden = hidden
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.global_hidden = global_hidden
        self.task_net = task_net
        self.energy_net = energy_net
        self.standardise = standardise
        self.threshold = threshold
        self.metric = metric
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.refine = refine
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # scikit-learn ----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the estimator; with ``deep`` the method's own as ``method__name``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            params |= {f"method__{key}": v for key, v in (self.method_params or {}).items()}
        return params

    def set_params(self, **params: Any) -> MultiLabelClassifier:
        """Set parameters; ``method__name=value`` sets one of the method's own."""
        own = {k: v for k, v in params.items() if not k.startswith("method__")}
        super().set_params(**own)
        nested = {k.removeprefix("method__"): v for k, v in params.items() if k not in own}
        if nested:
            self.method_params = {**(self.method_params or {}), **nested}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = False
        return tags

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        validation_data: tuple[Any, Any] | None = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
    ) -> MultiLabelClassifier:
        """Train on rows ``X`` ``(n, d)`` and an indicator matrix ``Y`` ``(n, L)``.

        Args:
            X: dense or sparse features.
            Y: 0/1 labels, dense, sparse or a pandas frame.
            validation_data: ``(X, Y)`` for early stopping and thresholds, in place of a split.
            checkpoint: file that is written during training, to resume from.
            resume_from_checkpoint: go on from ``checkpoint``, which must exist.
        """
        method = self._check_settings()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32)
        Y, names = label_matrix(Y)
        _check_rows(X, Y, "X", "Y")
        self.label_names_ = names or [f"label_{i}" for i in range(Y.shape[1])]
        self.n_labels_ = Y.shape[1]
        self.classes_ = [np.array([0, 1])] * Y.shape[1]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if isinstance(self.random_state, Integral):
            seed = int(self.random_state)
        X, Y, Xv, Yv = self._split(X, Y, validation_data, seed)
        self.standardiser_ = Standardiser.of(X, self.standardise)
        self.method_ = method
        self.nets_ = self._build_nets(method, seed)
        held_out = None if Xv is None else self._source(Xv, Yv)
        trainer = Trainer(
            method,
            self.nets_,
            Binary(),
            self._source(X, Y),
            score=None if Yv is None else lambda proposal: self._score(proposal, held_out, Yv),
            validation=held_out,
            batch_size=min(self.batch_size, len(Y)),
            max_epochs=self.max_epochs,
            patience=self.patience,
            seed=seed,
        )
        if self.verbose:
            trainer.callbacks.append(Progress(get_metric(self.metric).name))
        if checkpoint is not None:
            settings = {**self._readable_params(), "seed": seed, "data": _digest(X, Y)}
            if resume_from_checkpoint:
                resume(checkpoint, trainer, settings)
            trainer.callbacks.append(Checkpoint(checkpoint, settings))
        self.history_ = trainer.run()
        for net in self.nets_.values():
            net.eval().requires_grad_(False)
        self._choose_threshold(held_out, Yv)
        return self

    def _check_settings(self) -> Method:
        """Raise on settings that cannot work, before any data is looked at."""
        if isinstance(self.method, Method):
            if self.method_params:
                raise SettingError("method_params go with a method's name, not with a Method")
            method = self.method
        else:
            method = build(self.method, self.method_params)
        if not 0.0 <= self.validation_fraction < 1.0:
            raise SettingError(
                f"validation_fraction is {self.validation_fraction}; give 0 up to below 1"
            )
        if isinstance(self.threshold, str):
            if self.threshold not in ("tuned", "tuned-per-label"):
                raise unknown("threshold", self.threshold, ["tuned", "tuned-per-label"])
        elif not 0.0 <= self.threshold <= 1.0:
            raise SettingError(f"threshold is {self.threshold}; give a number from 0 to 1")
        if self.standardise not in (True, False, "auto"):
            raise unknown("standardise", str(self.standardise), ["auto", "True", "False"])
        if isinstance(self.refine, str) and self.refine not in REFINEMENTS:
            raise unknown("refine", self.refine, REFINEMENTS)
        get_metric(self.metric)
        return method

    def _split(
        self, X: Any, Y: np.ndarray, given: tuple[Any, Any] | None, seed: int
    ) -> tuple[Any, np.ndarray, Any, np.ndarray | None]:
        if given is not None:
            Xv, Yv = given
            Xv = validate_data(self, Xv, accept_sparse="csr", dtype=np.float32, reset=False)
            Yv, _ = label_matrix(Yv, name="validation Y")
            _check_rows(Xv, Yv, "validation X", "validation Y")
            if Yv.shape[1] != Y.shape[1]:
                raise DataError(
                    f"validation Y has {Yv.shape[1]} labels and Y has {Y.shape[1]}; give the same"
                )
            return X, Y, Xv, Yv
        wanted = round(self.validation_fraction * len(Y))
        if wanted < 1 or len(Y) - wanted < 1:
            return X, Y, None, None
        rng = np.random.default_rng(stream_seed(seed, "validation"))
        train, held_out = stratified_split(Y, self.validation_fraction, rng)
        return X[train], Y[train], X[held_out], Y[held_out]

    def _build_nets(self, method: Method, seed: int) -> dict[str, nn.Module]:
        """Every net the method names, each from a random stream of its own."""
        nets = {}
        for name in sorted(method.nets):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(stream_seed(seed, f"weights of {name}"))
                nets[name] = self._build_net(name).to(self.device)
        return nets

    def _build_net(self, name: str) -> nn.Module:
        factory = self.energy_net if name == "energy" else self.task_net
        if factory is not None:
            return factory(self.n_features_in_, self.n_labels_)
        if name == "energy":
            return LabelEnergy(
                self.n_features_in_,
                self.n_labels_,
                hidden=self.hidden,
                dropout=self.dropout,
                input_dropout=self.input_dropout,
                global_hidden=self.global_hidden,
            )
        return LabelMLP(
            self.n_features_in_,
            self.n_labels_,
            hidden=self.hidden,
            dropout=self.dropout,
            input_dropout=self.input_dropout,
        )

    def _source(self, X: Any, Y: np.ndarray | None = None) -> Arrays:
        X = X if self.standardiser_ is None else self.standardiser_(X)
        return Arrays(X, Y, device=self.device)

    def _score(self, proposal: Proposal, source: Arrays | None, Y: np.ndarray) -> float:
        """The metric on validation data, at the threshold a user would get."""
        assert source is not None
        proba = self._outputs(proposal, source)
        metric = get_metric(self.metric)
        if isinstance(self.threshold, str) and metric.needs == "labels":
            return float(tune_threshold(Y, proba, metric=metric)[1])
        threshold = 0.5 if isinstance(self.threshold, str) else self.threshold
        return float(metric(Y, proba, threshold))

    def _choose_threshold(self, held_out: Arrays | None, Yv: np.ndarray | None) -> None:
        metric = get_metric(self.metric)
        self.best_metric_: float | None = None
        self.threshold_: Any = 0.5 if isinstance(self.threshold, str) else float(self.threshold)
        if held_out is None or Yv is None:
            return
        proba = self._outputs(self._proposal(), held_out)
        if isinstance(self.threshold, str):
            tuned_for = metric if metric.needs == "labels" else get_metric("example-f1")
            per_label = self.threshold == "tuned-per-label"
            found, _ = tune_threshold(Yv, proba, metric=tuned_for, per_label=per_label)
            self.threshold_ = float(found) if found.ndim == 0 else found
        self.best_metric_ = float(metric(Yv, proba, self.threshold_))

    # Predicting ------------------------------------------------------------------------------

    def _proposal(self) -> Proposal:
        if self.refine is None:
            return self.method_.predict
        proposal = REFINEMENTS[self.refine] if isinstance(self.refine, str) else self.refine
        if missing := proposal.nets - set(self.nets_):
            raise SettingError(
                f"refine needs the net {sorted(missing)[0]!r}, which {self.method_.name!r} did not "
                "train or which was not kept; take a method with a loss-net, or refine=None"
            )
        return proposal

    def _outputs(self, proposal: Proposal, source: Arrays) -> np.ndarray:
        outputs = predict(proposal, self.nets_, Binary(), source)
        array: np.ndarray = outputs.cpu().numpy()
        return array

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every label, ``(n, L)``.

        Methods that predict by descending on the energy give relaxed outputs in [0, 1].
        """
        check_is_fitted(self, "nets_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return self._outputs(self._proposal(), self._source(X))

    def predict(self, X: Any) -> np.ndarray:
        """0/1 labels ``(n, L)``: probabilities at or above ``threshold_``."""
        return apply_threshold(self.predict_proba(X), self.threshold_).astype(np.int64)

    def energy(self, X: Any, Y: Any) -> np.ndarray:
        """Energy of label sets beside their inputs, ``(n,)``; lower fits better."""
        check_is_fitted(self, "nets_")
        if "energy" not in self.nets_:
            raise SettingError(f"{self.method_.name!r} has no loss-net, or it was not kept")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        Y = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y, dtype=np.float32)
        _check_rows(X, Y, "X", "Y")
        from lossnet.training.predict import over_batches

        def energies(context: Any) -> torch.Tensor:
            e: torch.Tensor = context.energy(context.target.unsqueeze(0))[0]
            return e

        values: np.ndarray = (
            over_batches(energies, self.nets_, Binary(), self._source(X, Y)).cpu().numpy()
        )
        return values

    def _readable_params(self) -> dict[str, Any]:
        """Parameters as JSON can hold them; what it cannot is named by its repr."""
        return {key: _readable(value) for key, value in self.get_params(deep=False).items()}

    # Storage ---------------------------------------------------------------------------------

    def save(self, path: str | Path, *, keep_energy: bool = True) -> Path:
        """Write the fitted model to a folder: config, weights and label names; no pickle."""
        from lossnet.estimators.storage import save

        return save(self, path, keep_energy=keep_energy)

    @classmethod
    def load(cls, path: str | Path, **replace: Any) -> MultiLabelClassifier:
        """Read a model that :meth:`save` wrote; ``replace`` gives parameters a file cannot hold."""
        from lossnet.estimators.storage import load

        return load(cls, path, replace)


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_readable(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _check_rows(X: Any, Y: Any, x_name: str, y_name: str) -> None:
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"{x_name} has {X.shape[0]} rows and {y_name} has {Y.shape[0]}; give as many"
        )


def _digest(X: Any, Y: np.ndarray) -> str:
    """A short checksum of the training data."""
    digest = hashlib.sha256()
    pieces = (X.data, X.indices, X.indptr) if hasattr(X, "tocsr") else (X,)
    for piece in (*pieces, Y):
        digest.update(np.ascontiguousarray(piece).tobytes())
    return digest.hexdigest()[:16]
