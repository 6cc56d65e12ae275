"""Sequence labelling in the manner of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.checks import check_choice
from lossnet.context import Context, stream_seed
from lossnet.data.vectors import Coverage, WordVectors, read_vectors
from lossnet.errors import DataError
from lossnet.method import Method
from lossnet.needs import EXACT, REWARD
from lossnet.proposals import GBI, Proposal
from lossnet.spaces import Categorical, Space
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.model_folder import CONFIG, LABELS, VOCABULARY, check_form
from lossnet.tasks.sequence.batches import SentenceSource
from lossnet.tasks.sequence.decoding import decoder, marginals, path_decoder
from lossnet.tasks.sequence.inputs import (
    Columns,
    refuse_text,
    scheme_of,
    sentences_of,
    sentences_to_tag,
    validation_sentences,
)
from lossnet.tasks.sequence.metrics import SEQUENCE_METRICS
from lossnet.tasks.sequence.pretraining import with_pretraining
from lossnet.tasks.sequence.rewards import Rewarded, RewardFunction
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tag_rules import tag_rules
from lossnet.tasks.sequence.tagger_checks import check_reward_tags, check_settings, check_tags
from lossnet.tasks.sequence.tagger_nets import make_net, tagging_defaults
from lossnet.tasks.sequence.tags import Span, span_scheme, spans
from lossnet.tasks.sequence.tokens import VOCABULARY_FORM, TokenCoder, collate
from lossnet.training.predict import best_output, each_batch, path_output


@dataclass(eq=False, repr=False)
class SequenceTagger(StructuredEstimator):
    """A BiLSTM tagger trained with a learned loss.

    Args:
        method: a name that ``lossnet methods`` lists, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method in place of its defaults; each can also
            be set as ``method__name``. Methods whose cost is soft F1 take the share of wrong
            tokens here; :data:`TAGGING_DEFAULTS` names what else differs.
        hidden: width of the LSTMs in each direction.
        dropout: share of entries dropped of an LSTM's input and output.
        vectors: a file of pretrained word vectors (GloVe text, word2vec text or binary, npz), or
            :class:`~lossnet.data.WordVectors`; None learns them.
        fixed_vectors: keep the pretrained vectors as they are; vectors of other words are
            trained all the same, and those of words that training lacks never.
        word_width: width of word vectors that are learned.
        lowercase: look a word up in lower case where it is not known as written.
        min_count: words that training has fewer of, and pretrained vectors lack, are unknown.
        case: whether the case of a word is a feature.
        chars: whether a character CNN reads every word.
        global_energy: tag language models added to the chain energy: ``"forward"``, ``"both"``
            directions, ``"both+words"`` with models that read the words too; None has none.
        global_weight: their weight relative to the chain.
        words_weight: the weight, among them, of those that read words: γ of paper 003, Eq. 9.
        pretrain_global: train them by likelihood on the training tags first, and keep them fixed
            then (Tu & Gimpel 2018); otherwise they are trained with the chain, as in paper 003.
        energy_dropout: dropout of the loss-net; None takes ``dropout``.
        follow_scheme: where the training tags are IOB2 or BIOES, predict the likeliest sequence
            that keeps to it, found by Viterbi's algorithm on the tokens' probabilities; False
            takes the likeliest tag of every token, which may leave an ``I-`` without a ``B-``.
        metric: what early stopping watches and ``score`` gives: ``"accuracy"`` of tokens,
            ``"span-f1"`` as conlleval counts spans, an ``I-`` without a ``B-`` beginning one, or
            ``"strict-span-f1"``, where it begins none. Spans of plain tags are runs of one tag.
        validation_fraction: share of the sentences split off for validation where ``fit`` is
            given none; 0 trains without.
        batch_size: sentences per batch.
        max_epochs: most epochs of each phase.
        patience: epochs without a better metric after which a phase ends.
        refine: polish predictions with the energy: ``"net"`` starts from the task-net's output,
            ``"samples"`` from samples of it, ``"random"`` at random; or a :class:`~lossnet.GBI`.
        device: torch device.
        random_state: seed.
        verbose: 1 shows a progress bar.

    Attributes:
        method_: the assembled :class:`~lossnet.Method`.
        nets_: the trained nets by name.
        tags_: names of the tags, sorted.
        scheme_: the scheme that the training tags follow: ``"IOB1"``, ``"IOB2"``, ``"BIOES"`` or
            ``"plain"``.
        coder_: the tables that turn tokens into numbers.
        vector_coverage_: the shares of the training words and tokens that have a pretrained
            vector; None without ``vectors``.
        history_: a row for each epoch.
        refine_steps_: steps of the descent that predicts, where :meth:`tune_refinement` chose
            them for the present ``refine``; None takes the method's own.

    >>> sentences = [["the", "dog", "barks"], ["a", "cat"]] * 10
    >>> tags = [["D", "N", "V"], ["D", "N"]] * 10
    >>> tagger = SequenceTagger("cross-entropy", hidden=8, max_epochs=3, random_state=0)
    >>> tagger.fit(sentences, tags).predict([["the", "cat"]])[0].__len__()
    2
    """

    method: str | Method = "infnet-plus"
    hidden: int = 100
    dropout: float = 0.5
    vectors: str | Path | WordVectors | None = None
    fixed_vectors: bool = False
    word_width: int = 50
    lowercase: bool = True
    min_count: int = 2
    case: bool = True
    chars: bool = True
    global_energy: Literal["forward", "both", "both+words"] | None = None
    global_weight: float = 1.0
    words_weight: float = 1.0
    pretrain_global: bool = False
    energy_dropout: float | None = None
    follow_scheme: bool = True
    metric: Literal["accuracy", "span-f1", "strict-span-f1"] = "accuracy"

    provides = StructuredEstimator.provides | REWARD | EXACT
    labels_noun = "tags"

    # Settings --------------------------------------------------------------------------------

    def _task_defaults(self) -> dict[str, Any]:
        return tagging_defaults(str(self.method))

    def _metric_name(self) -> str:
        check_choice("metric", self.metric, SEQUENCE_METRICS)
        return str(self.metric)

    def _check_own_settings(self, method: Method) -> None:
        check_settings(self, method)

    def _filled_in(self, method: Method) -> dict[str, Any]:
        dropout = self.dropout if self.energy_dropout is None else self.energy_dropout
        return {"energy_dropout": dropout}

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Any,
        tags: Any = None,
        *,
        columns: Columns | None = None,
        validation_data: Any = None,
        unlabelled: Any = None,
        reward: RewardFunction | None = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
    ) -> Self:
        """Train on sentences, lists of tokens, and their tags, lists of the same lengths.

        Args:
            sentences: the sentences; or a :class:`SequenceData` with tags; or the
                path of a file that :func:`load_sequences` reads, such as CoNLL.
            tags: their tags.
            columns: further columns of every token, by name, such as parts of speech.
            validation_data: ``(sentences, tags)``, ``(sentences, tags, columns)``, a
                SequenceData or a file, for early stopping, in place of a split. It is an
                error if it has tags that training lacks.
            unlabelled: sentences without tags, or a SequenceData or a file, whose tags are not
                looked at, for methods that train on such rows.
            reward: for methods that need one, how good an output is: ``(tokens, soft tags) ->
                (B,)``, see :class:`lossnet.tasks.sequence.Reward`. It is not kept with the model.
            checkpoint: file that is written during training, to resume from.
            resume_from_checkpoint: go on from ``checkpoint``, which must exist.
        """
        refuse_text(unlabelled)
        return self._fit(
            (sentences, tags, columns),
            validation_data=validation_sentences(validation_data),
            unlabelled=unlabelled,
            reward=reward,
            checkpoint=checkpoint,
            resume_from_checkpoint=resume_from_checkpoint,
        )

    def _data(self, sentences: Any, tags: Any = None, columns: Columns | None = None) -> Any:
        return sentences_of(sentences, tags, columns=columns)

    def _cut(self, data: SequenceData, fraction: float, seed: int) -> Iterable[Any]:
        return data.with_known_tags(*super()._cut(data, fraction, seed))

    def _learn_classes(self, data: SequenceData, reward: Any) -> None:
        own = getattr(reward, "tags", ())
        check_reward_tags(own, scheme_of(data))
        self.tags_ = sorted({*data.tag_names, *own})

    def _learn(
        self,
        data: SequenceData,
        validation: SequenceData | None,
        unlabelled: SequenceData | None,
        seed: int,
    ) -> None:
        self.scheme_ = scheme_of(data)
        if validation is not None:
            check_tags(self, validation)
        given = self.vectors
        vectors = read_vectors(given) if isinstance(given, str | Path) else given
        self.vector_coverage_ = None
        if vectors is not None:
            self.vector_coverage_ = vectors.coverage(data.tokens, lowercase=self.lowercase)
            if self.verbose:
                print(f"{self.vector_coverage_}", file=sys.stderr)
        others = [] if unlabelled is None else unlabelled.tokens
        if validation is not None and any(p.rows == "validation" for p in self.method_.phases):
            others = [*others, *validation.tokens]
        self.coder_ = TokenCoder.learn(
            data.tokens,
            data.columns,
            others=others,
            vectors=vectors,
            lowercase=self.lowercase,
            case=self.case,
            chars=self.chars,
            min_count=self.min_count,
        )
        self.table_ = self.coder_.table(vectors, self.word_width, stream_seed(seed, "words"))

    def _source(
        self, data: SequenceData, *, training: bool = False, reward: RewardFunction | None = None
    ) -> SentenceSource:
        coded = self.coder_.code(data.tokens, data.columns)
        targets = None
        if data.tags is not None:
            number = {tag: i for i, tag in enumerate(self.tags_)}
            # A tag absent from training can never be right; it stands for none.
            targets = [np.array([number.get(t, 0) for t in tags]) for tags in data.tags]
        return SentenceSource(
            coded,
            partial(collate, device=self.device),
            targets,
            tags=len(self.tags_),
            reward=None if reward is None else partial(self._rewarded, reward, data.tokens),
        )

    def _rewarded(
        self, reward: RewardFunction, tokens: list[list[str]], rows: Sequence[int], mask: Tensor
    ) -> Rewarded:
        """The reward of some sentences, its columns found among the tagger's tags."""
        own = getattr(reward, "tags", None)
        columns = None if own is None else [self.tags_.index(tag) for tag in own]
        return Rewarded(reward, [tokens[row] for row in rows], mask, columns)

    def _output(self) -> tuple[tuple[int, ...], Space]:
        return (len(self.tags_),), Categorical()

    def _make_net(self, name: str) -> nn.Module:
        return make_net(self, name)

    def _prepared(self) -> tuple[Method, Mapping[str, nn.Module]]:
        if self.pretrain_global and "energy" in self.nets_:
            return with_pretraining(self.method_, self.nets_)
        return self.method_, self.nets_

    def _add_callbacks(
        self, trainer: Any, checkpoint: Any, resuming: bool, seed: int, digest: str
    ) -> None:
        # Of a file of vectors the settings hold the name.
        given = self.vectors.checksum() if isinstance(self.vectors, WordVectors) else ""
        super()._add_callbacks(trainer, checkpoint, resuming, seed, f"{digest} {given}")

    # Predicting ------------------------------------------------------------------------------

    def _each(self, function: Callable[[Context], Tensor], data: SequenceData) -> list[np.ndarray]:
        """``function``, which gives ``(B, T, ...)``, of every sentence, without padding."""
        found = [np.empty(0)] * len(data)
        source = self._source(data)
        for rows, y in each_batch(function, self.nets_, Categorical(), source, batch_size=256):
            assert isinstance(rows, Tensor)
            for row, values in zip(rows.tolist(), y.cpu().numpy(), strict=True):
                found[row] = values[: len(data.tokens[row])].copy()
        return found

    def _rules(self) -> Any:
        return tag_rules(self.tags_, self.scheme_) if self.follow_scheme else None

    def _outputs(self, by: Proposal, data: SequenceData, *, validating: bool = False) -> Any:
        """The number of every token's tag."""
        return self._each(decoder(best_output(by, self.nets_), self._rules()), data)

    def _path(self, descent: GBI, data: SequenceData) -> Any:
        found = self._each(path_decoder(path_output(descent), self._rules()), data)
        return [[tags[:, step] for tags in found] for step in range(descent.steps + 1)]

    def _decode(self, outputs: Any) -> list[list[str]]:
        return [[self.tags_[tag] for tag in row] for row in outputs]

    def _measure(self, data: SequenceData, outputs: Any) -> float:
        return self._measured(data.tags or [], self._decode(outputs))

    def _measured(self, true: list[list[str]], predicted: list[list[str]]) -> float:
        """The metric; an error where it counts spans and the tags mark none."""
        metric = SEQUENCE_METRICS[self._metric_name()]
        scheme = None if self.metric == "accuracy" else span_scheme(self.tags_, self.scheme_)
        return metric(true, predicted, scheme)

    def _unseen(self, sentences: Any, columns: Columns | None = None) -> Any:
        check_is_fitted(self, "nets_")
        return sentences_to_tag(sentences, columns, trained=len(self.coder_.columns))

    def predict(self, sentences: Any, *, columns: Columns | None = None) -> list[list[str]]:
        """The tags of every sentence.

        Args:
            sentences: lists of tokens, a :class:`SequenceData`, or a file with or
                without tags; not ``.txt``, which may be CoNLL or text.
            columns: the further columns the model was trained with, by name.
        """
        data = self._unseen(sentences, columns)
        return self._decode(self._outputs(self._proposal(), data))

    def predict_proba(self, sentences: Any, *, columns: Columns | None = None) -> list[np.ndarray]:
        """Probabilities of the tags ``tags_``, ``(T, C)`` for every sentence.

        A random field gives its marginals; methods that descend on the energy relaxed outputs.
        """
        data = self._unseen(sentences, columns)
        proposal = self._proposal()
        exact = proposal.needs >= EXACT
        return self._each(marginals if exact else best_output(proposal, self.nets_), data)

    def predict_spans(self, sentences: Any, *, columns: Columns | None = None) -> list[list[Span]]:
        """The spans of every sentence: type, first token, and the token after the last.

        Of plain tags (``scheme_``) every run of one tag other than ``O`` is a span.
        """
        check_is_fitted(self, "nets_")
        scheme = span_scheme(self.tags_, self.scheme_)
        return [spans(tags, scheme) for tags in self.predict(sentences, columns=columns)]

    def refinement_path(
        self, sentences: Any, *, columns: Columns | None = None, steps: int = 30
    ) -> list[np.ndarray]:
        """What :meth:`predict_proba` gives after 0, 1, ... steps, ``(steps + 1, T, C)`` each.

        For methods that predict by descending on the energy, or with ``refine``.
        """
        data = self._unseen(sentences, columns)
        path = path_output(self._descent(steps))
        found = self._each(lambda context: path(context).transpose(1, 2), data)
        return [values.swapaxes(0, 1) for values in found]

    def score(self, sentences: Any, tags: Any = None, *, columns: Columns | None = None) -> float:
        """The metric on sentences and their tags; tags absent from training count as wrong.

        Args:
            sentences: as in :meth:`fit`.
            tags: their tags.
            columns: as in :meth:`predict`.
        """
        data = self._scored((sentences, tags, columns))
        return self._measure(data, self._outputs(self._proposal(), data))

    # Storage ---------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        facts = {
            "vocabulary": self.coder_.to_json(),
            "vector_coverage": self.vector_coverage_,
            "labels": {"tags": self.tags_, "scheme": self.scheme_},
        }
        return {"words": self.table_}, facts

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        check_form(facts, {"vector_coverage": (None, [float])}, CONFIG)
        check_form(facts["labels"], {"tags": [str], "scheme": str}, LABELS)
        check_form(facts["vocabulary"], VOCABULARY_FORM, VOCABULARY)
        self.coder_ = TokenCoder.from_json(facts["vocabulary"])
        shares = facts["vector_coverage"]
        self.vector_coverage_ = None if shares is None else Coverage(*map(float, shares))
        self.tags_, self.scheme_ = facts["labels"]["tags"], facts["labels"]["scheme"]
        self.table_ = tensors["words"]
        if self.table_.ndim != 2 or len(self.table_) != len(self.coder_.words) + 2:
            raise DataError(f"there are {len(self.coder_.words)} words and not as many vectors")
