"""Show on handwritten digits what a learned loss does: tables over seeds, and a verdict.

digits-attributes: a noisy digit in, its class and a dozen facts that follow from it out, so that
only ten label sets exist and a prediction can contradict itself. digits-completion: the upper half
in, the lower half out. Every method has the same network and the same budget, and its labels are
cut at a tuned threshold. The default is MultiLabelClassifier(metric="subset-accuracy") as it comes:
four nets, trees beside them, and label sets decided as a whole by a joint learnt on their outputs.

The runs go to FOLDER/results, the first seed's test predictions to FOLDER/predictions.npz, from
which examples/demo_picture.py draws a picture.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import Parser, add_data, add_task_options, task_of_data
from lossnet.cli.terminal import to_stderr
from lossnet.errors import SettingError
from lossnet.tasks.options import non_negative

if TYPE_CHECKING:
    from lossnet.reports import Run

BASELINE = "cross-entropy"
REFINED = "seal-nce, refined"
DEFAULT = "default"
#: The share of predicted label sets that no row of the data has.
CONTRADICTIONS = "contradictions"


@dataclass(frozen=True)
class Study:
    """A data set drawn anew for each seed, and what is trained on it.

    Args:
        data: the data set's name.
        parameters: of the estimator, the same for all entries.
        entries: by its name in the table a method and its parameters, the baseline first.
        columns: headings of the table by the metric's name.
    """

    data: str
    parameters: dict[str, Any]
    entries: dict[str, tuple[str, dict[str, Any]]]
    columns: dict[str, str]


def _nce(lr: float, **more: Any) -> tuple[str, dict[str, Any]]:
    """Towards the most probable label set: no entropy term, and a well-trained loss-net."""
    return "seal-nce", {"entropy_weight": 0.0, **_learned(lr), **more}


def _learned(lr: float) -> dict[str, Any]:
    energy = {"energy_optimiser": {"lr": 5e-3}, "energy_steps": 2, "samples": 50}
    return {**energy, "task_optimiser": {"lr": lr}}


# Label by label, so that what differs is what training taught.
_SHARED = {"hidden": (100, 100), "metric": "subset-accuracy", "decode": "threshold"}
# The parameters were chosen on validation data of seeds 200 to 202; the default seeds are others.
STUDIES = (
    Study(
        "digits-attributes",
        {**_SHARED, "dropout": 0.5, "max_epochs": 100, "patience": 25},
        {
            BASELINE: ("cross-entropy", {"task_optimiser": {"lr": 2e-2}}),
            "seal-ranking": ("seal-ranking", {"energy_weight": 1.0, **_learned(2e-2)}),
            "seal-nce": _nce(2e-2),
            REFINED: _nce(1e-2, xent_weight=0.5),
            DEFAULT: ("auto", {}),
        },
        {"subset-accuracy": "exact match", CONTRADICTIONS: "contradictory", "example-f1": "F1"},
    ),
    Study(
        "digits-completion",
        {**_SHARED, "dropout": 0.2, "max_epochs": 40, "patience": 15},
        {
            BASELINE: ("cross-entropy", {"task_optimiser": {"lr": 5e-3}}),
            REFINED: _nce(5e-3, xent_weight=0.5),
        },
        {"subset-accuracy": "exact match", "hamming": "pixels right", "example-f1": "F1"},
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    what = "output folder (default: demo)"
    parser.add_argument("--out", default="demo", metavar="FOLDER", help=what)
    seed = "the first seed; another seed draws other rows and other noise"
    for option, default, what in (("seeds", 3, "number of seeds"), ("first-seed", 0, seed)):
        what = f"{what} (default: {default})"
        parser.add_argument(
            f"--{option}", type=non_negative, default=default, metavar="N", help=what
        )


def run(args: argparse.Namespace) -> int:
    """Train, print the tables and what they say, keep the predictions."""
    from lossnet.cli.folder import writable
    from lossnet.files import write_arrays
    from lossnet.reports import table

    if args.seeds < 1:
        raise SettingError(f"--seeds must be at least 1, got {args.seeds}")
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    over = "1 seed" if args.seeds == 1 else f"mean ± deviation of {args.seeds} seeds"
    arrays: dict[str, Any] = {}
    with writable(args.out) as out:
        for study in STUDIES:
            runs: list[Run] = []
            for seed in seeds:
                kept = arrays if seed == args.first_seed else {}
                runs += _train_all(study, seed, out / "results", args.command, kept)
            print(f"\n{study.data}, in percent, {over}")
            headings = {**study.columns, "seconds": "seconds"}
            # Every seed draws its own data.
            print(table(runs, columns=None, metrics=headings, format="text", allow_mixed=True))
            print(verdict(runs))
        write_arrays(out / "predictions.npz", arrays)
    print(f"\npredictions of seed {args.first_seed}: {out / 'predictions.npz'}")
    return 0


def _train_all(
    study: Study, seed: int, store: Path, command: str, kept: dict[str, Any]
) -> Iterator[Run]:
    """Train every entry on a seed's data and record the runs; ``kept`` gets the predictions."""
    from lossnet.cli.measure import identity, record_run
    from lossnet.cli.reading import training_parts
    from lossnet.cli.settings import Settings
    from lossnet.training.time_limit import Stopwatch

    args = _data_arguments(f"{study.data}:seed={seed}")
    task = task_of_data(args)
    parts: Any = training_parts(task, args)
    for key, name in (("X", "X"), ("Y", "Y"), ("labels", "label_names")):
        kept[f"{study.data}/{key}"] = getattr(parts.test, name)
    for name, (method, params) in study.entries.items():
        more = {"refine": "net"} if name == REFINED else {}
        own = {"metric": "subset-accuracy"} if name == DEFAULT else {**study.parameters, **more}
        settings = Settings(task, method, params, own, seed)
        model, timer = settings.estimator(), Stopwatch()  # trees take time before the first epoch
        model.fit(parts.train, validation_data=parts.validation, callbacks=[timer])
        took = timer.total
        metrics = task.flat(task.measure(model, parts.test))
        kept[f"{study.data}/{name}"] = predicted = model.predict(parts.test)
        if CONTRADICTIONS in study.columns:
            metrics[CONTRADICTIONS] = _contradictory(predicted, parts)
        who = {**identity(settings.method, settings.seed, model, parts), "method": name}
        run = record_run(store, who, metrics, seconds=took, command=command, tags=["demo"])
        shown = f"exact match {100 * metrics['subset-accuracy']:.1f} %, {run.seconds:.1f} s"
        to_stderr(f"{study.data}, seed {seed}, {name}: {shown}")
        yield run


def _data_arguments(source: str) -> argparse.Namespace:
    """What the commands parse for DATA alone."""
    parser = Parser(prog="lossnet demo", description=None)
    add_data(parser)
    add_task_options(parser, "train", choose=True)
    return parser.parse([source])


def _contradictory(predicted: Any, parts: Any) -> float:
    """The share of predicted label sets that no row of the data has."""
    known = {row.tobytes() for _, data in parts.items() for row in data.Y.astype(bool)}
    return statistics.fmean(row.tobytes() not in known for row in predicted.astype(bool))


def verdict(runs: Sequence[Run]) -> str:
    """Whether the learned losses of one study beat the baseline on exact match, seed by seed.

    A method is called better where it wins on every seed, worse where it loses on every seed;
    anything else is no clear difference.
    """
    base = {run.seed: run for run in runs if run.method == BASELINE}
    learned = [m for m in dict.fromkeys(run.method for run in runs) if m != BASELINE]
    sentences, better = [], 0
    for method in learned:
        pairs = [(run, base[run.seed]) for run in runs if run.method == method]
        gains = _differences(pairs, "subset-accuracy")
        better += method != DEFAULT and all(gain > 0 for gain in gains)
        sentences.append(f"{method} {_effect(gains)}{_contradictions(pairs)}.")
    seeds = "this seed" if len(base) == 1 else f"each of {len(base)} seeds"
    losses = [method for method in learned if method != DEFAULT]  # which has more than its loss
    count = f"{better} of {len(losses)} learned losses" if better else "No learned loss"
    return "\n".join([f"{count} beat {BASELINE} on exact match in {seeds}.", *sentences])


def _differences(pairs: Sequence[tuple[Run, Run]], metric: str) -> list[float]:
    """The metric's differences, in points."""
    values = [[run.metrics[metric] or 0.0 for run in pair] for pair in pairs]
    return [100 * (ours - theirs) for ours, theirs in values]


def _effect(gains: list[float]) -> str:
    mean = statistics.fmean(gains)
    size = f"{abs(mean):.1f} points {'above' if mean >= 0 else 'below'} it"
    won, lost = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    if len(gains) in (won, lost):
        return f"{'helped' if won else 'did harm'}: exact match {size}"
    return f"made no clear difference: {size}, better in {won} of {len(gains)} seeds"


def _contradictions(pairs: Sequence[tuple[Run, Run]]) -> str:
    if CONTRADICTIONS not in pairs[0][0].metrics:
        return ""
    mean = statistics.fmean(_differences(pairs, CONTRADICTIONS))
    how = "fewer" if mean <= 0 else "more"
    return f", label sets that contradict themselves {abs(mean):.1f} points {how}"
