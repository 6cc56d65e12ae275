"""Train a model and save it to a folder.

DATA with parts of its own (a folder with split.json or with train and test files, a built-in
name) is trained, validated and tested on these; any other is divided 60/20/20, always the same
way. With --validation or --test, all rows of an undivided DATA are for training.

A run that was killed goes on with --resume and ends with the weights it would have had.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_settings, whole_number

if TYPE_CHECKING:
    from lossnet.cli.measure import Measured
    from lossnet.cli.settings import Settings
    from lossnet.data import Splits
    from lossnet.estimators import MultiLabelClassifier


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    parser.add_argument("--method", metavar="NAME", help="see lossnet methods (default: seal-nce)")
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the model goes")
    add_settings(parser, "method")
    parser.add_argument("--validation", metavar="DATA", help="validate on this")
    parser.add_argument("--test", metavar="DATA", help="test on this")
    parser.add_argument(
        "--unlabelled",
        metavar="DATA",
        help="rows without labels, for methods that learn from such: infnet with "
        "--set method.tune_on=unlabelled",
    )
    parser.add_argument("--seed", type=whole_number, metavar="N", help="(default: 0)")
    parser.add_argument(
        "--results", metavar="FOLDER", help="also record the run in this store, such as results"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, no tables")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with a run that was killed")
    again.add_argument("--overwrite", action="store_true", help="replace the model in the folder")


def run(args: argparse.Namespace) -> int:
    """Check everything that can be checked, train, save, measure."""
    from lossnet.cli import folder as place
    from lossnet.cli.parts import load_parts
    from lossnet.cli.settings import resolve

    settings = resolve(config=args.config, pairs=args.settings, method=args.method, seed=args.seed)
    say = (lambda *text: None) if args.quiet else print
    out = Path(args.out)
    place.check_unused(out, overwrite=args.overwrite, resume=args.resume)
    checkpoint = out / place.CHECKPOINT
    if args.resume and not checkpoint.exists() and place.holds_model(out):
        place.check_finished(out, settings.estimator())
        say(f"{out} holds a finished run: there is nothing to go on with")
        return 0
    with place.writable(out):
        splits = load_parts(
            args.data, labels=args.labels, validation=args.validation, test=args.test
        )
        _announce(splits, settings, say)
        if args.overwrite:
            checkpoint.unlink(missing_ok=True)
        spare = None if args.unlabelled is None else _unlabelled(args, splits, say)
        model = settings.estimator(verbose=0 if args.quiet else 1)
        _fit(model, splits, spare, checkpoint, args)
        model.save(out)
        place.save_data(out, splits, args.data, args.labels)
        report = _measure(model, splits, settings, out)
        if args.results:
            _record(args, model, splits, settings, report)
        place.finish(out)
    _tell(report, model, out, say)
    return 0


def _unlabelled(args: argparse.Namespace, splits: Splits, say: Any) -> Any:
    """The rows without labels, in the columns of the training part."""
    from lossnet.cli.rows import Known, load_unlabelled

    train = splits.train
    known = Known(train.label_names, train.n_features, train.feature_names)
    rows = load_unlabelled(args.unlabelled, known, labels=args.labels)
    say(f"{args.unlabelled}: {rows.X.shape[0]:,} unlabelled rows")
    for note in rows.notes:
        say(f"note: {note}")
    return rows.X


def _fit(
    model: MultiLabelClassifier,
    splits: Splits,
    unlabelled: Any,
    checkpoint: Path,
    args: argparse.Namespace,
) -> None:
    from lossnet.cli.parts import fit

    # A run that was killed before its first checkpoint starts again.
    resume = args.resume and checkpoint.exists()
    try:
        fit(
            model,
            splits,
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


def _measure(
    model: MultiLabelClassifier, splits: Splits, settings: Settings, out: Path
) -> dict[str, Measured]:
    from lossnet.cli.folder import METRICS
    from lossnet.cli.measure import measure_parts, seconds
    from lossnet.files import write_json

    measured = measure_parts(model, splits)
    threshold: Any = model.threshold_
    write_json(
        out / METRICS,
        {
            "data": splits.name,
            "method": settings.method,
            "seed": settings.seed,
            "epochs": len(model.history_),
            "seconds": round(seconds(model), 3),
            "threshold": threshold.tolist() if hasattr(threshold, "tolist") else threshold,
            **measured,
        },
    )
    return measured


def _record(
    args: argparse.Namespace,
    model: MultiLabelClassifier,
    splits: Splits,
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
        print("lossnet: nothing to record: there is no validation or test part", file=sys.stderr)


def _announce(splits: Splits, settings: Settings, say: Any) -> None:
    from lossnet.cli.text import counted

    parts = ", ".join(f"{data.n_rows:,} {part}" for part, data in splits.parts())
    train = splits.train
    say(
        f"{splits.name}: {parts} rows, {counted(train.n_features, 'feature')}, "
        f"{counted(train.n_labels, 'label')}; {settings.method}, seed {settings.seed}"
    )
    for note in train.notes:
        say(f"note: {note}")


def _tell(report: dict[str, Measured], model: MultiLabelClassifier, out: Path, say: Any) -> None:
    from lossnet.cli.measure import threshold_text
    from lossnet.cli.text import metrics_table

    columns = {f"{part} {at}": v for part, both in report.items() for at, v in both.items()}
    if columns:
        say(metrics_table(columns))
    say(f"threshold {threshold_text(model.threshold_)}; the model is in {out}")
