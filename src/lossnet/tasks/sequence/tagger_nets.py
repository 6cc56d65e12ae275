"""The nets of a tagger, and the defaults of its methods."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch import nn

from lossnet.energies import ChainEnergy, Energy, TagLanguageModel, TotalEnergy
from lossnet.nets import Tagger, TokenFeatures
from lossnet.recipes import defaults

if TYPE_CHECKING:
    from lossnet.tasks.sequence.tagger import SequenceTagger

_CHAIN: dict[str, Any] = {"energy_weight": 0.3, "energy_optimiser": {"lr": 1e-3}}
#: Overrides of the recipes' defaults for tags, by method. The cost-augmented net learns the truth
#: from its cost alone: with cross-entropy besides it stays where it hardly teaches the chain.
TAGGING_DEFAULTS: dict[str, dict[str, Any]] = {
    "infnet-plus": {**_CHAIN, "augmented_xent_weight": 0.0},
    "infnet": _CHAIN,
}


def tagging_defaults(method: str) -> dict[str, Any]:
    """What tags override of the named recipe's defaults."""
    cost = {"cost": "token-error"} if defaults(method).get("cost") == "f1" else {}
    return {**cost, **TAGGING_DEFAULTS.get(method, {})}


def make_net(tagger: SequenceTagger, name: str) -> nn.Module:
    """The energy, or a tagger, of the fitted sizes."""
    if name == "energy":
        return _energy(tagger)
    return Tagger(_features(tagger, tagger.dropout), len(tagger.tags_))


def _features(tagger: SequenceTagger, dropout: float) -> TokenFeatures:
    coder = tagger.coder_
    return TokenFeatures(
        tagger.table_,
        hidden=tagger.hidden,
        trained=coder.learned if tagger.fixed_vectors else coder.trained,
        characters=coder.characters,
        columns=coder.column_sizes,
        dropout=dropout,
    )


def _energy(tagger: SequenceTagger) -> Energy:
    dropout = tagger._filled_in(tagger.method_)["energy_dropout"]
    chain = ChainEnergy(_features(tagger, dropout), len(tagger.tags_))
    if tagger.global_energy is None:
        return chain
    model = partial(TagLanguageModel, len(tagger.tags_), hidden=tagger.hidden)
    models = [model()]
    if tagger.global_energy != "forward":
        models.append(model(backward=True))
    if tagger.global_energy == "both+words":
        models += [model(words=tagger.table_), model(words=tagger.table_, backward=True)]
    shares = [1.0, 1.0, tagger.words_weight, tagger.words_weight][: len(models)]
    return TotalEnergy([chain, *models], [1.0, *(tagger.global_weight * s for s in shares)])
