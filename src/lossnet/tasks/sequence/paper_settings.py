"""What paper 003 sets for tags: ``preset="paper"`` of ``SequenceTagger``.

Rows are its experiments: ``pos`` (Twitter) and ``ner``, ``ner+``, ``ner++``; plain ``"paper"`` is
``pos``. Word vectors, 100 wide there, and columns (parts of speech, chunks) are yours to give. Its
parameter counts (Table 2) are those of a BiLSTM on fixed vectors, without case and characters.

The paper trains the nets on Twitter by SGD with momentum and prints neither rate nor momentum: here
all nets learn by AdamW at the default rates. Its number of net steps is tuned, 5 being the one it
shows to balance. Words without a pretrained vector have a vector that is trained. Paper 002 takes
the same nets for NER and prints no rates.
"""

from __future__ import annotations

from typing import Any

from lossnet.tasks.presets import Papers, Row

_WORDS: dict[str, Any] = {"word_width": 100, "fixed_vectors": True, "case": False, "chars": False}
_TWITTER: dict[str, Any] = {**_WORDS, "chain": False, "hidden": 100, "decode": "argmax"}
_NER: dict[str, Any] = {**_TWITTER, "hidden": 128, "dropout": 0.3, "metric": "span-f1"}
_PLUS: dict[str, Any] = {**_NER, "case": True, "fixed_vectors": False}
_NETS: dict[str, dict[str, Any]] = {
    "pos": _TWITTER,
    "ner": _NER,
    "ner+": _PLUS,
    "ner++": {**_PLUS, "chars": True},
}
#: Adam at one rate for NER (section 6), nothing said for Twitter.
_RATE: dict[str, Any] = {"lr": 5e-4, "weight_decay": 0.0, "plateau": None}

#: Eq. 6, with the cross-entropy of both nets (section 7, footnote 2) at weight 1, and k = 5.
_INFNET: dict[str, Any] = {"energy_weight": 1.0, "xent_weight": 1.0, "margin": 1.0, "cost": "l1"}
_METHODS: dict[str, dict[str, Any]] = {
    "cross-entropy": {},
    "infnet": {**_INFNET, "truncate": True},  # as Tu and Gimpel (2018), the row of Table 2
    "infnet-plus": {
        **{**_INFNET, "sharing": "stacked", "perceptron_weight": 1.0, "truncate": False},
        **{"augmented_xent_weight": 1.0, "net_steps": 5},
    },
}
_ENERGIES = ("infnet", "infnet-plus")

WHY = {
    "chain": "a chain costs little and serves entities; the paper's nets have independent tags",
    "hidden": "the paper's width for NER",
    "dropout": "one value for every data set",
    "energy_dropout": "that of the task-net",
    "word_width": "of learned vectors; the paper's are pretrained",
    "fixed_vectors": "vectors fit the task; the paper trains them for NER+",
    "case": "the paper has it for NER+",
    "chars": "the paper has them for NER++",
    "metric": "the paper's metric for NER",
    "decode": "the default leaves argmax where validation data show a gain",
    "energy_weight": "chosen on validation data",
    "augmented_xent_weight": "with it, the augmented net stays where it hardly teaches the chain",
    "net_steps": "a fifth of the time",
    "truncate": "without it training is stable (section 4.1)",
    "lr": "chosen on validation data",
    "weight_decay": "AdamW's usual decay",
    "plateau": "the rate is halved where validation stops improving",
    "path": "followed through energies, the energy gains by bad outputs of the task-net",
    "entropy_weight": "not in the paper; keeps probabilities useful",
}


def _row(method: str, experiment: str) -> Row:
    optimisers = ("task_optimiser", *(("energy_optimiser",) if method in _ENERGIES else ()))
    rates = {} if experiment == "pos" else dict.fromkeys(optimisers, _RATE)
    return Row(_NETS[experiment], {**_METHODS[method], **rates})


def _rows() -> dict[str, dict[str, Row]]:
    rows = {method: {name: _row(method, name) for name in _NETS} for method in _METHODS}
    ner = [name for name in _NETS if name.startswith("ner")]
    for method, own in (("implicit-ssvm", {}), ("implicit-nce", {"entropy_weight": 0.0})):
        rows[method] = {name: Row(_NETS[name], {"path": "all", **own}) for name in ner}
    return rows


PAPERS = Papers(_rows(), WHY)
#: What former versions had by default.
FORMER = {"0.1": Row({"method": "infnet-plus", "chain": False})}
