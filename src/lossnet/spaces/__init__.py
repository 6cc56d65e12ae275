"""What an output is: binary labels or classes, and sparse candidates of them."""

from lossnet.spaces.sequences import Sequences
from lossnet.spaces.space import (
    Binary,
    Categorical,
    Space,
    as_target,
    log_count,
    mean_positions,
    sum_positions,
)

__all__ = [
    "Binary",
    "Categorical",
    "Sequences",
    "Space",
    "as_target",
    "log_count",
    "mean_positions",
    "sum_positions",
]
