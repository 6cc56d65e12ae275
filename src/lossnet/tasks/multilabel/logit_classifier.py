"""Label sets from another model's logits: which labels go together, learnt fold by fold."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from lossnet.constraints import Bound
from lossnet.energies import TotalEnergy
from lossnet.method import Method, Optimiser
from lossnet.proposals import NetOutput
from lossnet.recipes import residual
from lossnet.streams import stream_seed
from lossnet.tasks.decision import Decision, choose, folds_of
from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
from lossnet.tasks.multilabel.stratified import stratified_folds
from lossnet.tasks.networks import NetFactory
from lossnet.training import Callback, TimeLimit, Trainer
from lossnet.training.weights import row_weights

#: Rows that decisions are chosen on, at random if there are more.
_MOST_ROWS = 4000


def given_logits(features: int, labels: int) -> nn.Module:
    """The task-net of a model whose inputs are logits."""
    return nn.Identity()


def small_residual() -> Method:
    """How an energy on few inputs is trained: a rate that falls sooner than the recipe's."""
    return residual(energy_optimiser=Optimiser(5e-3, weight_decay=1e-2, plateau=3))


@dataclass(eq=False, repr=False)
class LogitClassifier(MultiLabelClassifier):
    """Label sets from logits as they are, and an energy on them: for a method as ``residual``.

    Rows must have logits by a model that has not learnt from them. They are divided into folds. For
    each fold an energy learns from the others and stops where its loss on the fold is lowest; the
    mean of these energies is the loss-net. Threshold and decision are chosen on all rows, each
    judged by the energy, and among the label sets, of the other folds. Validation data are further
    rows to choose on, which no energy learns from.

    Args:
        method: how an energy is trained, with the task-net given.
        folds: number of folds, and of energies.
        bound: constraints of the labels that are bound already, in place of ``constraints``.
    """

    method: str | Method = field(default_factory=small_residual)
    _: KW_ONLY
    folds: int = 4
    bound: Bound | None = None
    hidden: Sequence[int] = ()
    global_hidden: int = 64
    energy_dropout: float | None = 0.0
    task_net: NetFactory | None = given_logits
    standardise: Any = False
    validation_fraction: float = 0.0
    batch_size: int | None = 64
    patience: int | None = 5

    def _learn_classes(self, data: Any, reward: Any) -> None:
        super()._learn_classes(data, reward)
        if self.bound is not None:
            self.constraints_ = self.bound

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        if name != "energy":
            return super()._make_net(name, features)
        parts: list[Any] = [super(LogitClassifier, self)._make_net(name) for _ in range(self.folds)]
        return TotalEnergy(parts, [1 / self.folds] * self.folds)

    def _run(self, trainer: Trainer, data: Any, callbacks: Sequence[Callback]) -> Any:
        """Train the energy of each fold by itself; keep what judges rows until they are judged."""
        energy: Any = self.nets_["energy"]
        rng, history = np.random.default_rng(stream_seed(trainer.seed, "folds")), []
        self._fold = stratified_folds(data.Y, self.folds, rng)
        self._judges: list[MultiLabelClassifier] = []
        weight = row_weights(trainer.data)
        own = {one.name: getattr(self, one.name) for one in fields(MultiLabelClassifier)}
        # They stop by their loss: the metric may not be defined on a fold.
        own |= {"decode": "threshold", "metric": "hamming", "constraints": []}
        limits = [one for one in callbacks if isinstance(one, TimeLimit)]
        for number, part in enumerate(energy.parts):
            params = own | {"random_state": int(rng.integers(2**31))}
            shares = [one.share(self.folds - number) for one in limits]
            rest, held = (
                np.flatnonzero(way) for way in (self._fold != number, self._fold == number)
            )
            judge = MultiLabelClassifier(**params)
            judge.fit(
                data.subset(rest),
                validation_data=data.subset(held),
                sample_weight=None if weight is None else weight[rest],
                callbacks=[*shares, *(one for one in callbacks if one not in limits)],
            )
            judge.constraints_ = self.constraints_
            part.load_state_dict(judge.nets_["energy"].state_dict())
            for limit, share in zip(limits, shares, strict=True):
                limit.cut |= share.cut
            history += [{**row, "fold": number} for row in judge.history_]
            self._judges.append(judge)
        self._rows = data
        return history

    def _learn_joint(self, validation: Any) -> None:
        """Nothing: it is a joint itself."""

    def scores_of_known(self, weight: float) -> dict[str, np.ndarray]:
        """The joint of ``label_sets_`` as arrays, where the energy's local part is linear.

        The log joint of set y at a weight of the energy is, up to a constant of the row, logits @
        ``label_weights`` @ y + its ``set_scores``.
        """
        parts: Any = self.nets_["energy"].parts
        sets = torch.as_tensor(self.label_sets_, dtype=torch.get_default_dtype())
        local = torch.stack([part.label_embeddings for part in parts]).mean(0)
        alone = [part(torch.zeros_like(sets), sets.unsqueeze(0))[0] for part in parts]
        return {
            "label_weights": np.eye(self.n_labels_) - weight * local.T.double().cpu().numpy(),
            "set_scores": -weight * torch.stack(alone).mean(0).double().cpu().numpy(),
        }

    def _compute_out_of_fold(self) -> None:
        outputs = self._outputs(NetOutput(), self._rows)
        self._out_of_fold = self._rows.Y[:, : self.n_labels_], outputs

    def _choose_decision(self, data: Any) -> None:
        rows = self.__dict__.pop("_rows", None)
        if rows is not None and data is not None:
            rows = type(rows).join({"training": rows, "validation": data})
            self._fold = np.append(self._fold, np.full(len(data), self.folds))
        if rows is not None and len(rows) > _MOST_ROWS:
            some = np.random.default_rng(0).choice(len(rows), _MOST_ROWS, replace=False)
            rows, self._fold = rows.subset(some), self._fold[some]
        try:
            super()._choose_decision(data if rows is None else rows)
        finally:
            for name in ("_fold", "_judges"):
                self.__dict__.pop(name, None)

    def _best_of(
        self, usual: Decision, trials: Sequence[Decision], data: Any, *, insist: bool
    ) -> Decision:
        if "_judges" not in self.__dict__:
            return super()._best_of(usual, trials, data, insist=insist)
        parts = []
        # Validation rows are judged by all energies together.
        for number, judge in enumerate([*self._judges, copy.copy(self)]):
            rows = np.flatnonzero(self._fold == number)
            judge._tried_outputs = {}
            judge.set_params(metric=self.metric, decode_samples=self.decode_samples)
            if len(rows):
                parts.append((judge, rows, data.subset(rows)))

        kept: dict[str, np.ndarray] = {}

        def judged(trial: Decision) -> np.ndarray:
            if (key := repr(trial)) not in kept:
                found = np.zeros((len(data), self.n_labels_), dtype=np.uint8)
                for judge, rows, own in parts:
                    found[rows] = judge._decided(trial, own)
                kept[key] = self._statistics(data, found)
            return kept[key]

        before = self._statistics(data, self._usual_by_folds(data, folds_of(len(data))))
        # Of all rows a gain is taken as it is.
        how: dict[str, Any] = {"metric": self._metric_of, "errors": 0.0}
        known = [trial for trial in trials if trial.rule == "known"]
        if len(known) < len(trials) and known:
            # The search for the mode takes its time: it has the settings that are best for these.
            best = choose(usual, before, known, judged, insist=True, **how)
            weight = best.weight or max(trial.weight for trial in known)
            same = lambda trial: (trial.weight, trial.offset) == (weight, best.offset)  # noqa: E731
            trials = [*known, *(one for one in trials if one.rule != "known" and same(one))]
        found = choose(usual, before, trials, judged, insist=insist, **how)
        return replace(found, ess=self._effective_samples(found, data))
