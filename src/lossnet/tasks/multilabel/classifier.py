"""Multi-label classification with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lossnet.checks import check_choice, check_factory, check_share
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.needs import CONSTRAINT
from lossnet.ranges import Choice, Dimension, Range
from lossnet.spaces import Binary
from lossnet.tasks.method_checks import check_completes
from lossnet.tasks.multilabel import class_weights, thresholds
from lossnet.tasks.multilabel.arrays import with_unseen
from lossnet.tasks.multilabel.constrained import as_stored, bound_to
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.multilabel.joint import LabelJoint
from lossnet.tasks.multilabel.listed_columns import check_listed
from lossnet.tasks.multilabel.metrics import get_metric
from lossnet.tasks.multilabel.paper_settings import PAPERS
from lossnet.tasks.networks import NetFactory
from lossnet.tasks.presets import Row
from lossnet.tasks.standardiser import Standardiser
from lossnet.tasks.weights import check_row_weights
from lossnet.training.predict import over_batches

#: What ``method="auto"`` sets; and where there is one task-net, as version 0.1 always had.
ALONE = Row({"method": "seal-nce"})
AUTOMATIC = Row({"method": "seal-nce", "members": 4, "trees": 300}, {"energy_steps": 1})
#: The same from so many training rows, where an epoch has enough batches.
MANY_ROWS = 2000
LARGE = Row({**AUTOMATIC.parameters, "batch_size": 64, "patience": 5}, AUTOMATIC.method_params)


@dataclass(eq=False, repr=False)
class MultiLabelClassifier(ClassifierMixin, LabelJoint):
    """A feed-forward network for many labels at once, trained with a learned loss.

    :meth:`fit` takes features X ``(n, d)``: an array, a scipy sparse matrix or a pandas DataFrame.
    Missing numbers (NaN) are replaced by the column's mean over the training rows, also in
    prediction. Of a column of words or of dtype category, each category of the training rows
    becomes a column; a category that is missing, or absent from training, has zeros in all of them.
    Booleans and words of a yes/no kind are 1 and 0. Y is an indicator matrix ``(n, L)``, dense,
    sparse or a DataFrame, whose column names become the labels' names; or a 1-D y with two classes,
    which is one label. After a sparse Y, predictions are CSR matrices. Sparse X of 5,000 columns or
    more stays sparse up to the nets, and sparse Y of more than 2^26 entries up to a batch. NaN in Y
    is a label that is not known: it is left out of losses, thresholds and metrics, and the loss-net
    sees what the task-net says in its place. Every method also accepts a
    :class:`~lossnet.tasks.multilabel.MultiLabelData` in place of X and Y. Columns are matched by
    name. ``unlabelled`` rows can be the rows to predict.

    Args:
        method: a name from ``lossnet methods``, or a :class:`~lossnet.Method`. ``"auto"`` is
            ``"seal-nce"`` with one energy step, four ``members`` and 300 ``trees``, of large data
            fewer, and from 2,000 training rows with batches of 64 and a patience of 5;
            ``preset="0.1"`` is what that version had by default.
        method_params: parameters of the named method that override its defaults; each can also
            be set as ``method__name``, for example in a grid search.
        preset: ``"paper"`` sets what a paper's experiments had, ``"paper:cal500"`` those on that
            data set, ``"0.1"`` what that version had by default; parameters that differ from their
            default here keep what they are. See :data:`papers` and ``docs/methods.md``.
        hidden: widths of the hidden layers of both nets; () makes them linear.
        dropout, input_dropout: dropout between those layers; dropout of the inputs.
        energy_dropout: dropout of the loss-net; None uses ``dropout``, but 0 for methods that
            descend on the energy, because prediction descends without dropout.
        global_hidden: width of the energy's global part.
        members: number of task-nets, whose mean predicts. Each leaves out a fold of the training
            rows; the loss-net learns from the nets that have not seen the row. See
            :mod:`lossnet.recipes.members`. None is 1 for a method that is named.
        trees: number of extremely randomised trees that vote beside the nets, with the share that
            validation rows support, without any a half. None is 0 for a method that is named.
        joint: learn which labels go together on the outputs of rows that a member left out, and
            decide by that: see ``joint_``. None does so with several members where label sets have
            to be right as a whole: for exact match, and where ``decode`` asks for a joint.
        task_net, energy_net: functions ``(features, labels) -> nn.Module`` or ``Energy`` that
            build the task-net and the loss-net.
        energy_features: the loss-net's feature network: ``"own"``, ``"copy"`` (it starts with the
            task-net's weights) or ``"shared"`` (it reads the task-net's features).
        categorical_features: columns of numbers that are codes, encoded like words: a list of
            names, of numbers from 0, or of a bool for each column. None: as the dtypes say.
        standardise: ``"auto"`` centres and scales the real-valued columns of dense input, and
            scales those of sparse input that hold no weights or counts of words; ``"min-max"`` maps
            them to [0, 1]; True scales every column, False none.
        threshold: ``"tuned"``, one threshold tuned on validation data; ``"tuned-per-label"``;
            or a fixed number. Several members tune it on training rows too, each as the one that
            left it out says; without them and without validation data, a tuned threshold is 0.5.
        constraints: rules that predictions keep to, see :mod:`lossnet.constraints`: a list of
            ``Implies``, ``AtMostOne``, ``AtLeastOne``, ``Satisfies``; None takes those that the
            data brings (a hierarchy), [] none. Threshold and early stopping do not read them.
        class_weight: what entries count in the cross-entropy: None, all alike; a dict of labels (by
            name or number) and what each counts where it is on, 1 elsewhere; ``"balanced"``, n / (2
            n_c) where n_c of its n known rows are alike. After a 1-D y, a dict of its classes.
        metric: metric of early stopping and of the threshold: a name in
            :data:`lossnet.tasks.multilabel.METRICS` or a function ``(Y, P) -> float``.
        validation_fraction: share of the rows held out for validation, stratified by label, if
            ``fit`` gets no validation data; less than half a row trains without validation.
        batch_size: rows per batch; None is 32, or what ``method="auto"`` says.
        max_epochs: maximum number of epochs of each phase. A ``ConvergenceWarning`` tells where
            10 or more ended a phase that was still improving.
        patience: epochs without improvement before a phase ends; the best weights are restored.
            None is 10, or what ``method="auto"`` says.
        unlabelled_weight: weight of ``unlabelled`` rows: the task-net follows the loss-net there.
        accumulate, precision: pieces of a batch, to save memory; ``"bfloat16"`` runs nets in it.
        decode: how outputs become label sets: ``"threshold"``; ``"expected"``, the set of highest
            expected metric for the task-net's probabilities; ``"samples"``, the same over weighted
            samples of the joint; ``"mode"``, the most probable set of the joint; ``"known"``, the
            most probable set among those of training rows. ``"auto"`` leaves the threshold only
            for a gain on validation data above its standard error; several members choose
            ``"expected"`` on training rows too, for any gain.
        decode_samples: number of samples for ``"samples"`` and ``"mode"``.
        refine: refine predictions with the energy: ``"net"`` descends from the task-net's
            output, ``"samples"`` from samples of it, ``"random"`` from random points; or a
            :class:`~lossnet.proposals.GBI`. None predicts as the method does. If it is set after
            ``fit``, call :meth:`tune_threshold` to tune the threshold again.
        device, random_state, verbose: torch device; seed; 1 shows a progress bar.

    Attributes:
        method_, nets_: the assembled :class:`~lossnet.Method`; the trained nets by name.
        history_: a dict per epoch.
        threshold_: the threshold, a number or an array with one per label.
        encoding_: what the columns of X become: an ``Encoding``, with the categories of each.
        constraints_: the constraints, bound to the labels: :class:`~lossnet.constraints.Bound`.
        label_names_, classes_: names of the labels; 0 and 1 for each, ``(L, 2)``, or the two
            classes of a 1-D y.
        label_sets_: label sets that most training rows have, for ``"mode"`` and ``"known"``.
        decision_: the :class:`~lossnet.tasks.decision.Decision` and what was measured of it.
        training_rows_: number of rows that were trained on.
        folds_: with ``members``, the number of the one that left out each training row; with
            ``trees`` beside one net, the part that trees left out. Not stored, as the former.
        trees_, trees_share_: the trees, a :class:`~lossnet.nets.Forest`, and what they count.
        joint_: where it was learnt, a classifier of the nets' logits; its energies, one for each
            of four folds, say how the joint of the labels differs from the outputs.
        temperature_: what :meth:`calibrate` learnt, or None.
        best_metric_: validation metric of the restored weights; None without validation data.
        refine_steps_: number of steps chosen by :meth:`tune_refinement`; None if not tuned.

    >>> X = np.random.default_rng(0).normal(size=(80, 5)); Y = (X[:, :3] > 0).astype(int)
    >>> clf = MultiLabelClassifier("cross-entropy", hidden=(16,), max_epochs=5, random_state=0)
    >>> clf.fit(X, Y).predict_proba(X).shape
    (80, 3)
    """

    method: str | Method = "auto"
    _: KW_ONLY
    metric: str | Callable[..., float] = "example-f1"
    # Read as numbers: ``otherwise`` or "auto" fills None in.
    batch_size: int | None = None  # type: ignore[assignment]
    patience: int | None = None  # type: ignore[assignment]
    hidden: Sequence[int] = (400, 400)
    dropout: float = 0.5
    input_dropout: float = 0.0
    energy_dropout: float | None = None
    global_hidden: int = 200
    members: int | None = None
    trees: int | None = None
    joint: bool | None = None
    task_net: NetFactory | None = None
    energy_net: NetFactory | None = None
    categorical_features: Sequence[Any] | None = None
    standardise: bool | Literal["auto", "min-max"] = "auto"
    threshold: float | Literal["tuned", "tuned-per-label"] = "tuned"
    constraints: Sequence[Any] | None = None
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    provides = LabelJoint.provides | CONSTRAINT
    papers, former = PAPERS, {"0.1": ALONE}
    otherwise: ClassVar[Mapping[str, Any]] = {"batch_size": 32, "patience": 10}
    search_space: ClassVar[Mapping[str, Dimension]] = {
        **LabelJoint.search_space,
        "hidden": Choice((200,), (400,), (200, 200), (400, 400), (800, 800)),
        "dropout": Range(0.0, 0.8),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    # Fitting ---------------------------------------------------------------------------------

    def _check_own_settings(self, method: Method) -> None:
        self._check_sizes()
        check_share("input_dropout", self.input_dropout)
        for name in ("dropout", "energy_dropout"):
            check_share(name, self._filled_in(method)[name])
        for name in ("task_net", "energy_net"):
            check_factory(name, getattr(self, name))
        thresholds.check_threshold(self.threshold)
        as_stored(self.constraints)
        check_listed(self.categorical_features)
        class_weights.check_setting(self.class_weight, method)
        if not isinstance(self.standardise, bool):
            check_choice("standardise", self.standardise, ["auto", "min-max", "True", "False"])

    def _metric_name(self) -> str:
        return get_metric(self.metric).name

    def _filled_in(self, method: Method) -> dict[str, Any]:
        default = 0.0 if method.descends_on_energy else self.dropout
        energy = default if self.energy_dropout is None else self.energy_dropout
        found = {"dropout": self.dropout, "energy_dropout": energy}
        return super()._filled_in(method) | found

    def _learn_classes(self, data: Any, reward: Any) -> None:
        method = self._assembled()
        check_completes(method, data.n_unknown, self.labels_noun)
        class_weights.checked(self.class_weight, self.labels_)
        self.constraints_ = bound_to(data, self.constraints, method)

    def _entry_weights(self, data: Any) -> np.ndarray | None:
        return class_weights.weights(self.class_weight, self.labels_, data.Y[:, : self.n_labels_])

    def _learn(self, data: Any, validation: Any, unlabelled: Any, seed: int) -> None:
        if validation is not None:
            thresholds.check_metric(get_metric(self.metric), validation.Y)
        self._check_joint(self.method_, data)
        self.imputer_ = Imputer.of(data.X)
        self.standardiser_ = Standardiser.of(self.imputer_(data.X), self.standardise)

    def _automatic(self, given: Mapping[str, Any]) -> Row:
        # Nets of the user's own, and features that are shared or copied, are those of one task-net.
        own = [given.get(name) for name in ("task_net", "energy_net")]
        alone = own != [None, None] or given.get("energy_features") != "own"
        if alone:
            return ALONE
        return LARGE if given.get("training_rows_", 0) >= MANY_ROWS else AUTOMATIC

    def _searched(self) -> dict[str, Dimension]:
        # How large batches are depends on the number of rows, too.
        decided = LARGE.parameters if self._preset_row() in (AUTOMATIC, LARGE) else {}
        return {name: each for name, each in super()._searched().items() if name not in decided}

    def _finish(self, validation: Any) -> None:
        self._choose_share(validation)
        self._compute_out_of_fold()
        self.threshold_: Any = 0.5 if isinstance(self.threshold, str) else float(self.threshold)
        self.best_metric_: float | None = None
        if validation is not None:
            self._choose_threshold(validation)
        elif self._out_of_fold is not None:
            given = get_metric(self.metric), *self._out_of_fold
            self.threshold_ = thresholds.choose_threshold(self.threshold, *given)
        self._learn_joint(validation)

    # Predicting ------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every label, ``(n, L)``; of both classes, ``(n, 2)``, after a 1-D y.

        Methods that predict by descending on the energy return relaxed outputs in [0, 1].
        """
        proba: np.ndarray = super().predict_proba(X)
        return proba if self.labels_.classes is None else np.hstack([1.0 - proba, proba])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Subset accuracy: the share of rows with all labels that are known correct."""
        check_is_fitted(self, "nets_")
        data = self._check_fits(self._labelled((X, y), "the data to score"))
        given = check_row_weights(sample_weight, len(data))
        data, weight = self._counted(data, given, "the data to score")
        exact, right = get_metric("subset-accuracy"), []
        for part in self._parts(data):
            found = with_unseen(self._decided(self._decision(), part), data.n_labels)
            right.append(exact.of_rows(part.Y, found))
        return float(np.average(np.concatenate(right), weights=weight))

    def energy(self, X: Any, Y: Any = None) -> Any:
        """Energy of label sets for their inputs, ``(n,)``; lower is better.

        ``Y`` can have values between 0 and 1. ``method_.meaning`` tells what energies mean.
        """
        data = self._unseen(X)
        if "energy" not in self.nets_:
            raise SettingError(f"{self.method_.name!r} has no loss-net, or it was not kept")
        Y = self.labels_.relaxed(X if Y is None else Y)
        if len(data) != len(Y):
            raise DataError(f"X has {len(data)} rows and Y has {len(Y)}; they must match")
        judge = lambda context: context.energy(context.target.unsqueeze(0))[0]  # noqa: E731
        given = self.nets_, Binary(), self._batches(data, Y)
        return over_batches(judge, *given, precision=self.precision).cpu().numpy()

    # Storage ---------------------------------------------------------------------------------

    def resolved_params(self) -> dict[str, Any]:
        found = super().resolved_params()
        plain = {"constraints": as_stored(self.constraints)}
        if self.categorical_features is not None:
            plain["categorical_features"] = np.asarray(self.categorical_features).tolist()
        return found | {name: value for name, value in plain.items() if name in found}
