"""Rows of features with a set of labels each, and ``MultiLabelClassifier``."""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.plain_text import counted
from lossnet.tasks.multilabel.predictions import (
    HALF,
    OWN,
    csv_text,
    each_row,
    measured_in_parts,
    predicted,
)
from lossnet.tasks.options import count_or_names, picture, probability
from lossnet.tasks.task import Baseline, Judged, Known, Measured, Task, emit, once

if TYPE_CHECKING:
    from lossnet.tasks.description import Description
    from lossnet.tasks.details import Details, Examples
    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.parts import Parts


class MultiLabelTask(Task):
    """Rows with a set of labels each."""

    name = "multilabel"
    formats = (
        "Rows of features with a set of labels each: files (.arff, .csv, .tsv, .npz, .svm, .txt, "
        "also .gz), folders of such, or digits-attributes, digits-completion and ising, with "
        "parameters: ising:coupling=2."
    )
    probabilities = "of all labels"
    estimator_path = "lossnet.tasks.multilabel.classifier:MultiLabelClassifier"
    default_method = "auto"
    outputs = (".jsonl", ".csv")
    not_in_files = frozenset({"task_net", "energy_net"})
    facts_form: Mapping[str, Any] = {"labels": [str], "features": [str], "labels_given": bool}
    measured_how = "as the models decide, or at 0.5 where a column says so"
    compared_methods: tuple[str, ...] = ("auto", "cross-entropy", "seal-nce", "seal-regression")

    def add_options(self, group: Any, command: str) -> None:
        """``--labels``, and for a trained model ``--threshold``."""
        which = "n for the first n, -n for the last n, or names between commas"
        what = f"which columns are labels, where the file does not say: {which}"
        group.add_argument("--labels", type=count_or_names, help=what)
        if command in ("evaluate", "predict"):
            add_threshold(group, command)

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        """A known ending, a folder with such a file; a name that is no file is a built-in one."""
        from lossnet.data.text import extension
        from lossnet.tasks.multilabel.formats.readers import EXTENSIONS

        path = Path(source).expanduser()
        files = path.iterdir() if path.is_dir() else [path]
        return not path.exists() or any(extension(file) in EXTENSIONS for file in files)

    def takes(self, inputs: Any) -> bool:
        """A matrix: an array, sparse, or a DataFrame."""
        return len(getattr(inputs, "shape", ())) == 2

    def read(
        self, source: str, args: Namespace, *, known: Known | None = None, labelled: bool = True
    ) -> dict[str, Any]:
        """The parts, in the known columns."""
        from lossnet.tasks.multilabel.loading import read_parts

        options: dict[str, Any] = {
            "labels": args.labels,
            "known": known and {key: known.get(key) for key in self.facts_form},
            "labelled": labelled,
            # As first asked for: evaluate sets the split for further models.
            "undivided": once(args, "undivided", lambda: getattr(args, "split", None) == "all"),
        }
        read = once(args, (source, repr(options)), lambda: read_parts(source, **options))
        if known and not labelled:
            notes = {part: [*data.notes, *_missing_values(data)] for part, data in read.items()}
            return {part: replace(data, notes=notes[part]) for part, data in read.items()}
        return read

    def facts(self, data: Any, args: Namespace) -> dict[str, Any]:
        """The names of labels and features, and whether labels had to be given."""
        names = {"labels": data.label_names, "features": data.feature_names}
        return {**names, "labels_given": args.labels is not None}

    def known(self, model: Any) -> Known:
        """Names of labels; names of features, or their number where they have none."""
        names = [str(name) for name in model.label_names_]
        features = model.encoding_.file_names
        return {"labels": names, "features": features or int(model.n_features_in_)}

    def sizes(self, parts: Parts[Any], args: Namespace) -> str:
        """Rows of each part, features and labels."""
        features = counted(parts.train.n_features, "feature")
        return f"{super().sizes(parts, args)}, {features}, {counted(parts.train.n_labels, 'label')}"

    def notes(self, parts: Parts[Any], args: Namespace) -> list[str]:
        """The reader's, missing values, and labels that are not known."""
        return [*super().notes(parts, args), *_missing(*(d for _, d in parts.items()))]

    def evaluation_notes(self, data: Any, args: Namespace, known: Known) -> list[str]:
        """Missing values, and labels that are not known."""
        return _missing(data)

    def describe(self, data: Any, parts: Mapping[str, Any], args: Namespace) -> Description:
        """Counts, the commonest labels, and which go together."""
        from lossnet.tasks.multilabel.describe import describe

        return describe(data, parts, top=args.top)

    # Metrics ---------------------------------------------------------------------------------

    def measure(self, model: Any, data: Any, args: Namespace | None = None) -> Measured:
        """Every metric of the predictions (or at the threshold given) and at 0.5."""
        from lossnet.tasks.multilabel.arrays import with_unseen
        from lossnet.tasks.multilabel.constrained import decide
        from lossnet.tasks.multilabel.metrics import METRICS, evaluate

        given = args and args.threshold
        if not data.has_dense_labels and hasattr(model, "_parts"):
            return measured_in_parts(model, data, given)
        on, proba = predicted(model, data, given)
        first = OWN if given is None else f"at {given:g}"
        decided = {first: on, HALF: decide(model.constraints_, proba, 0.5)}
        ranked = {"map": METRICS["map"](data.Y, with_unseen(proba, data.n_labels))}
        filled = {how: with_unseen(labels, data.n_labels) for how, labels in decided.items()}
        return {how: evaluate(data.Y, labels) | ranked for how, labels in filled.items()}

    def flat(self, measured: Measured) -> dict[str, float]:
        """``example-f1`` of the predictions and, at 0.5, ``example-f1@0.5``."""
        # MAP reads probabilities, and entries are counted: no threshold changes them.
        same = "map", "entries"
        half = {f"{name}@0.5": v for name, v in measured[HALF].items() if name not in same}
        return measured[OWN] | half

    def compared(self, parts: Parts[Any]) -> tuple[str, ...]:
        """The usual metrics and the time."""
        return ("example-f1", "example-f1@0.5", "subset-accuracy", "micro-f1", "map", "seconds")

    def judged_by(self, parts: Parts[Any], metric: Any) -> str:
        """What the estimator optimises where rows can be scored by it, else example-F1."""
        from lossnet.tasks.multilabel.details import SCORED

        return str(metric) if metric in SCORED else SCORED[0]

    def examples(self, data: Any) -> Examples:
        """The rows' labels."""
        from lossnet.tasks.multilabel.details import label_examples

        return label_examples(data)

    def details(self, model: Any, data: Any, measured: Measured) -> Details:
        """Scores by row, F1 by label, and calibration where predictions are probabilities."""
        from lossnet.tasks.multilabel.details import label_details

        method = getattr(model, "method_", None)
        calibrates = method is None or (method.task_net_predicts and model.refine is None)
        return label_details(data, *predicted(model, data), calibrates=calibrates)

    @property
    def baselines(self) -> Mapping[str, Baseline]:  # type: ignore[override]
        """Those of scikit-learn, and an ensemble."""
        from lossnet.tasks.multilabel.baselines import BASELINES

        return BASELINES

    def fit_baseline(
        self, name: str, parts: Parts[Any], *, seed: int, seconds: float, template: Any
    ) -> Any:
        """Scikit-learn's on the features, or nets like the template."""
        from lossnet.tasks.multilabel.baselines import fit_baseline

        how: Any = {"seed": seed, "seconds": seconds, "template": template}
        return fit_baseline(name, parts, self.feature_rows, **how)

    def feature_rows(self, train: Any, template: Any) -> Callable[[Any], Any]:
        """How data becomes rows for scikit-learn, learnt from the training part."""
        from lossnet.tasks.multilabel.baselines import preparation

        return preparation(train)

    def model_facts(self, model: Any, args: Namespace | None = None) -> dict[str, Any]:
        """The threshold, or the thresholds, and the decision."""
        threshold = _threshold(model, args)
        plain = threshold.tolist() if hasattr(threshold, "tolist") else threshold
        given = args is not None and args.threshold is not None
        decided = {} if given else {"decision": model._decision().to_json()}
        return {"threshold": plain, "temperature": model.temperature_, **decided}

    def model_text(self, model: Any, args: Namespace | None = None) -> str:
        """The threshold, or the range of thresholds, and the decision."""
        threshold = _threshold(model, args)
        text = f"threshold {float(threshold):.3g}" if not getattr(threshold, "ndim", 0) else ""
        text = text or f"threshold {threshold.min():.3g} to {threshold.max():.3g}, one per label"
        if model.temperature_ is not None:
            text += f"; calibrated (temperature {model.temperature_:.3g})"
        decision = model._decision()
        given = args is not None and args.threshold is not None
        if given or (decision.rule == model.usual_rule and not decision.tried):
            return text
        return f"{text}; decides by {decision.words}"

    def draw(self, judged: Mapping[str, Judged], args: Namespace) -> list[str]:
        """How reliable the models' probabilities are."""
        if args.reliability is None:
            return []
        from lossnet.tasks.multilabel.reliability_report import draw_models

        title = f"{Path(args.data).name}, {args.split}"
        return [f"picture: {draw_models(judged, args.reliability, title=title)}"]

    # Predictions -----------------------------------------------------------------------------

    def write(self, model: Any, data: Any, args: Namespace) -> None:
        """The labels of every row, as JSON lines or CSV."""
        chosen = copy.copy(model)
        if args.threshold is not None:
            chosen.set_params(decode="threshold")
            chosen.threshold_ = args.threshold
        if (args.out or "").lower().endswith(".csv"):
            emit([csv_text(chosen, data, args.proba)], args.out)
        else:
            super().write(chosen, data, args)

    def json_rows(self, model: Any, data: Any, *, proba: bool) -> Iterator[dict[str, Any]]:
        """The labels that are on, and all probabilities where asked for."""
        names = model.label_names_
        for on, values in each_row(model, data):
            row: dict[str, Any] = {"labels": [n for n, hit in zip(names, on, strict=True) if hit]}
            if proba:
                rounded = (round(float(value), 6) for value in values)
                row["probabilities"] = dict(zip(names, rounded, strict=True))
            yield row


def add_threshold(group: Any, command: str) -> None:
    """``--threshold`` and, for ``evaluate``, ``--reliability``."""
    what = "in place of the model's own"
    group.add_argument("--threshold", type=probability, metavar="X", help=what)
    if command == "evaluate":
        what = "draw how often labels of a given probability are on, before and after calibration"
        group.add_argument("--reliability", type=picture, metavar="FILE", help=what)


def _threshold(model: Any, args: Namespace | None) -> Any:
    """The one given, or the model's own."""
    given = args and args.threshold
    return model.threshold_ if given is None else given


def _missing(*parts: MultiLabelData) -> list[str]:
    """Notes on missing values and on labels that are not known."""
    unknown, every = (sum(n) for n in zip(*((d.n_unknown, d.Y.size) for d in parts), strict=True))
    left = f"{unknown:,} of {counted(every, 'label entry', 'label entries')} are not known"
    what = f"{left}: losses and metrics leave them out"
    return _missing_values(*parts) + ([what] if unknown else [])


def _missing_values(*parts: MultiLabelData) -> list[str]:
    """A note on what a model does about missing values, where there are any."""
    count = sum(data.n_missing for data in parts)
    what = "1 missing value is" if count == 1 else f"{count:,} missing values are"
    return [f"{what} replaced by the mean of the training rows"] if count else []


TASK = MultiLabelTask()
