"""What papers 000, 001 and 002 set for texts: ``preset="paper"`` of ``TextClassifier``.

The one row is ``aapd``. The papers fine-tune BERT, or adapters of it, and print no rates: the
encoder is yours to give. SEAL takes one step of each net per batch (paper 001, appendix E).
"""

from __future__ import annotations

from typing import Any

from lossnet.tasks.presets import Papers, Row

_CUT: dict[str, Any] = {"threshold": 0.5, "decode": "threshold"}
_ROWS = {
    "cross-entropy": Row(_CUT),
    "seal-nce": Row(_CUT, {"energy_steps": 1, "task_steps": 1, "entropy_weight": 0.0}),
    "implicit-nce": Row(_CUT, {"path": "all", "entropy_weight": 0.0}),
}
WHY = {
    "threshold": "a tuned cut predicts better; the papers cut at 0.5",
    "decode": "the default leaves the threshold where validation data show a gain",
    "path": "followed through energies, the energy gains by bad outputs of the task-net",
    "entropy_weight": "not in the paper; keeps probabilities useful",
}

PAPERS = Papers({method: {"aapd": row} for method, row in _ROWS.items()}, WHY)
