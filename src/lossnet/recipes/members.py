"""Several task-nets, one loss-net: each net leaves out a fold, which the loss-net learns from.

Fold m is left out by member m: L_F = Σ_m over the rows of other folds of L_F(member m). On a row of
fold m, the candidates of the loss-net come from member m, which has never seen the row, so that it
learns from outputs as they are on new rows (cross-fitting). The mean of all members predicts, and
trees can join it.
"""

from __future__ import annotations

from dataclasses import replace

from lossnet.errors import SettingError
from lossnet.gradients import Direct
from lossnet.method import Method, Update
from lossnet.nets import Derivation, HeldOut
from lossnet.objectives import Compound, Fold, Judge, Part
from lossnet.proposals import NetOutput

#: The net that holds all members.
MEMBERS = "members"


def with_members(method: Method, members: int, *, trees: bool = False) -> Method:
    """The method with that many task-nets; the method itself with one and without ``trees``."""
    if members == 1 and not trees:
        return method
    trains = [update for update in method.updates if "task" in update.trained]
    copied = any({"task"} & {*one.copies, *one.copies.values()} for one in method.phases)
    bases = {plan.base for plan in method.derived.values()}
    plain = all(_is_plain(update) for update in method.updates)
    if not trains or not plain or copied or "task" in bases:
        rule, got, others = "members must be 1", f", got {members}", "a seal method or alen"
        if members == 1:
            rule, got, others = "trees must be 0", "", "or a seal method"
        raise SettingError(
            f"{rule} with the method {method.name!r}{got}: several nets, and trees, take "
            f"a task-net that is trained by itself; use cross-entropy, {others}"
        )
    if trees and not method.task_net_predicts:
        what = f"trees must be 0 with the method {method.name!r}, which gives no probabilities"
        raise SettingError(f"{what}; use cross-entropy or a seal method")
    phases = []
    for phase in method.phases:
        updates = tuple(_each(update, members) for update in phase.updates)
        phases.append(replace(phase, updates=updates))
    derived = {**method.derived, "task": Derivation(HeldOut, base=MEMBERS)}
    return replace(method, phases=tuple(phases), derived=derived)


def _is_plain(update: Update) -> bool:
    """Whether it leaves the task-net alone, or trains it alone by what it predicts."""
    if not isinstance(update.gradient, Direct):
        return False
    judge = update.objective
    own = update.trains == "task" and isinstance(judge, Judge) and judge.prediction == NetOutput()
    return own or "task" not in update.trained


def _each(update: Update, members: int) -> Update:
    """The update of all members, each on the rows of other folds."""
    judge = update.objective
    if update.trains != "task" or not isinstance(judge, Judge):
        return update
    parts = []
    for m in range(members):
        own = replace(judge, prediction=NetOutput(MEMBERS, member=m))
        left_out = Fold(m, members) if members > 1 else None
        parts.append(Part(f"member {m}", 1.0, own, fold=left_out))
    return replace(update, trains=MEMBERS, objective=Compound(tuple(parts)))
