"""Train a model and save it to a folder.

DATA with parts of its own is trained, validated and tested on these; any other is divided 60/20/20,
always the same way. With --validation or --test, all of an undivided DATA is for training.

A run that was killed continues with --resume and ends with the weights it would have had.

torchrun --nproc-per-node N -m lossnet train ... trains one model by N processes.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_task_options, add_training, task_of_data
from lossnet.cli.stopping import stopping_with_others
from lossnet.cli.terminal import note
from lossnet.launch import process_count

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Measured
    from lossnet.training import Callback
    from lossnet.training.processes import Processes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    parser.add_argument("--out", metavar="FOLDER", required=True, help="folder for the model")
    add_training(parser)
    parser.add_argument("--results", metavar="FOLDER", help="also record the run in this store")
    what = "also write the history to this folder for TensorBoard"
    parser.add_argument("--tensorboard", metavar="FOLDER", help=what)
    parser.add_argument("--quiet", action="store_true", help="print no progress and no tables")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="continue a run that was killed")
    again.add_argument("--overwrite", action="store_true", help="replace the model in the folder")
    add_task_options(parser, "train", choose=True)


def run(args: argparse.Namespace) -> int:
    """Check everything that can be checked, train, save, measure."""
    from lossnet.cli.settings import resolve
    from lossnet.training.processes import join, leave

    task, followers = task_of_data(args), _followers(args)
    settings = resolve(task, args, method=args.method, seed=args.seed)
    processes = join()
    try:
        with ExitStack() as held:
            return _run(args, settings, followers, processes, held)
    finally:
        leave()


def _run(
    args: argparse.Namespace,
    settings: Settings,
    followers: list[Callback],
    processes: Processes,
    held: ExitStack,
) -> int:
    """Train, in this process and those it trains with; the first one alone writes and prints."""
    from lossnet.cli.folder import check_finished
    from lossnet.cli.reading import training_parts, unlabelled_rows
    from lossnet.tasks.model_folder import CHECKPOINT

    task = settings.task
    quiet = args.quiet or not processes.first
    say = (lambda *lines: None) if quiet else partial(print, sep="\n")
    out = Path(args.out)
    checkpoint = out / CHECKPOINT
    unfinished, finished = processes.from_first(partial(_prepare, out, args, held))
    parts = training_parts(task, args)
    if args.resume and finished and not unfinished:
        processes.from_first(partial(check_finished, out, settings.estimator(), parts))
        say(f"{out} holds a finished run: nothing to resume")
        return 0
    sizes = f"{parts.name}: {task.sizes(parts, args)}"
    say(f"{sizes}; {settings.method}, seed {settings.seed}", *_notes(task.notes(parts, args)))
    unlabelled = None
    if args.unlabelled is not None:
        unlabelled = unlabelled_rows(task, args, parts.train)
        count = f"{args.unlabelled}: {len(unlabelled):,} unlabelled {task.unit}"
        say(count, *_notes(unlabelled.notes))
    if args.overwrite and processes.first:
        checkpoint.unlink(missing_ok=True)
    model = settings.estimator(verbose=0 if quiet else 1)
    task.check_parts(model, parts)
    with _explained_interrupt(checkpoint, args.command_line), stopping_with_others(processes.count):
        # A run that was killed before its first checkpoint starts again.
        again: Any = {"resume_from_checkpoint": args.resume and unfinished}
        data = {"validation_data": parts.validation, "unlabelled": unlabelled}
        model.fit(parts.train, **data, checkpoint=checkpoint, callbacks=followers, **again)
    if not processes.first:
        return 0
    report = _save(settings, model, parts, out, args)
    checkpoint.unlink(missing_ok=True)
    held.close()
    if report:
        say(task.table(report))
    say("; ".join(filter(None, [task.model_text(model), f"the model is in {out}"])))
    return 0


def _followers(args: argparse.Namespace) -> list[Callback]:
    """What keeps the history in files as training proceeds."""
    from lossnet.tasks.model_folder import HISTORY_FILES
    from lossnet.training import HistoryFile, TensorBoard

    files: list[Callback] = [HistoryFile(Path(args.out) / name) for name in HISTORY_FILES]
    return [*files, TensorBoard(args.tensorboard)] if args.tensorboard else files


def _prepare(out: Path, args: argparse.Namespace, held: ExitStack) -> tuple[bool, bool]:
    """Hold the folder to write to; whether it has an unfinished run, and a model."""
    from lossnet.cli.folder import check_unused, writable
    from lossnet.tasks.model_folder import CHECKPOINT, holds_model, locked

    held.enter_context(writable(out))
    held.enter_context(locked(out))
    check_unused(out, overwrite=args.overwrite, resume=args.resume)
    return (out / CHECKPOINT).exists(), holds_model(out)


def _notes(texts: list[str]) -> list[str]:
    return [f"note: {text}" for text in texts]


@contextmanager
def _explained_interrupt(checkpoint: Path, command_line: list[str]) -> Iterator[None]:
    """Let an interrupt say how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        message = "interrupted before the first checkpoint; nothing is kept"
        if checkpoint.exists():
            again = [text for text in command_line if text not in ("--resume", "--overwrite")]
            message = f"interrupted; to continue: {shlex.join(['lossnet', *again, '--resume'])}"
        if process_count() > 1:
            message = "interrupted; the same command with --resume continues"
        raise KeyboardInterrupt(message) from None


def _save(
    settings: Settings, model: Any, parts: Parts[Any], out: Path, args: argparse.Namespace
) -> dict[str, Measured]:
    """Save the model, and record the run where that is asked for; its metrics."""
    from lossnet.cli.measure import identity, record_run, save_trained, seconds

    report = save_trained(settings, model, parts, out, args)
    if args.results and report:
        run = identity(settings.method, settings.seed, model, parts)
        metrics = settings.task.flat(report[run["configuration"]["measured_on"]])
        tags = ["train", *parts.marks]
        took = seconds(model)
        record_run(args.results, run, metrics, seconds=took, command=args.command, tags=tags)
    elif args.results:
        note("nothing is recorded: there is no validation or test part")
    return report
