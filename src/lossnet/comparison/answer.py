"""A comparison in a few sentences: which is best, by how much, is it real, at what cost."""

from __future__ import annotations

import math

from lossnet.comparison.significance import Difference
from lossnet.comparison.standing import Standing
from lossnet.plain_text import counted
from lossnet.training.progress import format_duration


def answer(standing: Standing) -> list[str]:
    """The sentences, the most important first."""
    comparison = standing.comparison
    if not standing.names:
        return ["No run finished, so there is nothing to compare: see the failures below."]
    best, main = standing.ranked[0], comparison.main
    part = f"on {standing.where}"
    count = counted(len(comparison.of(best)), "seed")
    if len(standing.names) == 1:
        return [f"{best} has {main} {standing.text(best, main)} % {part}."]
    verdict = f"{best} is best {part}: {main} {standing.text(best, main)} %"
    verdict += f" over {count}" if len(comparison.of(best)) > 1 else ""
    highest = standing.mean(best, main)
    equal = [name for name in standing.ranked[1:] if standing.mean(name, main) == highest]
    verdict += f", the same as {_listed(equal)}" if equal and highest is not None else ""
    if comparison.reference not in standing.names:
        return [f"{verdict}. {comparison.reference}, the reference, has no finished run."]
    if best == comparison.reference:
        return [f"{verdict}, and it is the reference.", *_nearest(standing), *_warnings(standing)]
    found = standing.differences.get(best)
    by = f", {_points(found.mean)} points above {comparison.reference}" if found else ""
    parts = [f"{verdict}{by}.", *([is_real(found)] if found else []), *_others(standing)]
    return [*parts, *_cost(standing, best), *_warnings(standing)]


def is_real(found: Difference) -> str:
    """Whether a difference is more than chance, in a sentence."""
    if not found.over:
        return "Whether that is more than chance cannot be said: nothing varies to judge by."
    between = (
        f"{100 * found.level:.0f} % interval {interval(found)} points, corrected p {_p(found.p)}"
    )
    if found.real and found.over == "examples":
        return f"It holds for other examples ({between}), but with other seeds it may not."
    if found.real:
        return f"The difference is real: it should hold for other {found.over} ({between})."
    return f"It may be chance: other {found.over} could reverse it ({between})."


def interval(found: Difference) -> str:
    """The interval in points, ``+0.3 to +1.9``."""
    return f"{_points(found.low, sign=True)} to {_points(found.high, sign=True)}"


def _points(value: float, *, sign: bool = False) -> str:
    return f"{100 * value:{'+' if sign else ''}.1f}".replace("-", "−")


def _p(value: float) -> str:
    return "≤ 0.001" if value <= 0.001 else f"= {value:.2g}"


def _nearest(standing: Standing) -> list[str]:
    """How the next best method compares with the reference, which is best."""
    second = standing.ranked[1]
    found = standing.differences.get(second)
    if found is None or math.isnan(found.mean):
        return []
    text = f"The next, {second}, is {_points(abs(found.mean))} points below. {is_real(found)}"
    return [text, *_cost(standing, second)]


def _others(standing: Standing) -> list[str]:
    """Which further methods are better than the reference, beyond chance."""
    real = [name for name in standing.ranked[1:] if _better(standing, name)]
    if not real:
        return []
    are = "is" if len(real) == 1 else "are"
    return [f"{_listed(real)} {are} better than {standing.reference} too, beyond chance."]


def _better(standing: Standing, name: str) -> bool:
    found = standing.differences.get(name)
    return found is not None and found.real and found.mean > 0


def _listed(names: list[str]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _cost(standing: Standing, name: str) -> list[str]:
    """How a method's time compares with the reference's."""
    other = standing.reference
    own, base = (standing.average(n, lambda run: run.seconds) for n in (name, other))
    if not own or not base:
        return []
    took = f"{own:.1f} seconds" if own < 10 else format_duration(own)
    text = f"Training {name} takes {took} a run, {_times(own, base)} {other}"
    rates = [standing.average(n, lambda run: run.predictions_per_second) for n in (name, other)]
    if not rates[0] or not rates[1]:
        return [f"{text}."]
    return [f"{text}; it predicts {_speed(rates[0] / rates[1])}."]


def _speed(ratio: float) -> str:
    """How fast something is next to the reference, in words."""
    if 0.8 <= ratio <= 1.25:
        return "about as fast"
    if ratio < 1:
        return f"{_rounded(1 / ratio)} times more slowly"
    return f"{_rounded(ratio)} times as fast"


def _rounded(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def _times(own: float, base: float) -> str:
    ratio = own / base
    return "about as long as" if 0.9 <= ratio <= 1.1 else f"{_rounded(ratio)} times as long as"


def _warnings(standing: Standing) -> list[str]:
    """What limits the answer."""
    comparison, texts = standing.comparison, []
    if len(comparison.seeds) == 1:
        texts.append("There is one run of each.")
    missing = len(comparison.failures), len(comparison.left_out)
    words = [f"{counted(missing[0], 'run')} failed", f"{counted(missing[1], 'run')} did not fit"]
    said = [text for text, number in zip(words, missing, strict=True) if number]
    if said:
        texts.append(f"{' and '.join(said)}{' in the budget' if missing[1] else ''}: see below.")
    return texts
