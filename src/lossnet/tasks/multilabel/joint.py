"""The joint of labels around the nets' outputs, learnt on rows that the nets left out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from lossnet.contrasts.meaning import RATIO, Meaning
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.proposals import NetOutput
from lossnet.streams import stream_seed
from lossnet.structure import StructureGain
from lossnet.tasks.decision import Decision
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.decisions import common_sets
from lossnet.tasks.multilabel.label_nets import LabelNets
from lossnet.tasks.multilabel.logits import logits_of
from lossnet.tasks.multilabel.metrics import get_metric
from lossnet.tasks.multilabel.stored import pack, unpack
from lossnet.training import Callback, TimeLimit, Trainer
from lossnet.training.weights import row_weights

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.logit_classifier import LogitClassifier

#: A joint is learnt from so many rows at least, and from so many entries of the labels at most.
_FEWEST_ROWS, _MOST_ENTRIES = 40, 2**22


class LabelJoint(LabelNets):
    """Several nets, and what their outputs lack: which labels go together.

    On a training row the member, and the trees, that left it out give outputs q as they will be on
    new rows. Energies E learn from these: the joint is q(y|x) exp(-E(q, y)), see
    :class:`LogitClassifier`.
    """

    joint: bool | None
    joint_: LogitClassifier
    #: The decision that was chosen with the joint; kept while fitting.
    _decided_with_joint: Decision | None = None

    def _wants_joint(self) -> bool:
        """Whether a joint is learnt: where it was asked for, or several nets decide by one."""
        if self.joint is not None:
            return self.joint
        if self._sizes["members"] == 1 or self.refine is not None:
            return False
        exact = get_metric(self.metric) == get_metric("subset-accuracy")
        tuned = self.decode == "auto" and isinstance(self.threshold, str)
        return self.decode in ("samples", "mode") or (exact and (tuned or self.decode == "known"))

    def _check_sizes(self) -> None:
        super()._check_sizes()
        if not (self.joint is None or isinstance(self.joint, bool | np.bool_)):
            raise SettingError(f"joint must be True, False or None, got {self.joint!r}")
        if self.joint and self._sizes["members"] == 1:
            rule = "joint=True needs rows that a net left out: members must be at least 2, got 1"
            raise SettingError(f"{rule}; set members=4, or leave method to its default")

    def _check_joint(self, method: Method, data: Any) -> None:
        """Raise, before any training, where a joint that is needed cannot be learnt."""
        lacks = method.meaning.joint is None or "energy" not in method.nets
        if not (self.joint or (self.decode in ("samples", "mode") and lacks)):
            return
        what = "joint=True" if self.joint else f"decode={self.decode!r} of {method.name!r}"
        if not method.task_net_predicts or self.refine is not None:
            rule = "needs a task-net that predicts alone; use cross-entropy or a seal method"
            raise SettingError(f"{what} {rule}, without refine")
        if not data.has_dense_labels:
            rule = f"needs all labels in memory, and {data.n_labels:,} of {len(data):,} rows are"
            raise DataError(f"{what} {rule} too many; leave it out")
        rows = len(self._complete(data))
        if rows < _FEWEST_ROWS or self.n_labels_ == 1:
            rule = f"needs 2 labels and {_FEWEST_ROWS} training rows with all labels known"
            raise DataError(f"{what} {rule}, got {self.n_labels_} and {rows}; leave it out")

    def _complete(self, data: Any) -> np.ndarray:
        """Numbers of the rows whose labels are all known, and known to training."""
        strange = data.Y[:, self.n_labels_ :] == 1
        return np.flatnonzero(~np.isnan(data.Y).any(1) & ~strange.any(1))

    def _how_chosen(self) -> str:
        if not self._wants_joint():
            return super()._how_chosen()
        return "the best on all rows; its joint is learnt after the phases, in time of its own"

    # Fitting ---------------------------------------------------------------------------------

    def _run(self, trainer: Trainer, data: Any, callbacks: Sequence[Callback]) -> Any:
        limits = [one for one in callbacks if isinstance(one, TimeLimit)]
        self._for_joint = data, trainer.seed, row_weights(trainer.data), limits
        return super()._run(trainer, data, callbacks)

    def _learn_joint(self, validation: Any) -> None:
        """Set ``joint_``, and choose the decision with it, where the rows are enough."""
        from lossnet.tasks.multilabel.logit_classifier import LogitClassifier

        data, seed, weight, limits = self.__dict__.pop("_for_joint")
        used = self.joint or self.decode != "auto" or self._rules_for(self.method_, named=False)
        if self._out_of_fold is None or not (self._wants_joint() and used):
            return
        rows = self._complete(data)
        if len(rows) < _FEWEST_ROWS or self.n_labels_ == 1:
            return
        self.label_sets_ = common_sets(data.Y[rows, : self.n_labels_])
        most = max(_FEWEST_ROWS, _MOST_ENTRIES // self.n_labels_)
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
        given, held = self._with_logits(data, rows, self._out_of_fold[1]), None
        if validation is not None and len(others := self._complete(validation)):
            held = self._with_logits(validation, others, self._outputs(NetOutput(), validation))
        same = "metric", "decode", "decode_samples", "threshold", "device", "verbose"
        joint = LogitClassifier(
            **{name: getattr(self, name) for name in same},
            constraints=[],
            bound=self.constraints_,
            random_state=stream_seed(seed, "joint") % 2**31,
        )
        with warnings.catch_warnings():
            # Energies that still improve after 100 epochs do so by little.
            warnings.simplefilter("ignore", ConvergenceWarning)
            own = None if weight is None else weight[rows]
            joint.fit(given, validation_data=held, sample_weight=own, callbacks=limits)
        joint.label_sets_ = self.label_sets_
        self.joint_, self._decided_with_joint = joint, joint.decision_

    def _with_logits(self, data: Any, rows: np.ndarray, outputs: np.ndarray) -> MultiLabelData:
        """Some rows with the logits of outputs as their features."""
        names = list(self.label_names_)
        Y = data.Y[rows, : self.n_labels_].astype(np.uint8)
        return MultiLabelData(logits_of(outputs[rows]), Y, label_names=names)

    def _choose_decision(self, data: Any) -> None:
        found = self.__dict__.pop("_decided_with_joint", None)
        if found is None:
            super()._choose_decision(data)
            return
        self.__dict__.pop("_out_of_fold", None)
        self.decision_ = found

    # Deciding --------------------------------------------------------------------------------

    def _meaning(self, method: Method, *, named: bool = False) -> Meaning | None:
        fitted = hasattr(self, "nets_")
        has = hasattr(self, "joint_") if fitted else self._wants_joint()
        return RATIO if has else super()._meaning(method, named=named)

    def _on_outputs(self, data: Any) -> tuple[LogitClassifier, Any]:
        """The joint as parameters now say, and its inputs."""
        outputs = self._once("net", lambda: self._outputs(NetOutput(), data))
        joint = self.joint_.set_params(metric=self.metric, decode_samples=self.decode_samples)
        return joint, logits_of(outputs)

    def _decide(self, decision: Decision, data: Any) -> np.ndarray:
        if not decision.weight or not hasattr(self, "joint_"):
            return super()._decide(decision, data)
        joint, logits = self._on_outputs(data)
        return joint._decide(decision, joint._unseen(logits))

    def _effective_samples(self, decision: Decision, data: Any) -> float | None:
        if not decision.samples or not hasattr(self, "joint_"):
            return super()._effective_samples(decision, data)
        joint, logits = self._on_outputs(data)
        return joint._effective_samples(decision, joint._unseen(logits))

    def _check_kept(self, decision: Decision) -> None:
        if not hasattr(self, "joint_"):
            super()._check_kept(decision)

    def _exports_decision(self, decision: Decision) -> bool:
        # The joint of given sets is linear in the logits, see LogitClassifier.scores_of_known.
        by_joint = decision.rule == "known" and hasattr(self, "joint_")
        return by_joint or super()._exports_decision(decision)

    def structure_gain(
        self,
        X: Any,
        *truth: Any,
        samples: int = 100,
        max_rows: int | None = None,
        progress: bool = False,
    ) -> StructureGain:
        """Nats a row that the joint knows beyond the outputs, on rows that nothing was fitted on.

        The joint is ``joint_`` where one was learnt, otherwise that of the loss-net, for methods
        whose energies give probabilities, such as ``seal-nce`` and ``seal-ranking``. ``print`` the
        result for words. Rows whose labels are not completely known are left out.

        Args:
            X: inputs and, after them, their labels, as in :meth:`score`; or data that holds both.
            truth: see above.
            samples: label sets that are drawn for each row, where there are too many to enumerate.
            max_rows: of more rows so many are taken at random, always the same; None takes 1,000,
                or fewer, at least 50, where labels are many.
            progress: show a bar in a terminal if it takes more than two seconds.
        """
        how: dict[str, Any] = {"samples": samples, "max_rows": max_rows, "progress": progress}
        if not hasattr(self, "joint_"):
            return super().structure_gain(X, *truth, **how)
        data = self._scored((X, *truth))
        joint, logits = self._on_outputs(data)
        return joint.structure_gain(logits, data.Y[:, : self.n_labels_], **how)

    # Storage ---------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return pack(self)

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        unpack(self, tensors, facts)
