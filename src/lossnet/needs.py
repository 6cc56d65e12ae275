"""What parts of a method need of the task they are trained on; a task declares what it provides.

Terms, costs, proposals and objectives have ``needs``, a set of these words; a method needs what its
parts need. A part of your own may need something else, which a task of your own then provides.
"""

from __future__ import annotations

from typing import Any

NOTHING: frozenset[str] = frozenset()
#: The truth, on the rows that are trained on.
TARGET = frozenset({"target"})
#: A function that judges outputs where there is no truth.
REWARD = frozenset({"reward"})
#: Rows without a truth.
UNLABELLED = frozenset({"unlabelled rows"})
#: An energy that is a mean of energies of single positions.
LOCAL = frozenset({"local energies"})
#: An energy whose sum over all outputs and whose minimum can be found exactly, such as a chain's.
EXACT = frozenset({"exact inference"})


def needs_of(cost: Any) -> frozenset[str]:
    """What a cost needs: the truth, unless it declares other needs."""
    needs: frozenset[str] = getattr(cost, "needs", TARGET)
    return needs
