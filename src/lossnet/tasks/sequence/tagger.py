"""Sequence labelling with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lossnet.data.brackets import Tree
from lossnet.errors import DataError
from lossnet.recipes import defaults
from lossnet.tasks.sequence.inputs import Columns, refuse_text
from lossnet.tasks.sequence.paper_settings import FORMER, PAPERS
from lossnet.tasks.sequence.rewards import RewardFunction
from lossnet.tasks.sequence.tagging import TaggingEstimator
from lossnet.tasks.sequence.tags import TREES, Span, span_scheme, spans
from lossnet.tasks.sequence.trees import trees_of
from lossnet.training import Callback
from lossnet.training.predict import path_output

_CHAIN: dict[str, Any] = {"energy_weight": 0.3, "energy_optimiser": {"lr": 1e-3}}
#: Overrides of the recipes' defaults for tags, by method. The cost-augmented net learns the truth
#: from its cost alone: with cross-entropy besides it stays where it hardly teaches the chain.
TAGGING_DEFAULTS: dict[str, dict[str, Any]] = {
    "infnet-plus": {**_CHAIN, "augmented_xent_weight": 0.0},
    "infnet": _CHAIN,
}


class SequenceTagger(TaggingEstimator):
    """A BiLSTM tagger, by default a CRF, trained by likelihood or with a learned loss.

    Args:
        method: a name from ``lossnet methods``, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method that override its defaults; each can also
            be set as ``method__name``. Methods whose cost is soft F1 use the share of wrong
            tokens here; :data:`TAGGING_DEFAULTS` lists the other differences.
        preset: ``"paper"`` or ``"paper:ROW"``, the settings of a paper's experiments where you give
            no other, or ``"0.1"``, what that version had by default; see ``docs/methods.md``.
        chain: whether the task-net scores neighbouring tags too, as a CRF does: its outputs are
            then the chain's marginals, and its cross-entropy is the exact likelihood of the tags.
            None: wherever the method allows it, which takes a task-net and no implicit gradient.
        hidden: width of the LSTMs in each direction.
        dropout: dropout of an LSTM's input and output, or on top of an encoder; None is 0.5, and
            0.1 where the encoder is trained.
        vectors: a file of pretrained word vectors (GloVe text, word2vec text or binary, npz), or
            :class:`~lossnet.data.WordVectors`; None learns them.
        fixed_vectors: do not train pretrained vectors. Vectors of other words are still trained;
            vectors of words absent from training never are.
        word_width: width of learned word vectors.
        lowercase: look a word up in lower case if it is not known as written.
        min_count: words without a pretrained vector that occur less often in training are
            unknown.
        case: whether the case of a word is a feature.
        chars: whether a character CNN reads every word.
        encoder: a pretrained transformer in place of word vectors: a folder or a name on the
            Hugging Face hub, or a :class:`~lossnet.encoders.Pretrained`; see ``docs/encoders.md``.
        encoder_training: ``"frozen"``: its word vectors, computed once and stored, go into the
            BiLSTM; ``"full"`` or ``"lora"``: it is trained, all of it or adapters, and its words
            go to the tags by a linear layer, with the columns but without LSTM and characters.
        max_length: most sub-words of a sentence; words behind them have zeros for a vector. None:
            the most the encoder can take.
        lora_rank: rank of the adapters.
        global_energy: tag language models added to the chain energy: ``"forward"``, ``"both"``
            directions, ``"both+words"`` also with models that read the words; None adds none.
        global_weight: their weight relative to the chain.
        words_weight: weight of those that read words relative to the others: γ of paper 003,
            Eq. 9.
        pretrain_global: first train them by maximum likelihood on the training tags, then freeze
            them (Tu & Gimpel 2018); otherwise they are trained with the chain, as in paper 003.
        energy_dropout: dropout of the loss-net; None uses ``dropout``.
        energy_features: the loss-net's feature network: ``"own"``, ``"copy"`` (it starts with the
            task-net's weights) or ``"shared"`` (it reads the task-net's features).
        follow_scheme: if the training tags are IOB2 or BIOES, predict the most probable valid
            sequence, found by the Viterbi algorithm on the tokens' probabilities; False predicts
            the most probable tag of every token, which can leave an ``I-`` without a ``B-``.
        metric: metric of early stopping and ``score``: ``"accuracy"`` of tokens, ``"span-f1"``,
            which counts spans like conlleval (an ``I-`` without a ``B-`` begins one), or
            ``"strict-span-f1"`` (it does not). Spans of plain tags are runs of one tag.
            ``"bracket-f1"`` counts the constituents of trees as EVALB does. None is bracket F1
            for trees, else accuracy.
        validation_fraction: share of the sentences held out for validation if ``fit`` gets no
            validation data; 0 trains without validation.
        batch_size: sentences per batch.
        max_epochs: maximum number of epochs of each phase.
        patience: epochs without improvement after which a phase ends.
        unlabelled_weight: weight of unlabelled inputs, on which the task-net follows the loss-net.
        accumulate: pieces in which a batch is processed, to save memory.
        precision: ``"bfloat16"`` runs the nets in mixed precision.
        refine: refine predictions with the energy: ``"net"`` starts from the task-net's output,
            ``"samples"`` from samples of it, ``"random"`` at random; or a
            :class:`~lossnet.proposals.GBI`.
        decode: how outputs become tags: ``"argmax"``, the most probable tag of every token, or
            sequence if it must follow the scheme; ``"expected"``, the spans whose probability, by
            the task-net, exceeds a threshold that suits the F1; ``"samples"``, the best expected
            metric under the joint of both nets, exactly where the loss-net is a chain and over
            weighted samples otherwise; ``"mode"``, the most probable sequence of the joint.
            ``"auto"`` leaves argmax only for a gain on validation data above its standard error.
        decode_samples: number of samples for ``"samples"`` and ``"mode"`` where they are not exact.
        device: torch device.
        random_state: seed.
        verbose: 1 shows a progress bar.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        tags_: names of the tags, sorted.
        scheme_: scheme of the training tags: ``"IOB1"``, ``"IOB2"``, ``"BIOES"``, ``"plain"`` or
            ``"trees"``.
        coder_: the tables that turn tokens into numbers.
        vector_coverage_: the shares of training words and tokens with a pretrained vector; None
            without ``vectors``.
        encoder_: the :class:`~lossnet.encoders.Pretrained` encoder, None without one.
        words_lost_: number of training words that have no vector, being behind ``max_length``.
        decision_: the :class:`~lossnet.tasks.decision.Decision` and what was measured of it.
        history_: a dict per epoch.
        refine_steps_: number of descent steps chosen by :meth:`tune_refinement` for the current
            ``refine``; None uses the method's own.

    >>> sentences = [["the", "dog", "barks"], ["a", "cat"]] * 10
    >>> tags = [["D", "N", "V"], ["D", "N"]] * 10
    >>> tagger = SequenceTagger("cross-entropy", hidden=8, max_epochs=3, random_state=0)
    >>> tagger.fit(sentences, tags).predict([["the", "cat"]])[0].__len__()
    2
    """

    papers, former = PAPERS, FORMER

    def _task_defaults(self) -> dict[str, Any]:
        name = str(self.method)
        cost = {"cost": "token-error"} if defaults(name).get("cost") == "f1" else {}
        return {**cost, **TAGGING_DEFAULTS.get(name, {})}

    def fit(
        self,
        sentences: Any,
        tags: Any = None,
        *,
        columns: Columns | None = None,
        validation_data: Any = None,
        unlabelled: Any = None,
        reward: RewardFunction | None = None,
        sample_weight: Any = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Train on sentences (lists of tokens) and their tags (lists of the same lengths).

        Args:
            sentences: the sentences; or a :class:`SequenceData` with tags; or the
                path of a file that :func:`load_sequences` can read, such as CoNLL or trees.
            tags: their tags; None (or NaN) for a token whose tag is not known, which losses and
                metrics leave out.
            columns: further columns of every token, by name, such as parts of speech.
            validation_data: ``(sentences, tags)``, ``(sentences, tags, columns)``, a
                SequenceData or a file, for early stopping, in place of held-out sentences. Tags
                absent from training are an error.
            unlabelled: sentences without tags, or a SequenceData or a file, whose tags are
                ignored: the task-net follows the loss-net on them too.
            reward: for methods that need one, a function ``(tokens, soft tags) -> (B,)`` that
                scores outputs, see :class:`lossnet.tasks.sequence.Reward`. It is not saved with
                the model.
            sample_weight: how much each sentence counts in the losses; None: all alike.
            checkpoint: file that is written during training, to resume from.
            resume_from_checkpoint: continue from ``checkpoint``, which must exist.
            callbacks: called as training proceeds, see :class:`lossnet.Callback`.
        """
        refuse_text(unlabelled)
        return self._fit(
            (sentences, tags, columns),
            validation_data=validation_data,
            unlabelled=unlabelled,
            reward=reward,
            sample_weight=sample_weight,
            checkpoint=checkpoint,
            resuming=resume_from_checkpoint,
            callbacks=callbacks,
        )

    def predict(self, sentences: Any, *, columns: Columns | None = None) -> list[list[str]]:
        """The tags of every sentence.

        Args:
            sentences: lists of tokens, a :class:`SequenceData`, or a file with or
                without tags; not ``.txt``, which could be CoNLL or text.
            columns: the further columns the model was trained with, by name.
        """
        return self._predicted(self._unseen(sentences, columns))

    def predict_proba(self, sentences: Any, *, columns: Columns | None = None) -> list[np.ndarray]:
        """Probabilities of the tags ``tags_``, ``(T, C)`` for every sentence.

        ``crf`` returns its marginals; methods that descend on the energy return relaxed outputs.
        """
        found = self._probabilities(self._unseen(sentences, columns))
        return list(self._calibrated(found))

    def predict_spans(self, sentences: Any, *, columns: Columns | None = None) -> list[list[Span]]:
        """The spans of every sentence: type, first token, and the token after the last.

        For plain tags (``scheme_``), every run of one tag other than ``O`` is a span.
        """
        check_is_fitted(self, "nets_")
        scheme = span_scheme(self.tags_, self.scheme_)
        return [spans(tags, scheme) for tags in self.predict(sentences, columns=columns)]

    def predict_trees(self, sentences: Any, *, columns: Columns | None = None) -> list[Tree]:
        """The constituency tree of every sentence, for a tagger that was trained on trees.

        Parts of speech are those of ``sentences`` where they are given as trees, else ``XX``.
        """
        check_is_fitted(self, "nets_")
        if self.scheme_ != TREES:
            raise DataError(f"the tags are {self.scheme_}, not those of trees; use predict")
        data = self._unseen(sentences, columns)
        return trees_of(self._predicted(data), data)

    def refinement_path(
        self, sentences: Any, *, columns: Columns | None = None, steps: int = 30
    ) -> list[np.ndarray]:
        """What :meth:`predict_proba` returns after 0, 1, ... steps, ``(steps + 1, T, C)`` each.

        For methods that predict by descending on the energy, or with ``refine``.
        """
        data = self._unseen(sentences, columns)
        path = path_output(self._descent(steps))
        found = self._each(lambda context: path(context).transpose(1, 2), data)
        return list(self._calibrated([values.swapaxes(0, 1) for values in found]))

    def score(self, sentences: Any, tags: Any = None, *, columns: Columns | None = None) -> float:
        """The metric on sentences and their tags; tags absent from training count as wrong.

        Args:
            sentences: as in :meth:`fit`.
            tags: their tags.
            columns: as in :meth:`predict`.
        """
        return self._decided_score(self._scored((sentences, tags, columns)))
