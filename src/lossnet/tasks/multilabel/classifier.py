"""Multi-label classification in the manner of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from lossnet.checks import (
    check_choice,
    check_factory,
    check_int,
    check_share,
    check_widths,
    describe,
)
from lossnet.context import Context, stream_seed
from lossnet.energies import LabelEnergy
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.nets import LabelMLP
from lossnet.proposals import GBI, NetOutput, Proposal
from lossnet.spaces import Binary, Space
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.model_folder import CONFIG, LABELS, check_form
from lossnet.tasks.multilabel.choose_threshold import (
    check_metric,
    check_threshold,
    choose_threshold,
    validation_metric,
)
from lossnet.tasks.multilabel.dataset import check_real
from lossnet.tasks.multilabel.metric_registry import get_metric
from lossnet.tasks.multilabel.stratified import stratified_split
from lossnet.tasks.multilabel.targets import LABELS_FORM, Labels
from lossnet.tasks.multilabel.thresholds import apply_threshold
from lossnet.tasks.networks import NetFactory, try_energy, try_task_net
from lossnet.tasks.standardiser import (
    PER_COLUMN,
    Imputer,
    Standardiser,
    check_lengths,
    check_rows,
    digest,
    pair,
)
from lossnet.training import Arrays, predict
from lossnet.training.predict import over_batches, predict_path

_CUT = "predict cuts at the tuned threshold_; the check wants 0.5, and passes with threshold=0.5"

#: For ``sklearn.utils.estimator_checks.check_estimator(..., expected_failed_checks=...)``.
EXPECTED_FAILED_CHECKS: dict[str, str] = {
    "check_classifier_multioutput": _CUT,
    "check_classifiers_train": _CUT,
}


class MultiLabelClassifier(ClassifierMixin, StructuredEstimator):
    """A feed-forward network for many labels at once, trained with a learned loss.

    Args:
        method: a name that ``lossnet methods`` lists, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method in place of its defaults; each can also
            be set as ``method__name``, for instance in a grid search.
        hidden: widths of the feature network's layers, for both nets; () gives linear ones.
        dropout: dropout between those layers.
        input_dropout: dropout of the inputs.
        energy_dropout: dropout of the loss-net; None takes ``dropout``, but 0 for methods that
            descend on the energy, whose inference would be learned on other energies than it
            meets.
        global_hidden: width of the energy's global part.
        task_net: function ``(features, labels) -> nn.Module`` that builds the task-net.
        energy_net: function ``(features, labels) -> Energy`` that builds the loss-net.
        standardise: ``"auto"`` centres and scales the real-valued columns of dense input;
            True scales every column, False none.
        threshold: ``"tuned"``, one threshold tuned on validation data; ``"tuned-per-label"``;
            or a fixed number. Without validation data a threshold to be tuned is 0.5.
        metric: what early stopping and the threshold are tuned for: a name of
            :data:`lossnet.tasks.multilabel.METRICS` or a function ``(Y, P) -> float``.
        validation_fraction: share of the rows split off for validation, stratified by label,
            where ``fit`` is given no validation data; 0, or a share of less than half a row,
            trains without.
        batch_size: rows a batch.
        max_epochs: most epochs of each phase.
        patience: epochs without a better metric after which a phase ends; the best weights are
            restored.
        refine: polish predictions with the energy: ``"net"`` descends from the task-net's
            output, ``"samples"`` from samples of it, ``"random"`` from random points; or a
            :class:`~lossnet.proposals.GBI` of your own. None predicts as the method says. It can
            be set after ``fit`` too; :meth:`tune_threshold` then chooses the threshold anew.
        device: torch device.
        random_state: seed.
        verbose: 1 shows a progress bar with the losses and the validation metric.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        threshold_: the threshold, a number or one for each label.
        history_: a row for each epoch.
        label_names_: names of the labels.
        classes_: 0 and 1 for each label, ``(L, 2)``; after a 1-D y its two classes.
        best_metric_: validation metric of the weights kept, None without validation.
        refine_steps_: steps of the descent that predicts, where :meth:`tune_refinement` chose
            them for the present ``refine``; None takes the method's own.

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
        energy_dropout: float | None = None,
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
        self.energy_dropout = energy_dropout
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

    threshold_: float | np.ndarray
    best_metric_: float | None
    imputer_: Imputer
    standardiser_: Standardiser | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        validation_data: tuple[Any, Any] | None = None,
        unlabelled: Any = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
    ) -> MultiLabelClassifier:
        """Train on rows ``X`` ``(n, d)`` and an indicator matrix ``Y`` ``(n, L)``.

        Where it fails the estimator stays as it was, fitted or not.

        Args:
            X: features: a matrix, a scipy sparse one or a pandas frame. Missing values, NaN, are
                replaced by their column's mean over the training rows, at prediction too.
            Y: 0/1 labels, dense, sparse or a pandas frame, whose column names become the
                labels'; or a 1-D y of two classes, which is one label.
            validation_data: ``(X, Y)`` for early stopping and thresholds, in place of a split.
                The columns of two frames are matched by name.
            unlabelled: rows like ``X`` without labels, for methods that can learn from such:
                ``infnet`` with ``tune_on="unlabelled"``. They may be the rows to predict.
            checkpoint: file that is written during training, to resume from.
            resume_from_checkpoint: go on from ``checkpoint``, which must exist.
        """
        with self._all_or_nothing():
            method = self._check_settings()
            self._check_resume(checkpoint, resume_from_checkpoint)
            X = self._rows(X, reset=True)
            if Y is None:
                raise DataError(
                    "MultiLabelClassifier requires y to be passed, but the target y is None"
                )
            Y, labels = Labels.read(Y)
            check_rows(X, Y, "X", "Y")
            self._set_labels(labels)
            seed = self._seed()
            spare = None if unlabelled is None else self._rows(unlabelled)
            self._check_unlabelled(method, spare is not None)
            X, Y, Xv, Yv = self._split(X, Y, validation_data, seed)
            self.imputer_ = Imputer.of(X)
            self.standardiser_ = Standardiser.of(self.imputer_(X), self.standardise)
            self.method_ = method
            train = self._source(X, Y)
            held_out = score = None
            if Yv is not None:
                held_out = self._source(Xv, Yv)
                score = partial(self._score, held_out, Yv)
            self.nets_ = self._build_nets(method.nets, seed)
            self._try_nets(train)
            self._train(
                Binary(),
                train,
                validation=held_out,
                unlabelled=None if spare is None else self._source(spare),
                score=score,
                seed=seed,
                data_digest=digest(X, Y, Xv, Yv, spare),
                checkpoint=checkpoint,
                resume_from_checkpoint=resume_from_checkpoint,
            )
            self.threshold_ = 0.5 if isinstance(self.threshold, str) else float(self.threshold)
            self.best_metric_ = None
            if held_out is not None and Yv is not None:
                self._choose_threshold(held_out, Yv)
        return self

    def _check_settings(self) -> Method:
        """Raise on settings that cannot work, before any data is looked at; the method."""
        method = self._check_training_settings()
        check_widths("hidden", self.hidden)
        check_int("global_hidden", self.global_hidden)
        check_share("dropout", self.dropout)
        check_share("input_dropout", self.input_dropout)
        if self.energy_dropout is not None:
            check_share("energy_dropout", self.energy_dropout)
        check_factory("task_net", self.task_net)
        check_factory("energy_net", self.energy_net)
        check_threshold(self.threshold)
        if not isinstance(self.standardise, bool):
            check_choice("standardise", self.standardise, ["auto", "True", "False"])
        return method

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """``X`` checked: a float32 array or CSR matrix, no infinity, the columns of training."""
        check_real(X, "X")
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=np.float32,
            ensure_all_finite="allow-nan",
            reset=reset,
        )

    def _set_labels(self, labels: Labels) -> None:
        self.labels_ = labels
        self.label_names_ = labels.names
        self.n_labels_ = len(labels.names)
        self.classes_: Any = labels.classes
        if labels.classes is None:
            self.classes_ = np.tile([0, 1], (self.n_labels_, 1))

    def _split(
        self, X: Any, Y: np.ndarray, given: tuple[Any, Any] | None, seed: int
    ) -> tuple[Any, np.ndarray, Any, np.ndarray | None]:
        """Training rows and validation rows, the latter None where there are none."""
        if given is not None:
            Xv, Yv = pair(given)
            Xv, Yv = self._rows(Xv), self.labels_.encode(Yv, "validation Y")
            check_rows(Xv, Yv, "validation X", "validation Y")
        else:
            wanted = round(self.validation_fraction * len(Y))
            if wanted < 1 or len(Y) - wanted < 1:
                return X, Y, None, None
            rng = np.random.default_rng(stream_seed(seed, "validation"))
            train, held_out = stratified_split(Y, self.validation_fraction, rng)
            X, Y, Xv, Yv = X[train], Y[train], X[held_out], Y[held_out]
        check_metric(get_metric(self.metric), Yv)
        return X, Y, Xv, Yv

    def _try_nets(self, data: Arrays) -> None:
        """Try the nets that a user's function made on a few rows."""
        x = data.batch(slice(2)).x
        for name, net in self.nets_.items():
            own = name not in self.method_.derived and getattr(self, self._factory_of(name))
            if own:
                attempt = try_energy if name == "energy" else try_task_net
                attempt(name, net, x, (self.n_labels_,))

    def _factory_of(self, net: str) -> str:
        return "energy_net" if net == "energy" else "task_net"

    def _output(self) -> tuple[tuple[int, ...], Space]:
        return (self.n_labels_,), Binary()

    def _filled_in(self, method: Method) -> dict[str, Any]:
        dropout = self.energy_dropout
        if dropout is None:
            dropout = 0.0 if method.descends_on_energy else self.dropout
        return {"energy_dropout": dropout}

    def _make_net(self, name: str) -> nn.Module:
        make = getattr(self, self._factory_of(name))
        if make is None and name == "energy":
            make = partial(
                LabelEnergy,
                hidden=self.hidden,
                dropout=self._filled_in(self.method_)["energy_dropout"],
                input_dropout=self.input_dropout,
                global_hidden=self.global_hidden,
            )
        elif make is None:
            make = partial(
                LabelMLP,
                hidden=self.hidden,
                dropout=self.dropout,
                input_dropout=self.input_dropout,
            )
        net: nn.Module = make(self.n_features_in_, self.n_labels_)
        return net

    def _source(self, X: Any, Y: np.ndarray | None = None) -> Arrays:
        own = self.task_net is not None or self.energy_net is not None
        return Arrays(
            self.imputer_(X),
            Y,
            device=self.device,
            share=not own,
            transform=self.standardiser_,
        )

    def _score(self, source: Arrays, Y: np.ndarray, by: Proposal) -> float:
        """The metric on validation data, at the threshold a user would get."""
        return validation_metric(
            self.threshold, get_metric(self.metric), Y, self._outputs(by, source, self.nets_)
        )

    def _choose_threshold(self, source: Arrays, Y: np.ndarray) -> None:
        metric, proba = get_metric(self.metric), self._outputs(self._proposal(), source)
        self.threshold_ = choose_threshold(self.threshold, metric, Y, proba)
        self.best_metric_ = float(metric(Y, proba, self.threshold_))

    def tune_threshold(self, X: Any, Y: Any) -> MultiLabelClassifier:
        """Choose ``threshold_`` anew on other data, for instance after setting ``refine``.

        ``threshold`` and ``metric`` say how; the nets stay as they are.
        """
        check_is_fitted(self, "nets_")
        check_threshold(self.threshold)
        X, Y = self._rows(X), self.labels_.encode(Y)
        check_rows(X, Y, "X", "Y")
        check_metric(get_metric(self.metric), Y)
        self._choose_threshold(self._source(X), Y)
        return self

    def tune_refinement(self, X: Any, Y: Any, *, most: int = 30) -> MultiLabelClassifier:
        """Choose how many steps predictions descend on the energy, 0 to ``most``, and a threshold.

        For methods that predict so, or with ``refine``. Every number of steps has its threshold
        tuned as ``threshold`` says; the fewest steps of the best metric on this data are kept in
        ``refine_steps_``.
        """
        check_is_fitted(self, "nets_")
        check_threshold(self.threshold)
        metric, path = get_metric(self.metric), self.refinement_path(X, steps=most)
        Y = self.labels_.encode(Y)
        check_rows(path[0], Y, "X", "Y")
        check_metric(metric, Y)
        scores = [validation_metric(self.threshold, metric, Y, proba) for proba in path]
        self.refine_steps_, self.refined_as_ = int(np.argmax(scores)), describe(self.refine)
        self.threshold_ = choose_threshold(self.threshold, metric, Y, path[self.refine_steps_])
        self.best_metric_ = float(metric(Y, path[self.refine_steps_], self.threshold_))
        return self

    # Predicting ------------------------------------------------------------------------------

    def refinement_path(self, X: Any, *, steps: int = 30) -> np.ndarray:
        """What :meth:`predict_proba` would give after 0, 1, ... steps, ``(steps + 1, n, L)``.

        For methods that predict by descending on the energy, or with ``refine``.
        """
        check_is_fitted(self, "nets_")
        descent = self._descent(steps)
        nets, source = self._precise(descent, self._source(self._rows(X)))
        y = predict_path(descent, nets, Binary(), source)
        outputs: np.ndarray = y.float().cpu().numpy()
        return outputs

    def _outputs(
        self, proposal: Proposal, source: Arrays, nets: Mapping[str, nn.Module] | None = None
    ) -> np.ndarray:
        """Relaxed outputs; with ``nets``, of these in single precision."""
        if nets is None:
            nets, source = self._precise(proposal, source)
        # Every batch costs the repacking of the weights; inference holds many arrays a batch.
        rows = 2048 if isinstance(proposal, NetOutput) else 512
        y = predict(proposal, nets, Binary(), source, batch_size=rows)
        outputs: np.ndarray = y.float().cpu().numpy()
        return outputs

    def _precise(
        self, proposal: Proposal, source: Arrays
    ) -> tuple[Mapping[str, nn.Module], Arrays]:
        """Nets and rows for a proposal: in double precision for a descent.

        How a product is rounded depends on the size of its batch, and Adam's steps go a full
        length wherever a gradient is not exactly 0: in single precision outputs would move by 0.01
        with the other rows of a batch. A user's own nets may not take double precision.
        """
        own = self.task_net is not None or self.energy_net is not None
        if own or not isinstance(proposal, GBI):
            return self.nets_, source
        nets = copy.deepcopy(dict(self.nets_))
        return {name: net.double() for name, net in nets.items()}, source.double()

    def _probabilities(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "nets_")
        return self._outputs(self._proposal(), self._source(self._rows(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every label, ``(n, L)``; of both classes, ``(n, 2)``, after a 1-D y.

        Methods that predict by descending on the energy give relaxed outputs in [0, 1].
        """
        proba = self._probabilities(X)
        return proba if self.labels_.classes is None else np.hstack([1.0 - proba, proba])

    def predict(self, X: Any) -> np.ndarray:
        """0/1 labels ``(n, L)``: probabilities at or above ``threshold_``.

        After a 1-D y the classes ``(n,)``.
        """
        proba = self._probabilities(X)
        return self.labels_.decode(apply_threshold(proba, self.threshold_))

    def energy(self, X: Any, Y: Any) -> np.ndarray:
        """Energy of label sets beside their inputs, ``(n,)``; lower fits better.

        ``Y`` may lie between 0 and 1.
        """
        check_is_fitted(self, "nets_")
        if "energy" not in self.nets_:
            raise SettingError(f"{self.method_.name!r} has no loss-net, or it was not kept")
        X, Y = self._rows(X), self.labels_.relaxed(Y)
        check_rows(X, Y, "X", "Y")

        def energies(context: Context) -> Tensor:
            return context.energy(context.target.unsqueeze(0))[0]

        e: np.ndarray = (
            over_batches(energies, self.nets_, Binary(), self._source(X, Y)).cpu().numpy()
        )
        return e

    # Storage ---------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {
            "threshold": torch.as_tensor(np.asarray(self.threshold_, dtype=np.float64)),
            "imputer/means": torch.as_tensor(self.imputer_.means),
        }
        if self.standardiser_ is not None:
            tensors |= self.standardiser_.tensors()
        names = getattr(self, "feature_names_in_", None)
        facts = {
            "features": int(self.n_features_in_),
            "feature_names": None if names is None else [str(name) for name in names],
            "best_metric": self.best_metric_,
            "labels": replace(self.labels_, names=list(self.label_names_)).to_json(),
        }
        return tensors, facts

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        form = {"features": int, "feature_names": (None, [str]), "best_metric": (None, float)}
        check_form(facts, form, CONFIG)
        check_form(facts["labels"], LABELS_FORM, LABELS)
        self._set_labels(Labels.from_json(facts["labels"]))
        self.n_features_in_ = facts["features"]
        if facts["feature_names"] is not None:
            self.feature_names_in_ = np.array(facts["feature_names"], dtype=object)
        self.best_metric_ = facts["best_metric"]
        threshold = tensors["threshold"].numpy()
        if threshold.shape not in ((), (self.n_labels_,)):
            raise DataError(f"the threshold has shape {threshold.shape}, not one for each label")
        self.threshold_ = float(threshold) if threshold.ndim == 0 else threshold
        self.imputer_ = Imputer(tensors["imputer/means"].numpy())
        check_lengths(tensors, PER_COLUMN, self.n_features_in_)
        self.standardiser_ = Standardiser.from_tensors(tensors)
