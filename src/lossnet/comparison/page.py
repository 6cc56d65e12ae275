"""The page of a comparison: ``report.html``."""

from __future__ import annotations

from pathlib import Path

from lossnet.comparison.answer import answer
from lossnet.comparison.blocks import Block, Cell, Code, Facts, Folded, Page, Table, sections_of
from lossnet.comparison.energy_section import energies
from lossnet.comparison.example_section import examples
from lossnet.comparison.rendering import write_html
from lossnet.comparison.result import Comparison
from lossnet.comparison.score_sections import cost, differences, groups, results
from lossnet.comparison.standing import Standing
from lossnet.comparison.training_sections import (
    calibration,
    curves,
    inference,
    inference_training,
)
from lossnet.plain_text import counted
from lossnet.training.progress import format_duration

REPORT = "report.html"


def write_page(comparison: Comparison, folder: str | Path) -> Path:
    """Write ``report.html`` to a folder, one file that needs no network, and return its path.

    Args:
        comparison: what was measured, from :func:`lossnet.compare` or
            :func:`lossnet.comparison.load_comparison`.
        folder: where to write it.
    """
    return write_html(comparison_page(comparison), Path(folder) / REPORT)


def comparison_page(comparison: Comparison, *, title: str | None = None) -> Page:
    """The page; sections that have nothing to show are left out.

    Args:
        comparison: what was measured.
        title: the page's heading; None: the data's name and what was compared.
    """
    standing = Standing(comparison)
    count = len({*comparison.methods, *comparison.baselines})
    what = counted(count, "method") + f", {counted(len(comparison.seeds), 'seed')}"
    sections = sections_of(
        ("results", "Results", results(standing)),
        ("differences", "Differences", differences(standing)),
        ("cost", "Cost", cost(standing)),
        ("curves", "Validation curves", curves(standing)),
        ("balance", "Energy against inference networks", inference_training(standing)),
        ("inference", "Speed of inference and training", inference(standing)),
        ("calibration", "Calibration", calibration(standing)),
        ("groups", _group_title(comparison), groups(standing)),
        ("examples", "Examples", examples(standing)),
        ("energies", "What the loss-net knows", energies(standing)),
        ("failures", "Missing runs", _missing(comparison)),
        ("repeat", "How to repeat it", _repeat(standing)),
    )
    return Page(title or f"{comparison.data}: {what}", comparison.about, answer(standing), sections)


def _group_title(comparison: Comparison) -> str:
    noun = next((run.details.group_noun for run in comparison.runs if run.details.groups), "group")
    return f"Each {noun}"


def _missing(comparison: Comparison) -> list[Block]:
    """Runs that failed, and runs that did not fit in the budget."""
    missing = [("failed", one) for one in comparison.failures]
    missing += [("left out", one) for one in comparison.left_out]
    rows = [
        [Cell(one.method), Cell(f"{one.seed}", one.seed), Cell(what), Cell(one.why)]
        for what, one in missing
    ]
    caption = "Runs that the comparison lacks; the same command tries them again."
    table = Table(["method", "seed", "what", "why"], rows, caption, numbers=False)
    return [table] if rows else []


def _repeat(standing: Standing) -> list[Block]:
    """Command, data, versions and settings."""
    comparison = standing.comparison
    sizes = ", ".join(f"{count:,} {part}" for part, count in comparison.sizes.items())
    budget = comparison.budget
    facts = {
        "data": f"{comparison.data} ({sizes} {comparison.unit})",
        "checksum": comparison.checksum,
        "measured on": standing.where,
        "seeds": ", ".join(map(str, comparison.seeds)),
        **({} if budget is None else {"budget": format_duration(budget)}),
        "versions": ", ".join(f"{name} {value}" for name, value in comparison.versions.items()),
        "machine": f"{comparison.platform}, {counted(comparison.threads, 'thread')}",
        "finished": comparison.date,
    }
    notes = {f"note {k}": note for k, note in enumerate(comparison.notes, 1)}
    found = [_settings(comparison, name) for name in comparison.methods if comparison.of(name)]
    folded = [block for block in found if block is not None]
    return [Code(comparison.command), Facts(facts | notes), *folded]


def _settings(comparison: Comparison, method: str) -> Folded | None:
    """All settings of a method, folded."""
    settings = comparison.of(method)[0].configuration
    facts = {str(name): f"{value}" for name, value in sorted(settings.items())}
    return Folded(f"Settings of {method}", [Facts(facts)]) if facts else None
