"""Train a model and save it to a folder.

DATA with parts of its own (a folder with split.json or with train and test files, a built-in
name) is trained, validated and tested on these; any other is divided 60/20/20, always the same
way. With --validation or --test, all of an undivided DATA is for training.

A run that was killed goes on with --resume and ends with the weights it would have had.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_settings
from lossnet.cli.task_options import add_task_options, task_of_data
from lossnet.cli.terminal import tell
from lossnet.tasks.options import non_negative
from lossnet.tasks.registry import tasks

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    defaults = ", ".join(f"{task.default_method} for {task.name} data" for task in tasks())
    parser.add_argument(
        "--method", metavar="NAME", help=f"see lossnet methods (default: {defaults})"
    )
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the model goes")
    add_settings(parser, "method")
    parser.add_argument("--validation", metavar="DATA", help="validate on this")
    parser.add_argument("--test", metavar="DATA", help="test on this")
    parser.add_argument(
        "--unlabelled",
        metavar="DATA",
        help="unlabelled data, for methods that train on it: infnet with --set "
        "method.tune_on=unlabelled",
    )
    parser.add_argument("--seed", type=non_negative, metavar="N", help="(default: 0)")
    parser.add_argument(
        "--results", metavar="FOLDER", help="also record the run in this store, such as results"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, no tables")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with a run that was killed")
    again.add_argument("--overwrite", action="store_true", help="replace the model in the folder")
    add_task_options(parser, "train", choose=True)


def run(args: argparse.Namespace) -> int:
    """Check everything that can be checked, train, save, measure."""
    from lossnet.cli import folder as place
    from lossnet.cli.reading import training_parts
    from lossnet.cli.settings import resolve
    from lossnet.tasks.model_folder import CHECKPOINT, holds_model, locked

    task = task_of_data(args)
    settings = resolve(
        task,
        config=args.config,
        pairs=args.settings,
        method=args.method,
        seed=args.seed,
        parameters=task.parameters(args),
    )
    say = (lambda *text: None) if args.quiet else print
    out = Path(args.out)
    checkpoint = out / CHECKPOINT
    with place.writable(out), locked(out):
        place.check_unused(out, overwrite=args.overwrite, resume=args.resume)
        if args.resume and not checkpoint.exists() and holds_model(out):
            place.check_finished(out, settings.estimator(), training_parts(task, args))
            say(f"{out} holds a finished run: there is nothing to go on with")
            return 0
        splits = training_parts(task, args)
        _announce(splits, settings, args, say)
        if args.overwrite:
            checkpoint.unlink(missing_ok=True)
        spare = None if args.unlabelled is None else _unlabelled(settings, args, splits, say)
        model = settings.estimator(verbose=0 if args.quiet else 1)
        _fit(settings, model, splits, spare, checkpoint, args)
        model.save(out)
        place.save_data(out, task, splits, args)
        report = _measure(model, splits, settings, out)
        if args.results:
            _record(args, model, splits, settings, report)
        checkpoint.unlink(missing_ok=True)
    if report:
        say(task.table(report))
    say("; ".join(filter(None, [task.model_text(model), f"the model is in {out}"])))
    return 0


def _unlabelled(settings: Settings, args: argparse.Namespace, splits: Parts, say: Any) -> Any:
    """What --unlabelled names, in the columns of the training part."""
    from lossnet.cli.reading import unlabelled_rows

    spare = unlabelled_rows(settings.task, args, splits.train)
    say(f"{args.unlabelled}: {len(spare):,} unlabelled {settings.task.unit}")
    for note in spare.notes:
        say(f"note: {note}")
    return spare


def _fit(
    settings: Settings,
    model: Any,
    splits: Parts,
    unlabelled: Any,
    checkpoint: Path,
    args: argparse.Namespace,
) -> None:
    # A run that was killed before its first checkpoint starts again.
    resume = args.resume and checkpoint.exists()
    try:
        settings.task.check_parts(model, splits)
        model.fit(
            splits.train,
            validation_data=splits.validation,
            unlabelled=unlabelled,
            checkpoint=checkpoint,
            resume_from_checkpoint=resume,
        )
    except KeyboardInterrupt:
        if checkpoint.exists():
            again = [text for text in args.command_line if text not in ("--resume", "--overwrite")]
            text = shlex.join(["lossnet", *again, "--resume"])
            raise KeyboardInterrupt(f"interrupted; to go on: {text}") from None
        raise KeyboardInterrupt(
            "interrupted before the first checkpoint; nothing is kept"
        ) from None


def _measure(model: Any, splits: Parts, settings: Settings, out: Path) -> dict[str, Measured]:
    from lossnet.cli.measure import measure_parts, seconds
    from lossnet.files import write_json
    from lossnet.tasks.model_folder import METRICS

    measured = measure_parts(settings.task, model, splits)
    write_json(
        out / METRICS,
        {
            "data": splits.name,
            "method": settings.method,
            "seed": settings.seed,
            "epochs": len(model.history_),
            "seconds": round(seconds(model), 3),
            **settings.task.model_facts(model),
            **measured,
        },
    )
    return measured


def _record(
    args: argparse.Namespace,
    model: Any,
    splits: Parts,
    settings: Settings,
    report: dict[str, Measured],
) -> None:
    from lossnet.cli.measure import record_run

    if report:
        record_run(
            args.results,
            model,
            splits,
            settings,
            report,
            command=shlex.join(["lossnet", *args.command_line]),
            tags=("train",),
        )
    else:
        tell("lossnet: nothing to record: there is no validation or test part")


def _announce(splits: Parts, settings: Settings, args: argparse.Namespace, say: Any) -> None:
    task = settings.task
    say(f"{splits.name}: {task.sizes(splits, args)}; {settings.method}, seed {settings.seed}")
    for note in task.notes(splits, args):
        say(f"note: {note}")
