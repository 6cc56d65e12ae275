"""What paper 000 sets for roles: ``preset="paper"`` of ``SemanticRoleLabeler``.

The one row is ``conll12``: the energy is self-attention over the tags, outputs are decoded by
Viterbi's algorithm. The paper fine-tunes BERT and prints no rates: the encoder is yours to give.
Its cross-entropy and structured-tuning rows have a CRF layer on top, which is not here.
"""

from __future__ import annotations

from lossnet.tasks.presets import Papers, Row

_ROWS = {
    "cross-entropy": Row({"decode": "argmax"}),
    "structured-tuning": Row({"decode": "argmax"}),
    "seal-nce": Row({"decode": "argmax", "energy_tags": "attention"}, {"entropy_weight": 0.0}),
}
WHY = {
    "decode": "the default leaves argmax where validation data show a gain",
    "energy_tags": "pairs of roles have fewer weights",
    "entropy_weight": "not in the paper; keeps probabilities useful",
}

PAPERS = Papers({method: {"conll12": row} for method, row in _ROWS.items()}, WHY)
