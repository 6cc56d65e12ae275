"""Probabilities as logits, for models that learn from another model's outputs."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

#: How far the nets' own outputs are kept from 0 and 1.
FLOOR = 1e-4


def logits_of(proba: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Logits, of probabilities kept ``floor`` away from 0 and 1."""
    found: np.ndarray = logit(np.clip(proba, floor, 1.0 - floor)).astype(np.float32)
    return found
