"""Rows of features with a set of labels each, and ``MultiLabelClassifier``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import labels, probability
from lossnet.plain_text import counted, joined_columns, metrics_table
from lossnet.tasks.task import Judged, Measured, Parts, Rows, Task, emit

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.multilabel.rows import Known

OWN, HALF = "at threshold", "at 0.5"


class MultiLabel:
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "multilabel"
    unit = "rows"
    estimator_name = "MultiLabelClassifier"
    default_method = "seal-nce"
    outputs: tuple[str, ...] = (".jsonl", ".csv")
    not_in_files: frozenset[str] = frozenset({"task_net", "energy_net"})

    def add_options(self, group: Any, command: str) -> None:
        """``--labels``, and for a trained model ``--threshold``."""
        group.add_argument(
            "--labels",
            type=labels,
            help="which columns are labels, where the file does not say: n for the first n, -n "
            "for the last n, or names between commas",
        )
        if command in ("evaluate", "predict"):
            group.add_argument(
                "--threshold", type=probability, metavar="X", help="in place of the model's own"
            )

    def parameters(self, args: argparse.Namespace) -> dict[str, Any]:
        """None."""
        return {}

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        """A known ending, a folder with such a file; a name that is no file is a built-in one."""
        from lossnet.data.text import extension
        from lossnet.tasks.multilabel.formats.readers import EXTENSIONS

        path = Path(source).expanduser()
        files = path.iterdir() if path.is_dir() else [path]
        return not path.exists() or any(extension(file) in EXTENSIONS for file in files)

    def load_parts(self, args: argparse.Namespace) -> Parts:
        """The parts, their columns alike."""
        from lossnet.tasks.multilabel.parts import load_parts

        return load_parts(
            args.data,
            labels=args.labels,
            validation=getattr(args, "validation", None),
            test=getattr(args, "test", None),
        )

    def load_spare(self, args: argparse.Namespace, splits: Parts) -> Rows:
        """Rows in the columns of the training part."""
        from lossnet.tasks.multilabel.rows import Known, load_unlabelled

        train: MultiLabelData = splits.train
        known = Known(train.label_names, train.n_features, train.feature_names)
        rows = load_unlabelled(args.unlabelled, known, labels=args.labels)
        return Rows(rows.data.X, rows.count, rows.split, rows.notes)

    def count(self, data: Any) -> int:
        """Rows."""
        return int(data.n_rows)

    def sizes(self, splits: Parts) -> str:
        """Rows of each part, features and labels."""
        parts = ", ".join(f"{data.n_rows:,} {part}" for part, data in splits.parts())
        train: MultiLabelData = splits.train
        return (
            f"{parts} rows, {counted(train.n_features, 'feature')}, "
            f"{counted(train.n_labels, 'label')}"
        )

    def notes(self, splits: Parts, args: argparse.Namespace) -> list[str]:
        """The reader's, and missing values."""
        from lossnet.tasks.multilabel.parts import missing_values

        return [*splits.train.notes, *missing_values(*(data for _, data in splits.parts()))]

    # Models ----------------------------------------------------------------------------------

    def estimator(self) -> type[MultiLabelClassifier]:
        """The classifier."""
        from lossnet.tasks.multilabel.classifier import MultiLabelClassifier

        return MultiLabelClassifier

    def fit(self, model: Any, splits: Parts, **options: Any) -> None:
        """Train, the labels' names given."""
        from lossnet.tasks.multilabel.parts import fit

        fit(model, splits, **options)  # type: ignore[arg-type]

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Every metric at the model's threshold (or the one given) and at 0.5."""
        from lossnet.tasks.multilabel.metric_registry import evaluate

        given = None if args is None else args.threshold
        proba = model.predict_proba(data.X)
        first = OWN if given is None else f"at {given:g}"
        own = _threshold(model, args)
        return {first: evaluate(data.Y, proba, own), HALF: evaluate(data.Y, proba, 0.5)}

    def flat(self, measured: Measured) -> dict[str, float]:
        """``example-f1`` at the threshold and, at 0.5, ``example-f1@0.5``."""
        values = dict(measured[OWN])
        # MAP reads probabilities: no threshold changes it.
        values |= {f"{name}@0.5": v for name, v in measured[HALF].items() if name != "map"}
        return values

    def table(self, report: Mapping[str, Measured]) -> str:
        """Metrics down, parts and thresholds across."""
        return metrics_table(joined_columns(report))

    def compared(self, splits: Parts) -> Sequence[str]:
        """The usual metrics and the time."""
        return ("example-f1", "example-f1@0.5", "subset-accuracy", "micro-f1", "map", "seconds")

    def measured_how(self) -> str:
        """Thresholds."""
        return "at the models' thresholds, or at 0.5 where a column says so"

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """The threshold, or the thresholds."""
        threshold = _threshold(model, args)
        return {"threshold": threshold.tolist() if hasattr(threshold, "tolist") else threshold}

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """The threshold, or the range of thresholds."""
        threshold = _threshold(model, args)
        if getattr(threshold, "ndim", 0):
            return f"threshold {threshold.min():.3g} to {threshold.max():.3g}, one a label"
        return f"threshold {float(threshold):.3g}"

    # Model folders, and data for a model -----------------------------------------------------

    def data_facts(self, splits: Parts, args: argparse.Namespace) -> dict[str, Any]:
        """The features' names, and whether labels had to be told."""
        return {"labels_given": args.labels is not None, "features": splits.train.feature_names}

    def known(self, model: Any, facts: Mapping[str, Any] | None) -> Known:
        """Names of labels and features."""
        from lossnet.tasks.multilabel.rows import Known

        names = [str(name) for name in model.label_names_]
        width = int(model.n_features_in_)
        if facts is None:
            return Known(names, width)
        features = [str(name) for name in facts["features"]]
        # Label numbers of svmlight files need no telling; a count would be told by the rows.
        told = facts["labels_given"] and not all(name.isdecimal() for name in names)
        options = names if told else None
        return Known(names, width, features, options, facts["train_checksum"], facts["source"])

    def load_labelled(self, args: argparse.Namespace, known: Known) -> Rows:
        """Rows with the model's labels, matched by name."""
        from lossnet.tasks.multilabel.rows import load_labelled

        return load_labelled(args, known)

    def load_unlabelled(self, args: argparse.Namespace, known: Known) -> Rows:
        """Rows in the model's features."""
        from lossnet.tasks.multilabel.rows import load_unlabelled

        return load_unlabelled(args.data, known, split=args.split, labels=args.labels)

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        """Nothing to check."""

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        """Nothing to draw."""
        return []

    def predict(self, model: Any, known: Known, rows: Rows, args: argparse.Namespace) -> None:
        """The labels of every row, as JSON lines or CSV."""
        from lossnet.tasks.multilabel.predictions import csv_lines, json_lines
        from lossnet.tasks.multilabel.thresholds import apply_threshold

        proba = model.predict_proba(rows.data.X)
        on = apply_threshold(proba, _threshold(model, args)).astype(bool)
        write = csv_lines if (args.out or "").lower().endswith(".csv") else json_lines
        emit(write(known.label_names, on, proba if args.proba else None), args.out)

    def describe(self, args: argparse.Namespace) -> str:
        """Counts, the commonest labels, and which go together."""
        from lossnet.tasks.multilabel.describe import describe

        return describe(args.data, labels=args.labels, top=args.top)


def _threshold(model: Any, args: argparse.Namespace | None) -> Any:
    """The one given, or the model's own."""
    given = None if args is None else args.threshold
    return model.threshold_ if given is None else given


TASK: Task = MultiLabel()
