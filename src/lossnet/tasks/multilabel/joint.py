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
from lossnet.files import check_form
from lossnet.method import Method
from lossnet.streams import stream_seed
from lossnet.structure import StructureGain
from lossnet.tasks.decision import Decision
from lossnet.tasks.model_folder import CONFIG
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.label_nets import LabelNets
from lossnet.tasks.multilabel.metrics import get_metric
from lossnet.tasks.multilabel.stored import pack, unpack
from lossnet.training import Callback, Trainer
from lossnet.training.weights import row_weights

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.logit_classifier import LogitClassifier

#: Outputs are kept so far from 0 and 1.
_FLOOR = 1e-4
#: A joint is learnt from so many rows at least, and from so many entries of the labels at most.
_FEWEST_ROWS, _MOST_ENTRIES = 40, 2**22
_TENSORS = "joint/"


class LabelJoint(LabelNets):
    """Several nets, and what their outputs lack: which labels go together.

    On a training row the member, and the trees, that left it out give outputs q as they will be on
    new rows; validation rows have such outputs too. Energies E learn from all of these: the joint
    is q(y|x) exp(-E(q, y)), see :class:`LogitClassifier`.
    """

    joint: bool | None
    joint_: LogitClassifier
    #: The decision that was chosen with the joint; kept while fitting.
    _decided_with_joint: Decision | None = None

    def _wants_joint(self) -> bool:
        """Whether a joint is learnt: where it was asked for, or several nets decide by one."""
        if self.joint is not None:
            return self.joint
        exact = get_metric(self.metric) == get_metric("subset-accuracy")
        by_joint = self.decode in ("samples", "mode") or (
            exact and self.decode in ("auto", "known")
        )
        return self._sizes["members"] > 1 and by_joint and self.refine is None

    def _check_sizes(self) -> None:
        super()._check_sizes()
        if not (self.joint is None or isinstance(self.joint, bool | np.bool_)):
            raise SettingError(f"joint must be True, False or None, got {self.joint!r}")
        if self.joint and self._sizes["members"] == 1:
            rule = "joint=True needs rows that a net left out: members must be at least 2"
            raise SettingError(f"{rule}, got {self._sizes['members']}")

    # Fitting ---------------------------------------------------------------------------------

    def _run(self, trainer: Trainer, data: Any, callbacks: Sequence[Callback]) -> Any:
        self._seed_and_weights = trainer.seed, row_weights(trainer.data)
        return super()._run(trainer, data, callbacks)

    def _learn_joint(self, validation: Any) -> None:
        """Set ``joint_``, and choose the decision with it, where the rows are enough."""
        from lossnet.tasks.multilabel.logit_classifier import LogitClassifier, logits_of

        seed, weight = self.__dict__.pop("_seed_and_weights")
        if self._out_of_fold is None or self.n_labels_ == 1 or not self._wants_joint():
            return
        Y, outputs = (one[:, : self.n_labels_] for one in self._out_of_fold)
        if validation is not None:
            held = self._outputs(self._proposal(), validation)
            Y = np.concatenate([Y, validation.Y[:, : self.n_labels_]])
            outputs = np.concatenate([outputs, held])
            weight = None if weight is None else np.append(weight, np.ones(len(held)))
        rows = np.flatnonzero(~np.isnan(Y).any(1))
        most = max(_FEWEST_ROWS, _MOST_ENTRIES // self.n_labels_)
        if len(rows) < _FEWEST_ROWS:
            return
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
        same = (
            "metric",
            "decode",
            "decode_samples",
            "threshold",
            "max_epochs",
            "device",
            "verbose",
        )
        joint = LogitClassifier(
            **{name: getattr(self, name) for name in same},
            constraints=list(self.constraints_.declared),
            random_state=stream_seed(seed, "joint") % 2**31,
        )
        data = MultiLabelData(
            logits_of(outputs[rows], _FLOOR), Y[rows], label_names=list(self.label_names_)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of epochs that nobody set
            joint.fit(data, sample_weight=None if weight is None else weight[rows])
        self.joint_, self.label_sets_ = joint, joint.label_sets_
        self._decided_with_joint = joint.decision_

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
        from lossnet.tasks.multilabel.logit_classifier import logits_of

        outputs = self._once("outputs", lambda: self._outputs(self._proposal(), data))
        joint = self.joint_.set_params(metric=self.metric, decode_samples=self.decode_samples)
        return joint, logits_of(outputs, _FLOOR)

    def _decide(self, decision: Decision, data: Any) -> np.ndarray:
        if not decision.weight or not hasattr(self, "joint_"):
            return super()._decide(decision, data)
        joint, logits = self._on_outputs(data)
        return joint._decide(decision, joint._unseen(logits))

    def _effective_samples(self, decision: Decision, data: Any) -> float | None:
        if not hasattr(self, "joint_"):
            return super()._effective_samples(decision, data)
        joint, logits = self._on_outputs(data)
        return joint._effective_samples(decision, joint._unseen(logits))

    def _check_kept(self, decision: Decision) -> None:
        if not hasattr(self, "joint_"):
            super()._check_kept(decision)

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
        tensors, facts = pack(self)
        if not hasattr(self, "joint_"):
            return tensors, facts | {"joint": None}
        own, about = pack(self.joint_)
        own |= {f"net/{k}": v for k, v in self.joint_.nets_["energy"].state_dict().items()}
        return tensors | {f"{_TENSORS}{k}": v for k, v in own.items()}, facts | {"joint": about}

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        from lossnet.tasks.multilabel.logit_classifier import LogitClassifier

        unpack(self, tensors, facts)
        check_form(facts, {"joint": (None, {str: object})}, CONFIG)
        if (about := facts["joint"]) is None:
            return
        own = {k.removeprefix(_TENSORS): v for k, v in tensors.items() if k.startswith(_TENSORS)}
        joint = LogitClassifier(metric=self.metric, threshold=self.threshold, device=self.device)
        joint.method_ = joint._check_settings()
        unpack(joint, own, {**about, "parameters": {}})
        if joint.label_names_ != self.label_names_:
            raise DataError("the joint has other labels than the model")
        joint.temperature_ = joint.refine_steps_ = joint.refined_as_ = None
        nets = joint._build_nets(joint.method_.nets)
        prefix = "net/"
        stored = {k.removeprefix(prefix): v for k, v in own.items() if k.startswith(prefix)}
        nets["energy"].load_state_dict(stored)
        for net in nets.values():
            net.eval().requires_grad_(False)
        joint.nets_, joint.decision_, joint.history_ = nets, self.decision_, []
        self.joint_ = joint
