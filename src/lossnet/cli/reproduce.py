"""Run a table or figure of the papers again, and print it next to the paper's numbers.

Every run goes into a results store; what was stopped, or is given more seeds, runs only what the
store lacks. Without a name: the tables and figures, and the data that they need.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lossnet.errors import DataError, SettingError
from lossnet.tasks.options import names

if TYPE_CHECKING:
    from lossnet.papers.runs import Fit, Runner
    from lossnet.papers.settings import Kind
    from lossnet.papers.table import Figure, Table

#: Seconds above which the paper's schedule needs a yes.
LONG = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("name", nargs="?", metavar="TABLE", help="a table or figure of a paper")
    what = "the data folder (default: $LOSSNET_DATA, else data or ../shared/data)"
    parser.add_argument("--data", metavar="DIR", help=what)
    what = "the results store (default: results)"
    parser.add_argument("--results", metavar="DIR", default="results", help=what)
    what = "seeds of each cell: 0 to N - 1 (default: 1)"
    parser.add_argument("--seeds", metavar="N", type=int, default=1, help=what)
    parser.add_argument(
        "--columns", metavar="A,B", type=names, help="only these columns; of a figure, data"
    )
    parser.add_argument("--rows", metavar="A,B", type=names, help="only these rows, by our names")
    what = "run ours by the preset, by default, or both (default: both)"
    parser.add_argument("--which", choices=["preset", "default", "both"], default="both", help=what)
    what = "schedule of the preset: the library's (at most 5 updates per batch, the estimator's "
    what += "epochs and patience; the default) or the paper's"
    parser.add_argument("--schedule", choices=["library", "paper"], default="library", help=what)
    what = "also run cells with one setting of the preset changed, to explain differences"
    parser.add_argument("--changes", action="store_true", help=what)
    what = "go on although it takes more than an hour"
    parser.add_argument("--yes", action="store_true", help=what)
    what = "fit nothing; print what the store holds"
    parser.add_argument("--table-only", action="store_true", help=what)
    what = "folder for the pictures of a figure (default: figures)"
    parser.add_argument("--out", metavar="DIR", default="figures", help=what)
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def run(args: argparse.Namespace) -> int:
    """Run what the store lacks and print the table; 1 if a run failed."""
    from lossnet.papers import entry
    from lossnet.papers.data_sets import data_folder
    from lossnet.papers.runs import check_seeds, chosen
    from lossnet.papers.table import Table

    root = data_folder(args.data)
    if args.name is None:
        print(_listing(root))
        return 0
    found = entry(args.name)
    check_seeds(args.seeds)
    if not isinstance(found, Table):
        return _figure(found, root, args)
    return _table(chosen(found, args.rows, args.columns), root, args)


def _table(table: Table, root: Path, args: argparse.Namespace) -> int:
    from lossnet.cli.folder import writable
    from lossnet.cli.terminal import note
    from lossnet.papers.report import Filled, missing_data, set_aside
    from lossnet.papers.runs import Runner, plan, without_preset
    from lossnet.papers.stored import StoredRuns
    from lossnet.plain_text import counted

    failed: list[str] = []
    runs = StoredRuns(Path(args.results))
    missing = missing_data(table, root)
    for text in missing:
        note(f"no data for {text}")
    if args.which != "default" and (lacking := without_preset(table, root)):
        note(f"the papers have no settings for {', '.join(lacking)}: by default only")
    if not args.table_only:
        fits = plan(table, _kinds(args), args.seeds, root, changes=args.changes)
        others = {column.benchmark.script for column in table.columns if column.benchmark}
        for script in sorted(others):
            note(f"some columns are run by python {script} run and read from the store")
        if not fits and not others:
            raise DataError(_nothing(table, missing))
        with writable(args.results):
            runner = Runner(runs, root, args.command, _teller(args))
            todo = runner.lacking(fits)
            if args.schedule == "paper" or (args.changes and table.changes):
                _agree(runner, todo, args)
            failed = runner.do(todo)
    print(Filled(table, runs, root).markdown())
    if aside := set_aside(runs, root):
        note(f"{counted(aside, 'stored run')} set aside: of other settings or other data")
    for version, count in runs.of_other_versions().items():
        shown = f"{counted(count, 'stored run')} recorded by lossnet {version}"
        note(f"{shown}; remove the files in {args.results} to run them again")
    for text in failed:
        note(f"failed: {text}")
    return int(bool(failed))


def _figure(figure: Figure, root: Path, args: argparse.Namespace) -> int:
    """Draw a figure and print the pictures' names."""
    from lossnet.cli.folder import writable
    from lossnet.papers.figures import Studio, draw
    from lossnet.papers.settings import Kind

    kind = Kind("default") if args.which == "default" else Kind("preset", args.schedule)
    data = args.columns or figure.usual or figure.data
    with writable(args.out) as out:
        pictures = draw(figure, Studio(root, out, data, kind, _teller(args)))
    print("\n".join(map(str, pictures)))
    return 0


def _teller(args: argparse.Namespace) -> Callable[[str], None]:
    """What prints a line of progress."""
    return (lambda text: None) if args.quiet else _say


def _kinds(args: argparse.Namespace) -> list[Kind]:
    from lossnet.papers.settings import Kind

    wanted = [Kind("preset", args.schedule), Kind("default")]
    return [kind for kind in wanted if args.which in (kind.which, "both")]


def _nothing(table: Table, missing: list[str]) -> str:
    return f"{table.name} needs data: {'; '.join(missing)}; --table-only prints without running"


def _agree(runner: Runner, fits: list[Fit], args: argparse.Namespace) -> None:
    """Say how long it would take, and ask where that is long."""
    from lossnet.papers.estimate import estimate
    from lossnet.training.progress import format_duration

    found = estimate(runner, fits)
    for name, seconds in found.items():
        _say(f"{name}: up to {format_duration(seconds)}")
    total = format_duration(sum(found.values()))
    runs = f"{len(fits)} runs would take up to {total}"
    _say(f"{runs}, by a few timed batches of each: an estimate; early stopping may end them sooner")
    if sum(found.values()) <= LONG or args.yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise SettingError(f"{runs}; add --yes to go on, or choose --rows, --columns and --seeds")
    _say("go on? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise SettingError("not started")


def _say(text: str) -> None:
    from lossnet.cli.terminal import to_stderr

    to_stderr(text)


def _listing(root: Path) -> str:
    """Every table and figure, and which of its data is missing."""
    from lossnet.papers import FIGURES, TABLES
    from lossnet.papers.data_sets import DATA_SETS

    every: list[Table | Figure] = [*TABLES.values(), *FIGURES.values()]
    lines: list[str] = []
    absent: dict[str, str] = {}
    for one in every:
        shown = []
        for name in one.data:
            needs = DATA_SETS[name].needs(root)
            absent |= {name: needs} if needs else {}
            shown.append(f"{name} (missing)" if needs else name)
        lines += [f"{one.name}: {one.title} ({one.source})", f"  data: {', '.join(shown)}"]
    lines += ["", *(f"{name} is missing: {needs}" for name, needs in absent.items())]
    return "\n".join(lines).rstrip()
