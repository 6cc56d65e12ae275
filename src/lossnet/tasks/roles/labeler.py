"""Semantic role labelling with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.checks import check_choice
from lossnet.context import Context
from lossnet.energies import Energy, TagEnergy
from lossnet.errors import DataError
from lossnet.method import Method
from lossnet.needs import CONSTRAINT, EXACT, REWARD
from lossnet.nets import SharedFeatures
from lossnet.proposals import GBI, Proposal
from lossnet.recipes import defaults
from lossnet.spaces import Space
from lossnet.tasks.method_checks import feature_net
from lossnet.tasks.roles.exported_roles import RoleExports
from lossnet.tasks.roles.metrics import GIVEN, role_scores
from lossnet.tasks.roles.paper_settings import PAPERS
from lossnet.tasks.roles.predicates import MARK, NO_ROLE, PREDICATE, VERB, RoleData
from lossnet.tasks.roles.role_decoding import chain_decoder, forbidden, role_decoder
from lossnet.tasks.roles.role_energy import TOGETHER, role_space, summed, tags_together
from lossnet.tasks.roles.role_files import load_roles
from lossnet.tasks.sequence.decoding import TagRules, each_step, tag_rules
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import Span, spans
from lossnet.training import Callback
from lossnet.training.predict import Output, best_output, path_output

METRICS = ("role-f1", "perfect", "accuracy")
#: Overrides of the recipes' defaults for roles, by method.
ROLE_DEFAULTS: dict[str, dict[str, Any]] = {
    "seal-nce": {
        **{"energy_weight": 0.8, "entropy_weight": 1.2, "samples": 8, "energy_steps": 1},
        "energy_optimiser": {"lr": 5e-3},
    },
}


@dataclass(eq=False, repr=False)
class SemanticRoleLabeler(RoleExports):
    """Finds who did what to whom: the roles of a given predicate, as spans of its sentence.

    Every predicate is an example of its own: words, the predicate's position, and BIO tags such as
    ``B-ARG0``. Predictions are valid BIO; the predicate is given, so its own tag is ``B-V`` and no
    other's is, with ``follow_scheme`` or without.

    Args:
        method: a name from ``lossnet methods``, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method that override its defaults; each can also
            be set as ``method__name``. :data:`ROLE_DEFAULTS` lists how the defaults differ from
            the recipes'.
        chain: as in :class:`~lossnet.SequenceTagger`, but off unless asked for.
        energy_features: as in :class:`~lossnet.SequenceTagger`; None is ``"shared"`` where the
            method has a task-net whose features the loss-net can read, else ``"own"``.
        energy_tags: how the loss-net sees the tags of a predicate together: ``"pairs"`` learns
            which roles go together, ``"attention"`` is paper 000's self-attention over tags,
            ``"attention+words"`` also reads the words.
        metric: metric of early stopping and ``score``: ``"role-f1"``, F1 of arguments as
            CoNLL-2005's scorer counts them, ``"perfect"``, the share of predicates with all
            arguments right and no others, or ``"accuracy"`` of tokens.
        validation_fraction: share of the predicates held out for validation if ``fit`` gets no
            validation data; the predicates of a sentence stay together.
        batch_size: predicates per batch.
        decode: as in :class:`~lossnet.SequenceTagger`, for ``"role-f1"`` by the probability of
            single spans, for ``"perfect"`` the most probable tags of the joint.
        accumulate: pieces in which a batch is processed, to save memory.
        precision: ``"bfloat16"`` runs the nets in mixed precision.

    All other parameters are those of :class:`~lossnet.SequenceTagger`.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        tags_: names of the tags, sorted; ``O`` is always among them.
        coder_: the tables that turn words into numbers.
        decision_: the :class:`~lossnet.tasks.decision.Decision` and what was measured of it.
        history_: a dict per epoch.

    >>> words, tags = [["the", "dog", "barks"]] * 10, [["B-ARG0", "I-ARG0", "B-V"]] * 10
    >>> labeler = SemanticRoleLabeler("cross-entropy", hidden=8, max_epochs=2, random_state=0)
    >>> labeler.fit(words, [2] * 10, tags).predict([["a", "dog", "barks"]], [2])[0][2]
    'B-V'
    """

    method: str | Method = "seal-nce"
    chain: bool | None = False
    energy_features: Literal["own", "copy", "shared"] | None = None
    energy_tags: Literal["pairs", "attention", "attention+words"] = "pairs"
    metric: Literal["role-f1", "perfect", "accuracy"] = "role-f1"  # type: ignore[assignment]

    provides = RoleExports.provides - REWARD | CONSTRAINT
    inputs_noun = "a triple of sentences, predicates"
    inputs_taken = (3, 3)
    given_span = GIVEN
    papers = PAPERS

    # Settings --------------------------------------------------------------------------------

    def _metric_name(self) -> str:
        check_choice("metric", self.metric, METRICS)
        return str(self.metric)

    def _task_defaults(self) -> dict[str, Any]:
        name = str(self.method)
        cost = {"cost": "token-error"} if defaults(name).get("cost") == "f1" else {}
        return {**cost, **ROLE_DEFAULTS.get(name, {})}

    def _filled_in(self, method: Method) -> dict[str, Any]:
        chosen = self.energy_features or ("shared" if feature_net(method) else "own")
        return {**super()._filled_in(method), "energy_features": chosen}

    def _check_own_settings(self, method: Method) -> None:
        super()._check_own_settings(method)
        check_choice("energy_tags", self.energy_tags, TOGETHER)

    # Data ------------------------------------------------------------------------------------

    def _data(  # type: ignore[override]
        self, sentences: Any, predicates: Any = None, tags: Any = None
    ) -> RoleData:
        """Lists, a :class:`RoleData` or a file as data."""
        if not isinstance(sentences, RoleData | str | Path):
            return RoleData.of(sentences, predicates, tags)
        if predicates is not None or tags is not None:
            kind = type(sentences).__name__
            raise DataError(f"predicates or tags are given with a {kind}, which holds its own")
        return sentences if isinstance(sentences, RoleData) else load_roles(sentences)

    def _learn_classes(self, data: SequenceData, reward: Any) -> None:
        super()._learn_classes(data, reward)
        # A token may have no role, even if every token of the training data has one.
        self.tags_ = sorted({*self.tags_, NO_ROLE})

    def _unseen(self, sentences: Any, predicates: Any = None) -> RoleData:
        check_is_fitted(self, "nets_")
        return self._data(sentences, predicates)

    def _marked(self, data: Any) -> list[int]:
        """The predicates are marked for an encoder."""
        return list(data.predicates)

    def _check_tags(self, validation: Any) -> None:
        """Rare roles of validation data may be absent from training: they count as missed."""

    # Nets ------------------------------------------------------------------------------------

    def _output(self) -> tuple[tuple[int, ...], Space]:
        shape, _ = super()._output()
        return shape, role_space(self.tags_, valid=bool(self.follow_scheme))

    def _energy(self, features: nn.Module | None) -> Energy:
        """The energy of single tags and of all of them together; a chain for exact methods."""
        if self._exact:
            return super()._energy(features)
        own, words = None, self.energy_tags == "attention+words"
        if words and features is None:
            own = self._features(self._filled_in(self.method_)["energy_dropout"])
            features = SharedFeatures(own.out_features)
        together = tags_together(self.energy_tags, self.tags_, features if words else None)
        return summed(super()._energy(features), together, own)

    def _local_energy(self, features: nn.Module) -> Energy:
        # A chain would cost recall: the task-net's tags, which are independent, are drawn to one of
        # its modes.
        kind = super()._local_energy if self._exact else partial(TagEnergy, tags=len(self.tags_))
        return kind(features)

    @property
    def _exact(self) -> bool:
        return self.method_.needs >= EXACT

    # Outputs ---------------------------------------------------------------------------------

    def _where(self, context: Context) -> Tensor:
        """The predicates of a batch, ``(B, T)`` bool."""
        marks: Tensor = context.batch.x.columns[PREDICATE]
        return marks == self.coder_.columns[PREDICATE][MARK]

    def _outputs(self, by: Proposal, data: SequenceData, *, source: Any = None) -> Any:
        if by.needs >= EXACT:
            decode = chain_decoder(self._where, self.tags_, follow=bool(self.follow_scheme))
        else:
            decode = self._decoder(best_output(by, self.nets_))
        return self._each(decode, data, source)

    def _rules(self) -> TagRules | None:
        return tag_rules(self.tags_, "IOB2") if self.follow_scheme else None

    def _span_scheme(self) -> str:
        return "IOB2"

    def _never(self, context: Context) -> Tensor:
        return forbidden(self._where(context), len(self.tags_), self.tags_.index(VERB))

    def _counts(self, true: Sequence[str], predicted: Sequence[str]) -> list[float]:
        scores, metric = role_scores([true], [predicted]), self._metric_name()
        if metric == "accuracy":
            return super()._counts(true, predicted)
        if metric == "perfect":
            return [scores.perfect]
        return [scores.correct, scores.true + scores.predicted]

    def _decoder(self, output: Output) -> Output:
        """The function that gives the tags of relaxed outputs."""
        return role_decoder(output, self._where, self.tags_, follow=bool(self.follow_scheme))

    def _path(self, descent: GBI, data: SequenceData) -> Any:
        found = self._each(each_step(path_output(descent), self._decoder), data)
        return [[tags[:, step] for tags in found] for step in range(descent.steps + 1)]

    def _measured(self, true: list[list[str]], predicted: list[list[str]]) -> float:
        scores = role_scores(true, predicted)
        values = {"role-f1": scores.f1, "perfect": scores.perfect_share}
        return values.get(self._metric_name(), scores.accuracy)

    # Interface -------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Any,
        predicates: Any = None,
        tags: Any = None,
        *,
        validation_data: Any = None,
        unlabelled: Any = None,
        sample_weight: Any = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Train on predicates and their roles.

        Args:
            sentences: the words of each predicate's sentence, a sentence once per predicate; or a
                :class:`RoleData`, or a file that :func:`load_roles` can read.
            predicates: the position of each predicate, from 0.
            tags: the BIO tags of each, with one ``B-V``.
            validation_data: ``(sentences, predicates, tags)``, a RoleData or a file, for early
                stopping, in place of held-out predicates.
            unlabelled: a RoleData or a file, whose tags are ignored: the task-net follows the
                loss-net on them too.
            sample_weight: how much each predicate counts in the losses; None: all alike.
            checkpoint: file that is written during training, to resume from.
            resume_from_checkpoint: continue from ``checkpoint``, which must exist.
            callbacks: called as training proceeds, see :class:`lossnet.Callback`.
        """
        given = {"validation_data": validation_data, "unlabelled": unlabelled}
        given |= {"sample_weight": sample_weight, "checkpoint": checkpoint, "callbacks": callbacks}
        inputs = sentences, predicates, tags
        return self._fit(inputs, **given, resuming=resume_from_checkpoint)

    def predict(self, sentences: Any, predicates: Any = None) -> list[list[str]]:
        """The BIO tags of every predicate; ``sentences`` and ``predicates`` as in :meth:`fit`."""
        return self._predicted(self._unseen(sentences, predicates))

    def predict_roles(self, sentences: Any, predicates: Any = None) -> list[list[Span]]:
        """The roles of every predicate: role, first token, and the token after the last; no V."""
        found = map(spans, self.predict(sentences, predicates))
        return [[span for span in row if span.type != GIVEN] for row in found]

    def predict_proba(self, sentences: Any, predicates: Any = None) -> list[np.ndarray]:
        """Probabilities of the tags ``tags_``, ``(T, C)`` for every predicate.

        They know neither of BIO nor of V: :meth:`predict` does.
        """
        found = self._probabilities(self._unseen(sentences, predicates))
        return list(self._calibrated(found))

    def refinement_path(
        self, sentences: Any, predicates: Any = None, *, steps: int = 30
    ) -> list[np.ndarray]:
        """What :meth:`predict_proba` gives after 0, 1, ... steps, ``(steps + 1, T, C)`` each."""
        data = self._unseen(sentences, predicates)
        path = path_output(self._descent(steps))
        found = self._each(lambda context: path(context).transpose(1, 2), data)
        return list(self._calibrated([values.swapaxes(0, 1) for values in found]))

    def tune_refinement(
        self, sentences: Any, predicates: Any = None, tags: Any = None, *, most: int = 30
    ) -> Self:
        """Choose how many steps predictions descend on the energy, 0 to ``most``, on this data."""
        check_is_fitted(self, "nets_")
        return super().tune_refinement(self._data(sentences, predicates, tags), most=most)

    def score(self, sentences: Any, predicates: Any = None, tags: Any = None) -> float:
        """The metric; roles absent from training count as missed."""
        return self._decided_score(self._scored((sentences, predicates, tags)))
