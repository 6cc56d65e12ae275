"""Tag language models of an energy, and their training in phases before a method's own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

from torch import Tensor, nn

from lossnet.energies import TagLanguageModel, TotalEnergy
from lossnet.method import Method, Phase, Update
from lossnet.objectives import Likelihood

#: Tag language models added to the chain, by name: paper 003's GE(a), GE(b) and GE(c).
GLOBAL_ENERGIES = {"forward": 1, "both": 2, "both+words": 4}


def tag_language_models(
    which: str, table: Tensor, tags: int, hidden: int
) -> list[TagLanguageModel]:
    """The models of one of ``GLOBAL_ENERGIES``; ``table`` holds the vectors of words to read."""
    kinds = [(words, backward) for words in (None, table) for backward in (False, True)]
    return [
        TagLanguageModel(tags, hidden=hidden, words=words, backward=backward)
        for words, backward in kinds[: GLOBAL_ENERGIES[which]]
    ]


def with_pretraining(
    method: Method, nets: Mapping[str, nn.Module]
) -> tuple[Method, dict[str, nn.Module]]:
    """The method with a phase before it for every tag language model of its energy, and its nets.

    Each model is trained by likelihood on the training tags, stopped by that of the validation
    tags; its weights then go to the energy's own model, which is fixed (Tu & Gimpel 2018; paper
    003, section 5). Being phases of one method, they are resumed like the others.

    Args:
        method: what is run then.
        nets: its nets, with an energy that has such parts; those are frozen.
    """
    energy = nets["energy"]
    assert isinstance(energy, TotalEnergy)
    phases, copies, more = [], {}, dict(nets)
    for part in energy.parts:
        if isinstance(part, TagLanguageModel):
            name = f"tags{'+words' if part.words is not None else ''}-"
            name += "backward" if part.backward else "forward"
            more[name], more[f"fixed-{name}"] = deepcopy(part), part.requires_grad_(False)
            copies[f"fixed-{name}"] = name
            update = Update(name, Likelihood(name))
            predict = method.phases[0].predict
            phases.append(Phase((update,), predict=predict, monitor="loss", name=name))
    first, *rest = method.phases
    first = replace(first, copies={**first.copies, **copies})
    return replace(method, phases=(*phases, first, *rest)), more
