"""Sequence labelling in the manner of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.checks import check_choice, check_flag, check_int, check_share, check_weight
from lossnet.context import Context, stream_seed
from lossnet.data.vectors import Coverage, WordVectors, read_vectors
from lossnet.energies import ChainEnergy, Energy, TagLanguageModel, TotalEnergy
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.needs import EXACT, REWARD
from lossnet.nets import Tagger, TokenFeatures
from lossnet.proposals import Proposal
from lossnet.recipes import defaults
from lossnet.spaces import Categorical, Space
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.model_folder import CONFIG, LABELS, VOCABULARY, check_form
from lossnet.tasks.parts import cut_rows
from lossnet.tasks.sequence.batches import SentenceSource
from lossnet.tasks.sequence.decoding import decoder
from lossnet.tasks.sequence.inputs import (
    Columns,
    check_reward_tags,
    labelled,
    refuse_text,
    scheme_of,
    sentences_of,
    validation_parts,
)
from lossnet.tasks.sequence.metrics import SEQUENCE_METRICS
from lossnet.tasks.sequence.pretraining import with_pretraining
from lossnet.tasks.sequence.rewards import Rewarded, RewardFunction
from lossnet.tasks.sequence.sentences import SequenceData, with_known_tags
from lossnet.tasks.sequence.tag_rules import tag_rules
from lossnet.tasks.sequence.tags import Span, span_scheme, spans
from lossnet.tasks.sequence.tokens import VOCABULARY_FORM, TokenCoder, collate
from lossnet.training.predict import best_output, each_batch

#: Tag language models beside the chain: paper 003's GE(a), GE(b) and GE(c).
GLOBAL_ENERGIES = ("forward", "both", "both+words")

_CHAIN: dict[str, Any] = {"energy_weight": 0.3, "energy_optimiser": {"lr": 1e-3}}
#: Overrides of the recipes' defaults for tags, by method. The cost-augmented net learns the truth
#: from its cost alone: with cross-entropy besides it stays where it hardly teaches the chain.
TAGGING_DEFAULTS: dict[str, dict[str, Any]] = {
    "infnet-plus": {**_CHAIN, "augmented_xent_weight": 0.0},
    "infnet": _CHAIN,
}


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
        global_energy: tag language models beside the chain energy: ``"forward"``, ``"both"``
            directions, ``"both+words"`` with models that read the words too; None has none.
        global_weight: their weight beside the chain.
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
        batch_size: sentences a batch.
        max_epochs: most epochs of each phase.
        patience: epochs without a better metric after which a phase ends.
        refine: polish predictions with the energy, see
            :class:`~lossnet.MultiLabelClassifier`.
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

    >>> sentences = [["the", "dog", "barks"], ["a", "cat"]] * 10
    >>> tags = [["D", "N", "V"], ["D", "N"]] * 10
    >>> tagger = SequenceTagger("cross-entropy", hidden=8, max_epochs=3, random_state=0)
    >>> tagger.fit(sentences, tags).predict([["the", "cat"]])[0].__len__()
    2
    """

    def __init__(
        self,
        method: str | Method = "infnet-plus",
        *,
        method_params: dict[str, Any] | None = None,
        hidden: int = 100,
        dropout: float = 0.5,
        vectors: str | Path | WordVectors | None = None,
        fixed_vectors: bool = False,
        word_width: int = 50,
        lowercase: bool = True,
        min_count: int = 2,
        case: bool = True,
        chars: bool = True,
        global_energy: Literal["forward", "both", "both+words"] | None = None,
        global_weight: float = 1.0,
        words_weight: float = 1.0,
        pretrain_global: bool = False,
        energy_dropout: float | None = None,
        follow_scheme: bool = True,
        metric: Literal["accuracy", "span-f1", "strict-span-f1"] = "accuracy",
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
        self.vectors = vectors
        self.fixed_vectors = fixed_vectors
        self.word_width = word_width
        self.lowercase = lowercase
        self.min_count = min_count
        self.case = case
        self.chars = chars
        self.global_energy = global_energy
        self.global_weight = global_weight
        self.words_weight = words_weight
        self.pretrain_global = pretrain_global
        self.energy_dropout = energy_dropout
        self.follow_scheme = follow_scheme
        self.metric = metric
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.refine = refine
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    provides = StructuredEstimator.provides | REWARD | EXACT

    coder_: TokenCoder
    tags_: list[str]
    scheme_: str
    vector_coverage_: Coverage | None

    # Settings --------------------------------------------------------------------------------

    def _task_defaults(self) -> dict[str, Any]:
        name = str(self.method)
        cost = {"cost": "token-error"} if defaults(name).get("cost") == "f1" else {}
        return {**cost, **TAGGING_DEFAULTS.get(name, {})}

    def _metric_name(self) -> str:
        check_choice("metric", self.metric, SEQUENCE_METRICS)
        return str(self.metric)

    def _check_settings(self) -> Method:
        method = self._check_training_settings()
        for name in ("hidden", "word_width", "min_count"):
            check_int(name, getattr(self, name))
        check_share("dropout", self.dropout)
        if self.energy_dropout is not None:
            check_share("energy_dropout", self.energy_dropout)
        if not isinstance(self.vectors, str | Path | WordVectors | None):
            raise SettingError(
                f"vectors is a {type(self.vectors).__name__}; give a file, "
                "lossnet.data.WordVectors(words, vectors) or None"
            )
        if self.global_energy is not None:
            check_choice("global_energy", self.global_energy, GLOBAL_ENERGIES)
            if method.needs >= EXACT:
                raise SettingError(
                    f"{self.method!r} is exact, which a global energy is not; take "
                    "global_energy=None, or another method"
                )
        for name in ("global_weight", "words_weight"):
            check_weight(name, getattr(self, name))
        for name in ("fixed_vectors", "lowercase", "case", "chars", "pretrain_global"):
            check_flag(name, getattr(self, name))
        check_flag("follow_scheme", self.follow_scheme)
        if self.pretrain_global and self.global_energy is None:
            raise SettingError(
                "pretrain_global is set and there is no tag language model to train; set "
                f"global_energy to one of {', '.join(map(repr, GLOBAL_ENERGIES))}"
            )
        return method

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
    ) -> SequenceTagger:
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
        with self._all_or_nothing():
            method = self._check_settings()
            self._check_resume(checkpoint, resume_from_checkpoint)
            self._check_unlabelled(method, unlabelled is not None, reward=reward is not None)
            refuse_text(unlabelled)
            data = labelled(sentences, tags, columns, "the training data")
            seed = self._seed()
            data, held_out = self._split(data, validation_data, seed)
            vectors = self._vectors()
            self._cover(vectors, data)
            # Of a file the settings hold the name.
            given = self.vectors if isinstance(self.vectors, WordVectors) else None
            spare = None if unlabelled is None else replace(sentences_of(unlabelled), tags=None)
            others = [] if spare is None else spare.tokens
            if held_out is not None and any(p.rows == "validation" for p in method.phases):
                others = [*others, *held_out.tokens]
            self.tags_ = sorted({*data.tag_names, *getattr(reward, "tags", ())})
            self.scheme_ = scheme_of(data)
            self._check_tags(held_out, reward)
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
            self.method_ = method
            self.nets_ = self._build_nets(method.nets, seed)
            validation = score = None
            if held_out is not None:
                validation = self._source(held_out)
                score = partial(self._score, validation, held_out)
            self._train(
                Categorical(),
                self._source(data),
                validation=validation,
                unlabelled=None if spare is None else self._source(spare, reward),
                score=score,
                seed=seed,
                data_digest=" ".join(
                    part.checksum() for part in (data, held_out, spare, given) if part is not None
                ),
                checkpoint=checkpoint,
                resume_from_checkpoint=resume_from_checkpoint,
            )
        return self

    def _check_tags(self, held_out: SequenceData | None, reward: RewardFunction | None) -> None:
        """Raise, before training, where tags are unknown or do not fit the scheme or the metric."""
        check_reward_tags(getattr(reward, "tags", ()), self.scheme_)
        if held_out is None or held_out.tags is None:
            return
        if strange := [tag for tag in held_out.tag_names if tag not in set(self.tags_)]:
            more = f" and {len(strange) - 3} more" if len(strange) > 3 else ""
            raise DataError(
                f"the validation data has tags absent from the training data: "
                f"{', '.join(map(repr, strange[:3]))}{more}; correct them, leave such sentences "
                "out, or train on some"
            )
        try:
            self._measured([self.tags_, *held_out.tags], [self.tags_, *held_out.tags])
        except DataError as error:
            raise DataError(
                f"metric={self.metric!r} cannot count spans in these tags: {error}; give tags of "
                "one scheme, or metric='accuracy'"
            ) from error

    def _split(
        self, data: SequenceData, given: Any, seed: int
    ) -> tuple[SequenceData, SequenceData | None]:
        if given is not None:
            return data, labelled(*validation_parts(given), "validation_data")
        return self._hold_out(data, seed)

    def _cut(self, data: SequenceData, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        train, held = cut_rows(len(data), [fraction], seed, data.documents)
        return with_known_tags(data, train, held)

    def _vectors(self) -> WordVectors | None:
        if self.vectors is None or isinstance(self.vectors, WordVectors):
            return self.vectors
        return read_vectors(self.vectors)

    def _cover(self, vectors: WordVectors | None, data: SequenceData) -> None:
        """Set ``vector_coverage_``; with ``verbose``, say it before training begins."""
        self.vector_coverage_ = None
        if vectors is not None:
            self.vector_coverage_ = vectors.coverage(data.tokens, lowercase=self.lowercase)
            if self.verbose:
                print(f"{self.vector_coverage_}", file=sys.stderr)

    def _source(self, data: SequenceData, reward: RewardFunction | None = None) -> SentenceSource:
        coded = self.coder_.code(data.tokens, data.columns)
        targets = None
        if data.tags is not None:
            number = {tag: i for i, tag in enumerate(self.tags_)}
            # A tag that training never saw can never be right; it stands for none.
            targets = [np.array([number.get(t, 0) for t in tags]) for tags in data.tags]
        return SentenceSource(
            coded,
            partial(collate, device=self.device),
            targets,
            tags=len(self.tags_),
            reward=None if reward is None else partial(self._rewarded, reward, data.tokens),
        )

    def _rewarded(
        self,
        reward: RewardFunction,
        tokens: list[list[str]],
        rows: Sequence[int],
        mask: Tensor,
    ) -> Rewarded:
        """The reward of some sentences, its columns found among the tagger's tags."""
        own = getattr(reward, "tags", None)
        columns = None if own is None else [self.tags_.index(tag) for tag in own]
        return Rewarded(reward, [tokens[row] for row in rows], mask, columns)

    def _factory_of(self, net: str) -> str:
        return "method"

    def _output(self) -> tuple[tuple[int, ...], Space]:
        return (len(self.tags_),), Categorical()

    def _filled_in(self, method: Method) -> dict[str, Any]:
        dropout = self.dropout if self.energy_dropout is None else self.energy_dropout
        return {"energy_dropout": dropout}

    def _make_net(self, name: str) -> nn.Module:
        return self._energy() if name == "energy" else self._tagger()

    def _features(self, dropout: float) -> TokenFeatures:
        return TokenFeatures(
            self.table_,
            hidden=self.hidden,
            trained=self.coder_.learned if self.fixed_vectors else self.coder_.trained,
            characters=self.coder_.characters,
            columns=self.coder_.column_sizes,
            dropout=dropout,
        )

    def _tagger(self) -> Tagger:
        return Tagger(self._features(self.dropout), len(self.tags_))

    def _energy(self) -> Energy:
        dropout = self._filled_in(self.method_)["energy_dropout"]
        chain = ChainEnergy(self._features(dropout), len(self.tags_))
        if self.global_energy is None:
            return chain
        model = partial(TagLanguageModel, len(self.tags_), hidden=self.hidden)
        models = [model()]
        if self.global_energy != "forward":
            models.append(model(backward=True))
        if self.global_energy == "both+words":
            models += [model(words=self.table_), model(words=self.table_, backward=True)]
        shares = [1.0, 1.0, self.words_weight, self.words_weight][: len(models)]
        return TotalEnergy([chain, *models], [1.0, *(self.global_weight * s for s in shares)])

    def _prepared(self) -> tuple[Method, Mapping[str, nn.Module]]:
        if self.pretrain_global and "energy" in self.nets_:
            return with_pretraining(self.method_, self.nets_)
        return self.method_, self.nets_

    def _score(self, source: SentenceSource, data: SequenceData, by: Proposal) -> float:
        assert data.tags is not None
        return self._measured(data.tags, self._names(by, source, data))

    def _measured(self, true: list[list[str]], predicted: list[list[str]]) -> float:
        """The metric; an error where it counts spans and the tags mark none."""
        scheme = None if self.metric == "accuracy" else span_scheme(self.tags_, self.scheme_)
        return SEQUENCE_METRICS[self._metric_name()](true, predicted, scheme)

    # Predicting ------------------------------------------------------------------------------

    def _names(self, by: Proposal, source: SentenceSource, data: SequenceData) -> list[list[str]]:
        rules = tag_rules(self.tags_, self.scheme_) if self.follow_scheme else None
        decode = decoder(best_output(by, self.nets_), rules)
        outputs = self._outputs(decode, source, data)
        return [[self.tags_[tag] for tag in row] for row in outputs]

    def _outputs(
        self, function: Callable[[Context], Tensor], source: SentenceSource, data: SequenceData
    ) -> list[np.ndarray]:
        """``function`` of every sentence, without padding."""
        found = [np.empty(0)] * len(data)
        for rows, y in each_batch(function, self.nets_, Categorical(), source, batch_size=256):
            assert isinstance(rows, Tensor)
            for row, values in zip(rows.tolist(), y.cpu().numpy(), strict=True):
                found[row] = values[: len(data.tokens[row])].copy()
        return found

    def _unseen(self, sentences: Any, columns: Columns | None) -> SequenceData:
        check_is_fitted(self, "nets_")
        if not isinstance(sentences, str | Path):
            return sentences_of(sentences, columns=columns)
        refuse_text(sentences)
        bare = sentences_of(sentences, columns=columns, tagged=False)
        # A column more than the model knows: the file has tags, which are not looked at.
        more = len(bare.columns) > len(self.coder_.columns)
        return sentences_of(sentences) if more else bare

    def predict(self, sentences: Any, *, columns: Columns | None = None) -> list[list[str]]:
        """The tags of every sentence.

        Args:
            sentences: lists of tokens, a :class:`SequenceData`, or a file with or
                without tags; not ``.txt``, which may be CoNLL or text.
            columns: the further columns the model was trained with, by name.
        """
        data = self._unseen(sentences, columns)
        return self._names(self._proposal(), self._source(data), data)

    def predict_proba(self, sentences: Any, *, columns: Columns | None = None) -> list[np.ndarray]:
        """Probabilities of the tags ``tags_``, ``(T, C)`` for every sentence.

        A random field gives its marginals; methods that descend on the energy relaxed outputs.
        """
        data = self._unseen(sentences, columns)
        proposal = self._proposal()
        exact = proposal.needs >= EXACT
        function = self._marginals if exact else best_output(proposal, self.nets_)
        return self._outputs(function, self._source(data), data)

    def _marginals(self, context: Context) -> Tensor:
        energy: Any = self.nets_["energy"]
        with torch.enable_grad():
            marginals: Tensor = energy.marginals(context.encoded("energy"), context.batch.mask)
        return marginals.detach()

    def predict_spans(self, sentences: Any, *, columns: Columns | None = None) -> list[list[Span]]:
        """The spans of every sentence: type, first token, and the token after the last.

        Of plain tags (``scheme_``) every run of one tag other than ``O`` is a span.
        """
        check_is_fitted(self, "nets_")
        scheme = span_scheme(self.tags_, self.scheme_)
        return [spans(tags, scheme) for tags in self.predict(sentences, columns=columns)]

    def score(self, sentences: Any, tags: Any = None, *, columns: Columns | None = None) -> float:
        """The metric on sentences and their tags; tags that training lacked count as wrong.

        Args:
            sentences: as in :meth:`fit`.
            tags: their tags.
            columns: as in :meth:`predict`.
        """
        check_is_fitted(self, "nets_")
        self._metric_name()
        data = labelled(sentences, tags, columns, "the data to score")
        return self._score(self._source(data), data, self._proposal())

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
