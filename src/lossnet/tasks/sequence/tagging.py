"""What a tagger learns and how it reaches the nets: the parts of :class:`SequenceTagger` within."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.checks import check_choice
from lossnet.context import Context
from lossnet.data.disk_items import join_items
from lossnet.data.vectors import Coverage, WordVectors, read_vectors
from lossnet.encoders import Pretrained
from lossnet.encoders.encoder import Training
from lossnet.energies import ChainEnergy, Energy, TotalEnergy
from lossnet.errors import DataError
from lossnet.files import check_form
from lossnet.method import Method
from lossnet.needs import EXACT, REWARD
from lossnet.nets import ChainTagger, EncoderFeatures, Tagger, TokenFeatures
from lossnet.plain_text import some
from lossnet.proposals import GBI, Proposal
from lossnet.spaces import Categorical, Space
from lossnet.streams import stream_seed
from lossnet.tasks.method_checks import check_completes
from lossnet.tasks.model_folder import CONFIG, LABELS, VOCABULARY
from lossnet.tasks.sequence import decoding
from lossnet.tasks.sequence.batches import SentenceSource, numbered_tags
from lossnet.tasks.sequence.deciding import TagDecisions
from lossnet.tasks.sequence.decoding import TagRules, path_decoder, tag_rules
from lossnet.tasks.sequence.features import count_lost, features, sentences
from lossnet.tasks.sequence.inputs import Columns, scheme_of, sentences_of, sentences_to_tag
from lossnet.tasks.sequence.pretraining import tag_language_models, with_pretraining
from lossnet.tasks.sequence.rewards import Rewarded, RewardFunction, check_reward_tags
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.settings import SEARCH_SPACE, allows_chain, check_tagging
from lossnet.tasks.sequence.tags import BRACKETS, PLAIN, TREES
from lossnet.tasks.sequence.tokens import VOCABULARY_FORM, TokenCoder
from lossnet.training.predict import best_output, each_batch, path_output


@dataclass(eq=False, repr=False)
class TaggingEstimator(TagDecisions):
    """Parameters and hooks of :class:`~lossnet.SequenceTagger`, which says what they mean."""

    method: str | Method = "cross-entropy"
    chain: bool | None = None
    hidden: int = 100
    dropout: float | None = None
    vectors: str | Path | WordVectors | None = None
    fixed_vectors: bool = False
    word_width: int = 50
    lowercase: bool = True
    min_count: int = 2
    case: bool = True
    chars: bool = True
    encoder: str | Path | Pretrained | None = None
    encoder_training: Training = "frozen"
    max_length: int | None = None
    lora_rank: int = 8
    global_energy: Literal["forward", "both", "both+words"] | None = None
    global_weight: float = 1.0
    words_weight: float = 1.0
    pretrain_global: bool = False
    energy_dropout: float | None = None
    follow_scheme: bool = True
    metric: Literal["accuracy", "span-f1", "strict-span-f1", "bracket-f1"] | None = None

    #: What parameters that came later stand for in results from before.
    added: ClassVar[Mapping[str, Any]] = {"chain": False}
    provides = TagDecisions.provides | REWARD | EXACT
    labels_noun = "tags"
    inputs_taken = (2, 3)
    search_space = SEARCH_SPACE

    # Settings --------------------------------------------------------------------------------

    def _metric_name(self) -> str:
        if self.metric is None:
            return BRACKETS if getattr(self, "scheme_", PLAIN) == TREES else "accuracy"
        check_choice("metric", self.metric, ("accuracy", "span-f1", "strict-span-f1", BRACKETS))
        return str(self.metric)

    def _filled_in(self, method: Method) -> dict[str, Any]:
        trained = self.encoder is not None and self.encoder_training != "frozen"
        dropout = (0.1 if trained else 0.5) if self.dropout is None else self.dropout
        energy = dropout if self.energy_dropout is None else self.energy_dropout
        places = {"encoder": self.encoder, "vectors": self.vectors}
        named = {key: str(place) for key, place in places.items() if isinstance(place, Path)}
        chain = allows_chain(method) if self.chain is None else self.chain
        return {"chain": chain, "dropout": dropout, "energy_dropout": energy, **named}

    def _check_own_settings(self, method: Method) -> None:
        check_tagging(self, method)

    # Data ------------------------------------------------------------------------------------

    def _data(self, sentences: Any, tags: Any = None, columns: Columns | None = None) -> Any:
        return sentences_of(sentences, tags, columns=columns)

    def _cut(self, data: SequenceData, fraction: float, seed: int) -> Iterable[Any]:
        return data.with_known_tags(*super()._cut(data, fraction, seed))

    def _learn_classes(self, data: SequenceData, reward: Any) -> None:
        check_completes(self._assembled(), data.n_unknown, self.labels_noun)
        if data.n_unknown and (self.pretrain_global or scheme_of(data) == TREES):
            what = "pretrain_global=True learns" if self.pretrain_global else "trees are read"
            rule = f"{what} from complete sentences; leave out those with unknown tags"
            raise DataError(f"{data.n_unknown:,} tags are not known, and {rule}")
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
            self._check_tags(validation)
        name = self.encoder
        self.encoder_ = Pretrained.load(name) if isinstance(name, str | Path) else name
        given = self.vectors
        vectors = read_vectors(given) if isinstance(given, str | Path) else given
        self.vector_coverage_ = None
        if vectors is not None:
            self.vector_coverage_ = vectors.coverage(data.tokens, lowercase=self.lowercase)
            if self.verbose:
                print(f"{self.vector_coverage_}", file=sys.stderr)
        others: Sequence[list[str]] = [] if unlabelled is None else unlabelled.tokens
        if validation is not None and any(p.rows == "validation" for p in self.method_.phases):
            others = join_items([others, validation.tokens])
        own = {name: getattr(self, name) for name in ("lowercase", "case", "chars", "min_count")}
        self.coder_ = TokenCoder.learn(
            data.tokens, data.columns, others=others, vectors=vectors, **own
        )
        if self.encoder_ is not None:
            self.coder_ = self.coder_.without_words()
        self.table_ = self.coder_.table(vectors, self.word_width, stream_seed(seed, "words"))

    def _source(
        self, data: SequenceData, *, training: bool = False, reward: RewardFunction | None = None
    ) -> SentenceSource:
        coded, collate = sentences(self, data)
        if training and reward is None:
            self.words_lost_ = count_lost(self, coded)
        targets = numbered_tags(data.tags, self.tags_)

        def judge(rows: Sequence[int], mask: Tensor) -> Rewarded:
            assert reward is not None
            return Rewarded(reward, [data.tokens[row] for row in rows], mask, self.tags_)

        judged = None if reward is None else judge
        return SentenceSource(coded, collate, targets, tags=len(self.tags_), reward=judged)

    def _marked(self, data: SequenceData) -> Sequence[int] | None:
        """The word of each sentence to mark for an encoder; None marks none."""
        return None

    def _check_tags(self, validation: SequenceData) -> None:
        """Raise, before training, where validation tags are unknown or do not fit the metric."""
        strange = [tag for tag in validation.tag_names if tag not in set(self.tags_)]
        if strange and self.scheme_ != TREES:
            raise DataError(
                f"the validation data has tags absent from the training data: {some(strange)}; "
                "correct them, leave such sentences out, or train on some"
            )
        tags = [self.tags_, *(validation.tags or [])]
        try:
            self._measured(tags, tags)
        except DataError as error:
            raise DataError(
                f"metric={self.metric!r} cannot count spans in these tags: {error}; give tags of "
                "one scheme, or metric='accuracy'"
            ) from error

    def _unseen(self, sentences: Any, columns: Columns | None = None) -> Any:
        check_is_fitted(self, "nets_")
        return sentences_to_tag(sentences, columns, trained=len(self.coder_.columns))

    def _add_callbacks(
        self, trainer: Any, checkpoint: Any, resuming: bool, given: tuple[Any, ...]
    ) -> None:
        # If the vectors are a file, its name is among the settings.
        vectors = self.vectors if isinstance(self.vectors, WordVectors) else None
        super()._add_callbacks(trainer, checkpoint, resuming, (*given, vectors, self.encoder_))

    # Nets ------------------------------------------------------------------------------------

    def _output(self) -> tuple[tuple[int, ...], Space]:
        return (len(self.tags_),), Categorical()

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        if name == "energy":
            return self._energy(features)
        settled = self._filled_in(self.method_)
        kind = ChainTagger if settled["chain"] else Tagger
        return kind(self._features(settled["dropout"]), len(self.tags_))

    def _features(self, dropout: float) -> TokenFeatures | EncoderFeatures:
        return features(self, dropout)

    def _energy(self, features: nn.Module | None) -> Energy:
        dropout = self._filled_in(self.method_)["energy_dropout"]
        chain = self._local_energy(features or self._features(dropout))
        if self.global_energy is None:
            return chain
        models = tag_language_models(
            self.global_energy, self.table_, len(self.tags_), int(self.hidden)
        )
        shares = [1.0 if model.words is None else self.words_weight for model in models]
        return TotalEnergy([chain, *models], [1.0, *(self.global_weight * s for s in shares)])

    def _local_energy(self, features: nn.Module) -> Energy:
        """The energy of single tags and of neighbours."""
        return ChainEnergy(features, len(self.tags_))

    def _prepared(self) -> tuple[Method, Mapping[str, nn.Module]]:
        if self.pretrain_global and "energy" in self.nets_:
            return with_pretraining(self.method_, self.nets_)
        return self.method_, self.nets_

    # Outputs ---------------------------------------------------------------------------------

    def _each(
        self, function: Callable[[Context], Tensor], data: SequenceData, source: Any = None
    ) -> list[np.ndarray]:
        """``function``, which gives ``(B, T, ...)``, of every sentence, without padding."""
        found, lengths = [np.empty(0)] * len(data), data.lengths
        source = source or self._source(data)
        how: dict[str, Any] = {"batch_size": 256, "precision": self.precision}
        for rows, y in each_batch(function, self.nets_, Categorical(), source, **how):
            assert isinstance(rows, Tensor)
            for row, values in zip(rows.tolist(), y.cpu().numpy(), strict=True):
                found[row] = values[: lengths[row]].copy()
        return found

    def _rules(self) -> TagRules | None:
        return tag_rules(self.tags_, self.scheme_) if self.follow_scheme else None

    def _outputs(self, by: Proposal, data: SequenceData, *, source: Any = None) -> Any:
        """The number of every token's tag."""
        return self._each(self._decoder(best_output(by, self.nets_)), data, source)

    def _probabilities(self, data: SequenceData) -> list[np.ndarray]:
        """The nets' own, ``(T, C)`` for every sentence."""
        return self._each(decoding.probabilities(self._proposal(), self.nets_), data)

    def _with_truth(self, data: SequenceData) -> tuple[Tensor, ...]:
        return decoding.known_tokens(self._probabilities(data), data.tags or [], self.tags_)

    def _path(self, descent: GBI, data: SequenceData) -> Any:
        found = self._each(path_decoder(path_output(descent), self._rules()), data)
        return [[tags[:, step] for tags in found] for step in range(descent.steps + 1)]

    # Storage ---------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors: dict[str, Tensor] = {}
        encoder = None
        if self.encoder_ is not None:
            # Fully trained, its weights are the nets' own.
            tensors, encoder = self.encoder_.pack(weights=self.encoder_training != "full")
        facts = {
            "vocabulary": {**self.coder_.to_json(), "encoder": encoder},
            "vector_coverage": self.vector_coverage_,
            "words_lost": self.words_lost_,
            "labels": {"tags": self.tags_, "scheme": self.scheme_},
        }
        return {"words": self.table_, **tensors}, facts

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        check_form(facts, {"vector_coverage": (None, [float]), "words_lost": int}, CONFIG)
        check_form(facts["labels"], {"tags": [str], "scheme": str}, LABELS)
        check_form(facts["vocabulary"], VOCABULARY_FORM, VOCABULARY)
        tables, encoder = dict(facts["vocabulary"]), facts["vocabulary"]["encoder"]
        del tables["encoder"]
        self.encoder_ = None if encoder is None else Pretrained.unpack(tensors, encoder)
        self.coder_ = TokenCoder.from_json(tables)
        shares = facts["vector_coverage"]
        self.vector_coverage_ = None if shares is None else Coverage(*map(float, shares))
        self.words_lost_ = facts["words_lost"]
        self.tags_, self.scheme_ = facts["labels"]["tags"], facts["labels"]["scheme"]
        self.table_ = tensors["words"]
        if self.table_.ndim != 2 or len(self.table_) != len(self.coder_.words) + 2:
            raise DataError(f"there are {len(self.coder_.words)} words and not as many vectors")
