"""What parts of a method need of the task they are trained on; a task declares what it provides.

Terms, costs, proposals and objectives have ``needs``, a set of these words; a method needs what its
parts need. A part of your own may need something else, which a task of your own then provides.
"""

from __future__ import annotations

from typing import Any, Protocol

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
#: A rule that outputs should keep to.
CONSTRAINT = frozenset({"a constraint"})


class Declares(Protocol):
    """What every part declares; nothing by default."""

    @property
    def nets(self) -> frozenset[str]:
        """The nets it runs; of a term, those besides the net that predicts."""
        return NOTHING

    @property
    def needs(self) -> frozenset[str]:
        """What it needs of the task, such as ``"target"``."""
        return NOTHING


class RunsEnergy(Declares):
    """A part that runs one energy."""

    energy: str

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.energy})


def needs_of(cost: Any) -> frozenset[str]:
    """What a cost needs: the truth, unless it declares other needs."""
    return getattr(cost, "needs", TARGET)
