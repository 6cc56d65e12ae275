"""Settings of every method searched before they are compared, with the same number of trials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from lossnet.cli.folder import writable
from lossnet.cli.measure import checksum_of
from lossnet.comparison.engine import Plan, claim
from lossnet.reports.store import slug
from lossnet.searching.rows import data_of
from lossnet.searching.search import prepare, require_best
from lossnet.searching.space import with_values


def with_searched_models(
    plan: Plan,
    trials: int,
    out: str | Path,
    *,
    fixed: Mapping[str, Collection[str]] | None = None,
) -> Plan:
    """The plan with the best settings that so many trials find for each of its models.

    The searches are kept in ``search`` in the comparison's folder and continue there.

    Args:
        plan: what to compare.
        trials: how many settings to try of each model.
        out: the comparison's folder.
        fixed: by the model's name, parameters that are not searched besides those it was given.
    """
    parts, models = plan.parts, {}
    say = (lambda line: None) if plan.quiet else (lambda line: print(line, flush=True))
    with writable(out) as folder:
        claim(folder, plan.task, parts, checksum_of(parts))
        for name, model in plan.models.items():
            say(f"search of {name}: {trials} trials")
            if model.random_state is None:
                model = with_values(model, {"random_state": 0})
            plan.task.check_parts(model, parts)
            data = data_of(model, (parts.train,), parts.validation, {})
            own = (fixed or {}).get(name, ())
            place = folder / "search" / slug(name)
            result = prepare(model, data, fixed=own, folder=place, say=say).run(trials)
            models[name] = with_values(plan.models[name], require_best(result).values)
    return replace(plan, models=models)
