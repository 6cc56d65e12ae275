"""A tagger whose inputs are another tagger's logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lossnet.context import Context
from lossnet.energies import ChainEnergy, Energy
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.nets import Tokens
from lossnet.plain_text import some
from lossnet.tasks.decision import Decision
from lossnet.tasks.sequence.batches import SentenceSource, numbered_tags
from lossnet.tasks.sequence.inputs import scheme_of
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tagger import SequenceTagger
from lossnet.tasks.sequence.tokens import padded
from lossnet.tasks.structure import check_joint

#: What stands for tokens of which only the logits are known.
TOKEN = "token"


@dataclass(frozen=True, eq=False, repr=False)
class LogitData(SequenceData):
    """Sentences of which another tagger's logits are known, ``(T, C)`` each."""

    logits: Sequence[np.ndarray] = field(default=(), repr=False)

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> Self:
        """The given sentences, in the order given."""
        index: list[int] = np.arange(len(self))[list(rows)].tolist()
        return replace(super().subset(rows), logits=[self.logits[k] for k in index])


class GivenLogits(nn.Module):
    """The logits that come with the tokens: as a task-net, or as an energy's features.

    Args:
        tags: number of tags C.
    """

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.out_features = tags

    def forward(self, x: Tokens) -> Tensor:
        """``(B, T, C)``."""
        assert x.vectors is not None
        return x.vectors


class LogitTagger(SequenceTagger):
    """Tags from logits as they are, and a chain energy on them: for a method as ``residual``.

    Its data is :class:`LogitData`. Parameters of words have no use here.
    """

    # Data ------------------------------------------------------------------------------------

    def check_tags(self, data: SequenceData, validation: SequenceData) -> None:
        """Raise where tags do not fit the metric, or those of validation data the others."""
        self._learn_classes(data, None)
        self._learn(data, validation, None, 0)

    def _learn(self, data: Any, validation: Any, unlabelled: Any, seed: int) -> None:
        self.scheme_, self.encoder_ = scheme_of(data), None
        if validation is not None:
            self._check_tags(validation)

    def _unseen(self, sentences: Any, columns: Any = None) -> Any:
        check_is_fitted(self, "nets_")
        return sentences

    def _source(self, data: Any, *, training: bool = False, reward: Any = None) -> SentenceSource:
        targets, collate = numbered_tags(data.tags, self.tags_), partial(batched, self.device)
        return SentenceSource(data.logits, collate, targets, tags=len(self.tags_))

    # Nets ------------------------------------------------------------------------------------

    def _own_factory(self, net: str) -> Callable[..., nn.Module] | None:
        return self._make_net if net == "task" else None

    def _make_net(self, name: str, features: Any = None) -> nn.Module:
        return self._energy(None) if name == "energy" else GivenLogits(len(self.tags_))

    def _energy(self, features: nn.Module | None) -> Energy:
        """A chain that starts at 0 for all tags: at what the logits say alone."""
        energy = ChainEnergy(GivenLogits(len(self.tags_)), len(self.tags_))
        for weight in energy.unary.parameters():
            nn.init.zeros_(weight)
        return energy

    # Outputs ---------------------------------------------------------------------------------

    def _rules_for(self, method: Method, *, named: bool) -> list[str]:
        found = super()._rules_for(method, named=named)
        # For spans of plain tags: exact, where comparing samples with each other would take long.
        missing = method.meaning.joint is not None and not {"samples", "mode"} & {*found}
        return [*found, "mode"] if missing else found

    def energies(self, data: LogitData) -> np.ndarray:
        """The energy of every sentence's tags, ``(n,)``."""
        if strange := set(data.tag_names) - set(self.tags_):
            what = f"tags absent from training have no energy: {some(sorted(strange))}"
            raise DataError(f"{what}; leave such sentences out")
        if data.n_unknown or not data.labelled:
            what = f"{data.n_unknown:,} tags" if data.labelled else "the tags"
            raise DataError(f"{what} are not known; give y, complete, to have its energy")

        def judge(context: Context) -> Tensor:
            return context.energy(context.target.unsqueeze(0))[0]

        return np.array([float(e) for e in self._by_batch(judge, data)])

    def marginals(self, data: LogitData) -> list[np.ndarray]:
        """The probability of every tag under the joint, ``(T, C)`` for every sentence."""
        check_joint(self.method_, self.nets_)
        return self._each(self._joint(Decision("samples", weight=1.0)).marginals, data)

    def save(self, path: Any, *, keep_energy: bool = True) -> NoReturn:
        """Refused: without the model that gives its logits it is of no use."""
        what = "the inner model of a StructuredTagger cannot be stored without its bases"
        raise SettingError(f"{what}; use joblib.dump on the StructuredTagger")


def batched(device: Any, logits: Sequence[np.ndarray]) -> Tokens:
    """Sentences' logits padded on the right to the longest of them."""
    mask = padded([np.ones(len(one), dtype=bool) for one in logits], device)
    vectors = padded(logits, device).to(torch.get_default_dtype())
    return Tokens(torch.zeros_like(mask, dtype=torch.long), mask, vectors=vectors)
