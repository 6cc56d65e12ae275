"""Whether a method and a task fit together, and whether a fit is given what its method needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lossnet.checks import check_choice
from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.needs import REWARD, TARGET, UNLABELLED
from lossnet.proposals import GBI, NetOutput, Proposal, Random, Samples
from lossnet.recipes import methods_needing

#: Where ``refine`` starts from, by name.
REFINEMENTS: dict[str, GBI] = {
    "net": GBI(20, 0.05, start=NetOutput()),
    "samples": GBI(20, 0.05, start=Samples(10)),
    "random": GBI(20, 0.1, start=Random(3)),
}

#: Which feature network the loss-net has.
ENERGY_FEATURES = ("own", "copy", "shared")


def check_params(params: Any) -> None:
    """Raise unless these can be a method's parameters."""
    if params is not None and not isinstance(params, Mapping):
        rule = "method_params must be a dict of the method's parameters or None"
        raise SettingError(f"{rule}, got {params!r}")


def check_method(method: Any, params: Any) -> None:
    """Raise unless this is a method's name with its parameters, or a :class:`Method`."""
    check_params(params)
    if not isinstance(method, str | Method):
        raise SettingError(f"method must be a method's name or a lossnet.Method, got {method!r}")
    if params and isinstance(method, Method):
        raise SettingError("method_params go with a method's name, not with a Method")


def check_needs(method: Method, provides: frozenset[str], estimator: type) -> None:
    """Raise where the method needs what an estimator does not provide."""
    if not (missing := method.needs - provides):
        return
    from lossnet.tasks.registry import tasks

    kinds = [task.estimator for task in tasks()]
    others = [kind.__name__ for kind in kinds if method.needs <= kind.provides]
    what = f"the method {method.name!r} needs {' and '.join(sorted(missing))}, which "
    what += f"{estimator.__name__} does not provide; use another method, or a task that does"
    raise SettingError(f"{what}: {', '.join(others) or 'none is known'}")


def check_given_nets(method: Method, own: Callable[[str], Any]) -> None:
    """Raise where a net that the method takes as given has no function of the user's (``own``)."""
    if missing := [name for name in sorted(method.given) if own(name) is None]:
        what = f"the method {method.name!r} never trains the net {missing[0]!r}, which is given"
        raise SettingError(f"{what}; pass a function that makes it (task_net), or another method")


def check_completes(method: Method, unknown: int, noun: str) -> None:
    """Raise where entries of the truth are not known and no task-net can stand in for them."""
    if unknown and "task" not in method.nets:
        what = f"{unknown:,} {noun} are not known, and {method.name!r} has no task-net to fill them"
        raise SettingError(f"{what} in; use a method with one, such as seal-nce or cross-entropy")


def feature_net(method: Method) -> str | None:
    """The net whose features the loss-net can share: trained before it or with it."""
    ready: set[str] = set()
    for phase in method.phases:
        ready |= {*phase.trained, *phase.copies} - {"energy", *method.derived}
        if "energy" in phase.trained:
            return "task" if "task" in ready else min(ready, default=None)
    return None


def check_features(choice: Any, method: Method, own_energy: bool) -> None:
    """Raise unless the loss-net can have these ``energy_features``."""
    check_choice("energy_features", choice, ENERGY_FEATURES)
    if choice == "own" or "energy" not in method.nets:
        return
    what = f"energy_features={choice!r}"
    if feature_net(method) is None:
        rule = f"needs a task-net that is trained before the loss-net or with it; {method.name!r}"
        raise SettingError(f"{what} {rule} has none; use 'own'")
    if own_energy and choice == "shared":
        rule = "is for the loss-nets that the estimator builds, and energy_net is a function"
        raise SettingError(f"{what} {rule}; use 'own', and give its energy reads='task'")


def check_given(method: Method, *, unlabelled: bool, reward: bool) -> None:
    """Raise where unlabelled rows or a reward are missing, or of no use to the method."""
    judged, wanted = method.needs >= REWARD, method.needs >= UNLABELLED
    what = ""
    if judged and not reward:
        what = "judges outputs on unlabelled rows by a reward; pass one: "
        what += "fit(..., unlabelled=..., reward=function)"
    elif reward and not judged:
        what = "has no use for a reward; leave it out, or use a method that needs one: "
        what += ", ".join(methods_needing("reward"))
    elif wanted and not unlabelled:
        what = "trains on unlabelled rows; pass them: "
        what += "fit(..., unlabelled=...), or --unlabelled DATA on the command line"
    elif unlabelled and not wanted:
        what = "has no use for unlabelled rows; leave them out, or use a method whose task-net "
        what += "follows a loss-net (seal-nce, alen, infnet-plus) and an unlabelled_weight above 0"
    if what:
        raise SettingError(f"the method {method.name!r} as configured {what}")


def refinement(refine: Any, method: Method, nets: Any) -> Proposal | None:
    """The proposal that ``refine`` stands for; None predicts as the method does."""
    if refine is None:
        return None
    proposal: Proposal = refine
    if isinstance(refine, str):
        check_choice("refine", refine, REFINEMENTS)
        proposal = replace(REFINEMENTS[refine], on=method.meaning.descent)
    elif not isinstance(getattr(refine, "nets", None), frozenset):
        names = ", ".join(map(repr, REFINEMENTS))
        raise SettingError(f"refine must be {names}, a GBI or None, got {refine!r}")
    if proposal.needs >= TARGET:
        raise SettingError("refine needs the truth, which predictions lack: drop its cost")
    if missing := proposal.nets - set(nets):
        why = f"{method.name!r} does not train or which was not kept"
        remedy = "use a method with a loss-net, or refine=None"
        raise SettingError(f"refine needs the net {min(missing)!r}, which {why}; {remedy}")
    return proposal
