"""Search better settings of a method on validation data, and train a model with the best.

Every method and task declares what is tried of its parameters; --space changes that, and what
--set fixes stays. The first trial has the settings of lossnet train. A trial that falls behind the
others on validation data is ended early. The folder keeps the study, its trials and, in the end,
the model: the same command continues a search that was killed, adds trials if --trials is larger,
and can run several times at once to share the work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_task_options, add_training, task_of_data
from lossnet.cli.terminal import note
from lossnet.errors import DataError, FolderInUseError, SettingError
from lossnet.tasks.options import duration, non_negative

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.ranges import Dimension
    from lossnet.searching.results import SearchResult
    from lossnet.searching.search import Search
    from lossnet.tasks.parts import Parts

MODEL, SETTINGS, SUMMARY, PICTURE = "model", "best.yaml", "search.json", "search.svg"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    parser.add_argument("--out", metavar="FOLDER", required=True, help="folder for the search")
    what = "number of settings to try (default: 50)"
    parser.add_argument("--trials", type=non_negative, default=50, metavar="N", help=what)
    what = "most time to try settings in, such as 30m or 1h30m, for this process"
    parser.add_argument("--budget", type=duration, metavar="TIME", help=what)
    what = "what to try of a parameter: NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=[A,B,...]"
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    parser.add_argument("--space", metavar="NAME=RANGE", help=what, **many)
    what = "URL of a database that processes on several machines share; default: a file in FOLDER"
    parser.add_argument("--storage", metavar="URL", help=what)
    what = "name of the study in that database (default: data and method)"
    parser.add_argument("--name", metavar="NAME", help=what)
    what = "how often a trial is run again whose process has ended (default: 10)"
    parser.add_argument("--retries", type=non_negative, default=10, metavar="N", help=what)
    add_training(parser)
    parser.add_argument("--quiet", action="store_true", help="print no progress and no tables")
    add_task_options(parser, "search", choose=True)


def run(args: argparse.Namespace) -> int:
    """Check everything, run trials, train the best and write what was found."""
    from lossnet.cli.folder import writable
    from lossnet.cli.reading import training_parts, unlabelled_rows
    from lossnet.cli.settings import resolve
    from lossnet.searching.search import require_best
    from lossnet.searching.space import space_of
    from lossnet.searching.storage import need_optuna

    need_optuna()
    if args.trials < 1:
        raise SettingError("--trials must be at least 1, got 0")
    if args.name is not None and args.storage is None:
        raise SettingError("--name is the study's name in a --storage; a folder holds one study")
    task = task_of_data(args)
    settings = resolve(task, args, method=args.method, seed=args.seed)
    changes = dict(parse_space(text) for text in args.space)
    # Before data is read, which may take long.
    space_of(settings.estimator(), changes, fixed=settings.given)
    with writable(args.out) as out:
        _check_folder(out)
        parts = training_parts(task, args)
        unlabelled = None
        if args.unlabelled is not None:
            unlabelled = unlabelled_rows(task, args, parts.train)
        say = (lambda line: None) if args.quiet else _print
        say(f"{parts.name}: {task.sizes(parts, args)}; {settings.method}, seed {settings.seed}")
        for text in task.notes(parts, args):
            say(f"note: {text}")
        name = "search"
        if args.storage is not None:
            name = args.name or f"{parts.name} {settings.method}"
        options = {"folder": out, "storage": args.storage, "name": name, "say": say}
        options["retries"] = args.retries
        search = prepared(settings, parts, changes, unlabelled=unlabelled, **options)
        try:
            result = search.run(args.trials, args.budget)
        except KeyboardInterrupt:
            message = f"interrupted; what is finished is in {out}: the same command continues"
            raise KeyboardInterrupt(message) from None
        require_best(result)
        _finish(settings, parts, search, result, out, args)
    return 0


def prepared(
    settings: Settings,
    parts: Parts[Any],
    changes: Mapping[str, Dimension] | None = None,
    *,
    unlabelled: Any = None,
    **options: Any,
) -> Search:
    """A search from these settings on these parts; for options see ``lossnet.searching``."""
    from lossnet.searching.search import data_of, prepare

    model = settings.estimator()
    settings.task.check_parts(model, parts)
    fit_params = {} if unlabelled is None else {"unlabelled": unlabelled}
    data = data_of(model, (parts.train,), parts.validation, fit_params)
    return prepare(model, data, changes, fixed=settings.given, **options)


def with_values(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The settings with other values of parameters, by the names that ``--set`` takes."""
    from lossnet.parameters import with_value

    own, parameters = settings.method_params, dict(settings.parameters)
    for name, value in values.items():
        if name.startswith("method."):
            own = with_value(own, name.split(".")[1:], value)
        else:
            parameters[name] = value
    return replace(settings, method_params=own, parameters=parameters)


def parse_space(text: str) -> tuple[str, Dimension]:
    """A change of the space: ``NAME=LOW..HIGH``, with ``:log`` after it, or ``NAME=[A, B]``.

    >>> parse_space("method.samples=10..80:log")
    ('method.samples', Range(low=10, high=80, log=True))
    >>> parse_space("hidden=[[200], [400, 400]]")[1].values
    ([200], [400, 400])
    """
    from lossnet.cli.plain import parse_yaml
    from lossnet.ranges import Choice, Range

    where = f"--space {text}"
    rule = "expected NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=[A, B, ...]"
    name, _, shown = (part.strip() for part in text.partition("="))
    if not name or not shown:
        raise SettingError(f"{where}: {rule}")
    if ".." not in shown:
        values = parse_yaml(shown, where)
        if not isinstance(values, list):
            raise SettingError(f"{where}: {rule}; --set {text} fixes a value")
        return name, _explained(where, lambda: Choice(*values))
    ends, colon, scale = shown.partition(":")
    low, high = (parse_yaml(end, where) for end in ends.split("..", 1))
    numbers = all(isinstance(end, int | float) and type(end) is not bool for end in (low, high))
    if not numbers or (colon and scale != "log"):
        raise SettingError(f"{where}: {rule}")
    return name, _explained(where, lambda: Range(low, high, log=bool(colon)))


def _explained(where: str, make: Callable[[], Dimension]) -> Dimension:
    try:
        return make()
    except SettingError as error:
        raise SettingError(f"{where}: {error}") from error


def _check_folder(out: Path) -> None:
    """Raise where the folder belongs to something else."""
    from lossnet.tasks.model_folder import holds_model

    if holds_model(out):
        raise SettingError(f"{out} holds a model; choose another folder for the search")


def _finish(
    settings: Settings,
    parts: Parts[Any],
    search: Search,
    result: SearchResult,
    out: Path,
    args: argparse.Namespace,
) -> None:
    """Train the best settings, unless that is done, and write and print what was found."""
    from lossnet.cli.folder import writable
    from lossnet.tasks.model_folder import locked

    folder = out / MODEL
    say = (lambda line: None) if args.quiet else _print
    with writable(folder):
        try:
            with locked(folder):
                _train_best(settings, parts, search, result, out, args)
        except FolderInUseError:
            say(f"another process is training the best model, in {folder}")
            return
    say(f"\n{result.table()}\n")
    say(f"the model is in {folder}, its settings are in {out / SETTINGS}")


def _train_best(
    settings: Settings,
    parts: Parts[Any],
    search: Search,
    result: SearchResult,
    out: Path,
    args: argparse.Namespace,
) -> None:
    from lossnet.cli.measure import save_trained
    from lossnet.files import write_json, write_text
    from lossnet.tasks.model_folder import holds_model

    best, start = result.best, result.start
    assert best is not None
    found = with_values(settings, best.values)
    write_text(out / SETTINGS, _as_yaml(found))
    _draw(result, out / PICTURE, f"{parts.name}, {settings.method}")
    if not holds_model(out / MODEL) or _last_best(out / SUMMARY) != _json(best):
        model = search.fitted(best.values)
        report = save_trained(found, model, parts, out / MODEL, args)
        if report and not args.quiet:
            print(settings.task.table(report))
    counts = [row.state for row in result.trials]
    summary = {
        "data": parts.name,
        "method": settings.method,
        "seed": settings.seed,
        "metric": result.metric,
        "trials": {state: counts.count(state) for state in sorted(set(counts))},
        "start": None if start is None else _json(start),
        "best": _json(best),
        "importances": result.importances,
        "space": {name: str(drawn) for name, drawn in result.space.items()},
        "command": args.command,
    }
    write_json(out / SUMMARY, summary)


def _last_best(path: Path) -> Any:
    """The best trial when the model was trained; None where that is not known."""
    from lossnet.files import read_json

    try:
        found = read_json(path)
    except DataError:
        return None
    return found.get("best") if isinstance(found, dict) else None


def _json(row: Any) -> dict[str, Any]:
    return {"trial": row.number, "value": row.value, "settings": row.values}


def _as_yaml(settings: Settings) -> str:
    """The settings as a config file that ``lossnet train --config`` takes."""
    import yaml

    own = {"method": {"name": settings.method, **settings.method_params}, "seed": settings.seed}
    return str(yaml.safe_dump({**own, **settings.parameters}, sort_keys=False))


def _draw(result: SearchResult, path: Path, title: str) -> None:
    from lossnet.drawing.page import MissingMatplotlibError
    from lossnet.searching.pictures import draw_search

    try:
        draw_search(result, path, title=title)
    except MissingMatplotlibError as error:
        note(f"{path} is not drawn: {error}")


def _print(line: str) -> None:
    print(line, flush=True)
