"""What is exported of a tagger: sentences to scores as a net; tables and chains in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnet.errors import SettingError
from lossnet.exporting import Exported, Input, runtime_files
from lossnet.exporting.predicting import Predicting
from lossnet.needs import EXACT
from lossnet.nets import Tokens
from lossnet.tasks.sequence.decisions import THRESHOLDS
from lossnet.tasks.sequence.tokens import CASES, LONGEST

#: What the names of inputs that are columns start with.
COLUMN = "column_"
_READS = "sentences: .txt with one a line, CoNLL (word, further columns), or .jsonl with tokens"


class SentencesToScores(nn.Module):
    """Numbers of words, characters and columns to the score of every tag ``(B, T, C)``.

    Args:
        net: the tagger; or, ``exact``, the energy of a chain, whose scores are negative energies.
        exact: see above.
    """

    def __init__(self, net: Predicting, *, exact: bool) -> None:
        super().__init__()
        self.net, self.exact = net, exact

    def forward(
        self, words: Tensor, mask: Tensor, chars: Tensor | None = None, **columns: Tensor
    ) -> Tensor:
        """Scores ``(B, T, C)``."""
        named = {name.removeprefix(COLUMN): numbers for name, numbers in columns.items()}
        tokens = Tokens(words, mask, chars, named)
        return -self.net.unary(tokens, mask) if self.exact else self.net(tokens, mask)


def exported(model: Any) -> Exported:
    """A fitted tagger."""
    if model.encoder_ is not None:
        what = "the tokeniser of a pretrained encoder cannot be written in numpy"
        remedy = "train with encoder=None (word vectors) to export it, or serve lossnet"
        raise SettingError(f"cannot export {type(model).__name__}: {what}; {remedy}")
    by, coder, rules = model._proposal(), model.coder_, model._rules()
    exact = by.needs == EXACT
    name = by.energy if exact else by.net
    pairwise = getattr(model.nets_[name], "pairwise", None)
    arrays = {} if rules is None else dict(rules._asdict())
    if pairwise is not None:
        scores = pairwise.detach().double().cpu().numpy()
        arrays["pairwise"] = -scores if exact else scores
    net = Predicting(model.nets_, name, model._output()[1])
    facts = {
        "tags": list(model.tags_),
        "exact": exact,
        "decision": model._decision().to_json(),
        "least": min(THRESHOLDS),
        "span_scheme": model._span_scheme(),
        "given_span": model.given_span,
        "temperature": model.temperature_,
        "vocabulary": {
            "words": list(coder.words),
            "chars": list(coder.chars),
            "columns": {name: list(table) for name, table in coder.columns.items()},
            "cases": list(CASES) if coder.case else [],
            "lowercase": coder.lowercase,
            "longest": LONGEST,
        },
    }
    return Exported(
        SentencesToScores(net, exact=exact),
        _inputs(coder),
        ("scores",),
        "tags:TagModel",
        runtime_files("tags", "words", "chains"),
        facts,
        {key: np.asarray(value) for key, value in arrays.items()},
        _READS,
    )


def _inputs(coder: Any) -> dict[str, Input]:
    """Batches of three sentences of up to four words of up to five characters."""
    numbers, mask = torch.ones(3, 4, dtype=torch.int64), torch.ones(3, 4, dtype=torch.bool)
    found = {"words": Input(numbers, (0, 1)), "mask": Input(mask, (0, 1))}
    if coder.characters:
        found["chars"] = Input(torch.ones(3, 4, 5, dtype=torch.int64), (0, 1, 2))
    return found | {
        f"{COLUMN}{name}": Input(numbers.clone(), (0, 1)) for name in coder.column_sizes
    }
