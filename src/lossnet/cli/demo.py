"""See in minutes what a learned loss does: a table over seeds and a picture.

Two tasks on handwritten digits. digits-attributes: a noisy digit in, out its class and a dozen
facts that follow from it, so that only ten label sets exist and a prediction can contradict
itself. digits-completion: the upper half in, the lower half out. Every method has the same
network and the same budget.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from lossnet.cli.terminal import tell
from lossnet.errors import SettingError
from lossnet.tasks.options import non_negative

if TYPE_CHECKING:
    from lossnet.demo import Outcome

HEADINGS = {
    "subset-accuracy": "exact match %",
    "contradictions": "contradictory %",
    "example-f1": "F1 %",
    "hamming": "pixels right %",
    "seconds": "seconds",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--out", default="demo", metavar="FOLDER", help="(default: demo)")
    parser.add_argument(
        "--seeds", type=non_negative, default=3, metavar="N", help="how many seeds (default: 3)"
    )
    parser.add_argument(
        "--first-seed",
        type=non_negative,
        default=0,
        metavar="N",
        help="the first of them: other seeds, other rows and other noise (default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Train, print the tables and what they say, draw the picture."""
    if args.seeds < 1:
        raise SettingError("--seeds 0: give 1 or more")
    from lossnet.cli.folder import writable
    from lossnet.demo import ATTRIBUTES, COMPLETION, REFINED, run_task, verdict
    from lossnet.demo.picture import draw
    from lossnet.drawing.page import MissingMatplotlibError

    seeds = range(args.first_seed, args.first_seed + args.seeds)
    command = shlex.join(["lossnet", *args.command_line])
    with writable(args.out) as out:
        outcomes = [
            run_task(task, seeds, out / "results", command=command, tell=tell)
            for task in (ATTRIBUTES, COMPLETION)
        ]
        attributes, completion = outcomes
        try:
            picture = str(draw(out / "demo.png", attributes, completion, REFINED))
        except MissingMatplotlibError as error:
            picture = f"not drawn: {error}"
    first = ("subset-accuracy", "contradictions", "example-f1", "seconds")
    second = ("subset-accuracy", "hamming", "example-f1", "seconds")
    print(f"\n{_table(attributes, first)}\n{verdict(attributes.runs)}")
    print(f"\n{_table(completion, second)}\n{verdict(completion.runs)}")
    print(f"\npicture: {picture}")
    return 0


def _table(outcome: Outcome, metrics: tuple[str, ...]) -> str:
    """Mean ± deviation over the seeds; one row a method."""
    from lossnet.plain_text import aligned
    from lossnet.reports import summarise

    count = len({run.seed for run in outcome.runs})
    over = "1 seed" if count == 1 else f"mean ± deviation of {count} seeds"
    lines = [["method", *(HEADINGS[name] for name in metrics)]]
    for method in dict.fromkeys(run.method for run in outcome.runs):
        runs = [run for run in outcome.runs if run.method == method]
        cells = [
            summarise([run.seconds for run in runs], percent=False)
            if name == "seconds"
            else summarise([run.metrics[name] for run in runs])
            for name in metrics
        ]
        lines.append([method, *cells])
    title = f"{outcome.test.name}, {outcome.test.n_rows:,} test rows, {over}"
    return f"{title}\n{aligned(lines, right=range(1, len(metrics) + 1))}"
