"""Which tag may follow which: the rules of a scheme as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lossnet.tasks.sequence.tags import parse_tags

#: Which prefixes may follow a prefix in one span, by scheme; between spans, see :func:`tag_rules`.
_WITHIN = {"IOB2": {"B": "I", "I": "I"}, "BIOES": {"B": "IE", "I": "IE"}}
#: Prefixes that a span may begin and end with.
_FIRST = {"IOB2": "B", "BIOES": "BS"}
_LAST = {"IOB2": "BI", "BIOES": "ES"}


@dataclass(frozen=True)
class TagRules:
    """What a scheme allows of C tags.

    Attributes:
        follows: whether tag j may follow tag i, ``(C, C)``.
        begins: whether a sentence may begin with a tag, ``(C,)``.
        ends: whether it may end with it, ``(C,)``.
    """

    follows: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


def tag_rules(tags: Sequence[str], scheme: str | None) -> TagRules | None:
    """The rules of IOB2 or BIOES on these tags; None for any other scheme, which has none.

    >>> tag_rules(["B-PER", "I-PER", "O"], "IOB2").follows.astype(int)
    array([[1, 1, 1],
           [1, 1, 1],
           [1, 0, 1]])
    """
    if scheme is None or scheme not in _WITHIN:
        return None
    parsed = parse_tags(tags, scheme)
    begins = np.array([prefix in "O" + _FIRST[scheme] for prefix, _ in parsed])
    ends = np.array([prefix in "O" + _LAST[scheme] for prefix, _ in parsed])
    within = np.array(
        [
            [kind == other and after in _WITHIN[scheme].get(prefix, "") for after, other in parsed]
            for prefix, kind in parsed
        ]
    )
    return TagRules(within | (ends[:, None] & begins[None, :]), begins, ends)
