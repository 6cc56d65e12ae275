"""Constraints on outputs: rules that predictions keep to, and how often an output breaks them.

A constraint is a function ``(y, mask) -> (K, B)`` of candidates ``(K, B, *S)``: 0 where a discrete
output keeps to the rule, above 0 where it breaks it, and on a relaxed output the mean over outputs
with these probabilities, positions independent. That makes it differentiable, so a net can be
trained on it (:class:`~lossnet.terms.ConstraintTerm`). A space carries it:
``Categorical(constraint=UniqueSpans(...))``.

To write another, find a multi-linear expression: on independent positions the expectation of a
product over different positions is the product of their probabilities, so summed products are
right on relaxed outputs as they are on discrete ones.

Rules about labels (:class:`Implies`, :class:`AtMostOne`, :class:`AtLeastOne`,
:class:`Satisfies`) are declared by the labels' names. :func:`bind` finds these names among a
model's labels; the result also says which label sets are valid, and which of them is the best.
"""

from lossnet.constraints.bound import Bound, bind
from lossnet.constraints.constraint import Constraint
from lossnet.constraints.rules import (
    AtLeastOne,
    AtMostOne,
    Implies,
    LabelRule,
    Satisfies,
    declared,
    plain,
)
from lossnet.constraints.spans import UniqueSpans

__all__ = [
    "AtLeastOne",
    "AtMostOne",
    "Bound",
    "Constraint",
    "Implies",
    "LabelRule",
    "Satisfies",
    "UniqueSpans",
    "bind",
    "declared",
    "plain",
]
