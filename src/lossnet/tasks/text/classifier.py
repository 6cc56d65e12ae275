"""Multi-label classification of texts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import Tensor, nn

from lossnet.checks import check_choice, check_int
from lossnet.encoders import Pretrained
from lossnet.encoders.encoder import Training
from lossnet.energies import LabelEnergy
from lossnet.errors import DataError, SettingError
from lossnet.exporting import Exported
from lossnet.method import Method
from lossnet.tasks.method_checks import feature_net
from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.encoding import Encoding
from lossnet.tasks.multilabel.targets import Labels
from lossnet.tasks.text.encoding import Pooling, TextEncoder, TextNet, Truncation
from lossnet.tasks.text.exported_texts import check_tfidf, with_texts
from lossnet.tasks.text.label_lists import LabelLists, read_labels
from lossnet.tasks.text.paper_settings import PAPERS
from lossnet.tasks.text.texts import TextData
from lossnet.tasks.text.tfidf import Tfidf
from lossnet.tasks.text.token_batches import TextSource

#: Overrides of the recipes' defaults for texts, by method. Without the entropy term the task-net
#: comes closer to the most probable label set, which serves exact match and a threshold of 0.5.
TEXT_DEFAULTS: dict[str, dict[str, Any]] = {
    "seal-nce": {"energy_weight": 2.0, "entropy_weight": 0.0, "samples": 10, "energy_steps": 1},
}
#: Overrides of these where an encoder is trained: in a few epochs the loss-net learns less.
TRAINED_DEFAULTS: dict[str, dict[str, Any]] = {"seal-nce": {"energy_weight": 1.0}}


@dataclass(eq=False, repr=False)
class TextClassifier(MultiLabelClassifier):
    """Texts with a set of labels each: an encoder under a :class:`~lossnet.MultiLabelClassifier`.

    :meth:`fit` takes strings and their labels: a list (or set, or tuple) of strings for each text,
    or an indicator matrix ``(n, L)``, dense, sparse or a DataFrame. Every method also accepts a
    :class:`~lossnet.tasks.text.TextData` in place of both. A label in validation or other data
    that training never saw is never predicted: it counts as missed. An empty text is an error in
    labelled data; :meth:`predict` takes it.

    Parameters that are not listed here are those of :class:`~lossnet.MultiLabelClassifier`.

    Args:
        method_params: parameters of the named method that override its defaults;
            :data:`TEXT_DEFAULTS` lists how these differ from the recipes', and
            :data:`TRAINED_DEFAULTS` what differs again where an encoder is trained.
        encoder: a pretrained transformer: a folder that ``save_pretrained`` wrote, or a name on
            the Hugging Face hub; needs ``lossnet[text]``. None: TF-IDF features.
        encoder_training: ``"frozen"``, vectors of the texts are computed once and stored, and the
            nets are MLPs on them; ``"full"`` trains all its weights, ``"lora"`` adapters only.
            With these two a text's vector is normalised, ``hidden`` is the task-net's MLP on it,
            and ``input_dropout`` and ``energy_dropout`` have no effect.
        max_length: most sub-words of a text; the rest, at its end, is cut off.
        pooling: a text's vector is the ``"mean"`` of its sub-words, or the first one, ``"cls"``.
        lora_rank: rank of the adapters.
        cache: folder for the vectors of a frozen encoder; None: ``$LOSSNET_CACHE``, else
            ``~/.cache/lossnet/vectors``; False stores nothing.
        ngrams: a column of the TF-IDF features is a run of at most so many words.
        min_count: number of texts that such a run must occur in.
        max_features: number of columns, those that occur most often.
        dropout: None is 0.75 on TF-IDF features, 0.5 on the vectors of a frozen encoder, and 0.1
            on top of one that is trained.
        energy_features: None is ``"shared"`` where the encoder is trained and the method has a
            task-net to share with, else ``"own"``.
        accumulate: pieces in which a batch is processed, to train an encoder in less memory.
        precision: ``"bfloat16"`` runs the nets, and an encoder that is trained, in mixed precision.

    Attributes:
        classes_, label_names_: names of the labels, sorted, or in the order of the columns of the
            matrix trained on.
        truncated_: what was cut off the training texts: number of texts, share of sub-words; None
            for TF-IDF, which cuts nothing.

    >>> texts = ["oil prices rise", "gold falls", "oil and gold"] * 10
    >>> clf = TextClassifier("cross-entropy", hidden=(16,), batch_size=4, random_state=0)
    >>> clf = clf.fit(texts, [["oil"], ["gold"], ["gold", "oil"]] * 10)
    >>> clf.predict_labels(["the price of oil"])
    [['oil']]
    """

    method: str | Method = "seal-nce"
    _: KW_ONLY
    encoder: str | Path | None = None
    encoder_training: Training = "frozen"
    max_length: int = 256
    pooling: Pooling = "mean"
    lora_rank: int = 8
    cache: str | Path | Literal[False] | None = None
    dropout: float | None = None  # type: ignore[assignment]  # MultiLabelClassifier has a number
    energy_features: Literal["own", "copy", "shared"] | None = None
    ngrams: int = 1
    min_count: int = 2
    max_features: int = 5_000

    papers = PAPERS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = tags.input_tags.sparse = tags.input_tags.allow_nan = False
        return tags

    # Settings --------------------------------------------------------------------------------

    @property
    def _trains_encoder(self) -> bool:
        return self.encoder is not None and self.encoder_training != "frozen"

    def _task_defaults(self) -> dict[str, Any]:
        name = str(self.method)
        trained = TRAINED_DEFAULTS.get(name, {}) if self._trains_encoder else {}
        return {**TEXT_DEFAULTS.get(name, {}), **trained}

    def _filled_in(self, method: Method) -> dict[str, Any]:
        trained, energy = self._trains_encoder, self.energy_dropout
        # TF-IDF rows tell training texts apart too well: there, much dropout.
        usual = 0.1 if trained else 0.75 if self.encoder is None else 0.5
        dropout = usual if self.dropout is None else self.dropout
        default = 0.0 if method.descends_on_energy else dropout
        shared = trained and feature_net(method) is not None
        return {
            **self._sizes,
            "dropout": dropout,
            "energy_dropout": default if energy is None else energy,
            "energy_features": self.energy_features or ("shared" if shared else "own"),
            "encoder": None if self.encoder is None else str(self.encoder),
            "cache": str(self.cache) if isinstance(self.cache, Path) else self.cache,
        }

    def _check_own_settings(self, method: Method) -> None:
        super()._check_own_settings(method)
        for name in ("ngrams", "min_count", "max_features", "max_length", "lora_rank"):
            check_int(name, getattr(self, name))
        check_choice("pooling", self.pooling, ("mean", "cls"))
        check_choice("encoder_training", self.encoder_training, ("frozen", "full", "lora"))
        if not isinstance(self.encoder, str | Path | None) or self.encoder == "":
            rule = "must be a folder, a name on the Hugging Face hub or None"
            raise SettingError(f"encoder {rule}, got {self.encoder!r}")
        if not (self.cache is False or isinstance(self.cache, str | Path | None)):
            raise SettingError(f"cache must be a folder, None or False, got {self.cache!r}")
        if self.encoder is None and self.encoder_training != "frozen":
            what = f"encoder_training={self.encoder_training!r} needs an encoder to train"
            raise SettingError(f"{what}; pass encoder=, or leave it out")
        if self.categorical_features is not None:
            raise SettingError("categorical_features is for columns, which texts do not have")
        if self._trains_encoder and self._sizes["members"] > 1:
            rule = "members must be 1 where the encoder is trained"
            raise SettingError(f"{rule}, got {self.members}; use encoder_training='frozen'")
        if self._sizes["trees"]:
            raise SettingError(f"trees must be 0 for texts, got {self.trees}")
        if self._trains_encoder and any(map(self._own_factory, ("task", "energy"))):
            raise SettingError("task_net and energy_net are for encoder_training='frozen'")

    # Data ------------------------------------------------------------------------------------

    def _data(self, inputs: Any, targets: Any = None) -> Any:
        first = not hasattr(self, "labels_")
        if isinstance(inputs, TextData):
            if targets is not None:
                raise DataError(f"{inputs.name} holds its labels; leave out the second argument")
            data, named = inputs, True
        elif targets is None:
            if first:
                raise DataError("fit needs the labels of the texts: fit(texts, labels)")
            return TextData(inputs)
        else:
            data, named = self._paired(inputs, targets)
        if not first:
            return data.in_columns(self.label_names_)
        self._set_labels(LabelLists(data.label_names, named=named))
        return data

    def _paired(self, texts: Any, labels: Any) -> tuple[TextData, bool]:
        """Texts with their labels, and whether these have names of their own."""
        Y, names = read_labels(labels, None, "labels")
        known = getattr(self, "label_names_", None)
        if known is None or names is not None:
            return TextData(texts, Y, names), names is not None  # type: ignore[arg-type]
        if Y.ndim != 2 or Y.shape[1] != len(known):
            expected = f"expected {len(known)} labels, as in training"
            raise DataError(f"the matrix of labels has shape {Y.shape}; {expected}")
        return TextData(texts, Y, known), True

    def _set_labels(self, labels: Labels) -> None:
        super()._set_labels(LabelLists(labels.names, labels.named))
        self.classes_ = np.array(labels.names, dtype=object)

    def _learn(self, data: Any, validation: Any, unlabelled: Any, seed: int) -> None:
        self.truncated_: Truncation | None = None
        self.coder_: Any
        if self.encoder is None:
            own = {"longest": self.ngrams, "least": self.min_count, "most": self.max_features}
            self.coder_ = Tfidf.learn(data.texts, **own)
        else:
            pretrained = Pretrained.load(self.encoder)
            self.coder_ = TextEncoder(pretrained, self.pooling, self.max_length)
            self.truncated_ = self.coder_.truncation(data.texts)
            if self.verbose and self.truncated_.texts:
                print(f"note: {self.truncated_}", file=sys.stderr)
        self.n_features_in_ = self.coder_.width
        self.encoding_ = Encoding(self.n_features_in_)
        if self._trains_encoder:
            rows = MultiLabelData(np.zeros((1, self.n_features_in_)))
        else:
            rows = self._rows(data.texts)
            self._learnt = data.texts, rows
        super()._learn(rows, validation, unlabelled, seed)
        if self.encoder is None and self.standardise == "auto":
            self.standardiser_ = None  # TF-IDF rows have one length, whatever their columns

    def truncation(self, X: Any) -> Truncation | None:
        """What the encoder cuts off these texts; None for TF-IDF, which cuts nothing."""
        data = self._unseen(X)
        return self.coder_.truncation(data.texts) if self.encoder is not None else None

    def _rows(self, texts: list[str]) -> MultiLabelData:
        """The texts as rows of features."""
        if isinstance(self.coder_, Tfidf):
            return MultiLabelData(self.coder_.rows(texts))
        options = {"cache": self.cache, "device": self.device, "progress": bool(self.verbose)}
        return MultiLabelData(self.coder_.rows(texts, **options))

    def _batches(self, data: Any, Y: np.ndarray | None, extra: np.ndarray | None = None) -> Any:
        if self._trains_encoder:
            tokeniser = self.coder_.tokeniser
            return TextSource(tokeniser.texts(data.texts), tokeniser, Y, device=self.device)
        # What training learnt from is what it starts with.
        texts, rows = self.__dict__.pop("_learnt", (None, None))
        return super()._batches(rows if texts is data.texts else self._rows(data.texts), Y)

    def _add_callbacks(
        self, trainer: Any, checkpoint: Any, resuming: bool, given: tuple[Any, ...]
    ) -> None:
        # The encoder at that place may be another one when training is resumed.
        own = None if self.encoder is None else self.coder_
        super()._add_callbacks(trainer, checkpoint, resuming, (*given, own))

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        if not self._trains_encoder:
            return super()._make_net(name, features)
        labels, filled_in = self.n_labels_, self._filled_in(self.method_)
        if features is None:
            features = self.coder_.net(self.encoder_training, int(self.lora_rank))
        if name != "energy":
            return TextNet(features, labels, self.hidden, filled_in["dropout"])
        sizes = self.n_features_in_, labels
        return LabelEnergy(*sizes, global_hidden=self.global_hidden, features=features)

    # Predicting ------------------------------------------------------------------------------

    def predict_labels(self, X: Any) -> list[list[str]]:
        """The labels of each text, a list of names."""
        return [[self.label_names_[k] for k in np.flatnonzero(on)] for on in self.predict(X)]

    def energy(self, X: Any, Y: Any = None) -> Any:
        """Energy of label sets for their texts, ``(n,)``; lower is better.

        ``Y`` are label lists, or a matrix, also with values between 0 and 1.
        """
        return super().energy(self._unseen(X), Y)

    # Storage ---------------------------------------------------------------------------------

    def _exported(self) -> Exported:
        check_tfidf(self)
        return with_texts(super()._exported(), self)

    def _pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._pack()
        if isinstance(self.coder_, Tfidf):
            more, own = self.coder_.tensors(), self.coder_.facts()
        else:
            # A trained encoder is stored with the nets.
            more, own = self.coder_.pack(weights=self.encoder_training != "full")
            own["truncated"] = list(self.truncated_ or ())
        return tensors | more, facts | {"vocabulary": own}

    def _unpack(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        super()._unpack(tensors, facts)
        own, kind = facts["vocabulary"], Tfidf if self.encoder is None else TextEncoder
        self.coder_ = kind.restore(tensors, own)
        self.truncated_ = None
        if kind is TextEncoder:
            self.truncated_ = Truncation(*own["truncated"])
            if not self._trains_encoder:
                self.coder_.net("frozen", 1)  # fails now where weights and config do not match
