"""What a task is: one kind of output, how its data is read, measured, described and written.

The estimators and the commands know a task through :class:`Task` alone. A module of a task is
imported for every ``--help``: it imports what is heavy where it is used.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lossnet.plain_text import metrics_table

if TYPE_CHECKING:
    from lossnet.tasks.description import Description
    from lossnet.tasks.details import Details, Examples
    from lossnet.tasks.estimator import StructuredEstimator
    from lossnet.tasks.parts import Data, Parts

T = TypeVar("T")

#: The metrics of one part, in groups.
Measured = dict[str, dict[str, float]]
#: What a trained model knows of its data: ``data.json`` of its folder, or what the model holds.
Known = Mapping[str, Any]


class Judged(NamedTuple):
    """A trained model and the data it is evaluated on."""

    model: Any
    data: Any


class Baseline(NamedTuple):
    """What a comparison has next to the methods: something one would use instead.

    Args:
        what: it in words, for ``--help`` and reports.
        random: whether it depends on the seed; otherwise it is fitted once for all seeds.
        equal_time: whether it is trained as long as the slowest method, so that it comes last.
    """

    what: str
    random: bool = True
    equal_time: bool = False


class Task:
    """One kind of output; a subclass defines what is particular to it.

    A task must define the class attributes without a default, :meth:`read` and :meth:`compared`;
    the other defaults serve any estimator with ``predict`` and ``score``.
    """

    #: What ``--task`` calls it.
    name: str
    #: What one example is called, in the plural.
    unit: str = "rows"
    #: What its data is and which files hold it, in a sentence or two for ``--help``.
    formats: str = ""
    #: What ``predict --proba`` adds, for ``--help``: "of all labels".
    probabilities: str = ""
    #: Where its estimator is: ``"package.module:Class"``.
    estimator_path: str
    #: The estimator's default method, for ``--help``.
    default_method: str
    #: Suffixes of files that predictions can be written to; "" stands for a folder. JSON lines
    #: also go to the terminal.
    outputs: tuple[str, ...] = (".jsonl",)
    #: Parameters of the estimator that a config file or ``--set`` cannot hold.
    not_in_files: frozenset[str] = frozenset()
    #: The form of what :meth:`facts` gives, see :func:`lossnet.files.check_form`.
    facts_form: Mapping[str, Any] = {}
    #: How the columns of a comparison were measured, in words; may be empty.
    measured_how: str = ""
    #: Methods of a comparison that names none.
    compared_methods: tuple[str, ...] = ()
    #: Outside baselines of a comparison by name; one that is a method's name is that method.
    baselines: Mapping[str, Baseline] = {}

    @property
    def estimator(self) -> type[StructuredEstimator]:
        """The estimator's class."""
        module, _, name = self.estimator_path.partition(":")
        found: type[StructuredEstimator] = getattr(importlib.import_module(module), name)
        return found

    # Options ---------------------------------------------------------------------------------

    def add_options(self, group: Any, command: str) -> None:
        """Add the options of a command that this task alone has; their defaults are None or False.

        An option may belong to several tasks, which then read it the same way.
        """

    def parameters(self, args: argparse.Namespace) -> dict[str, Any]:
        """The estimator's parameters that the task's own options set."""
        return {}

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        """Whether DATA is of this task, as far as its name and its files' names show."""
        return False

    def takes(self, inputs: Any) -> bool:
        """Whether inputs in memory, as ``fit`` of its estimator takes them, are of this task."""
        return False

    def read(
        self,
        source: str,
        args: argparse.Namespace,
        *,
        known: Known | None = None,
        labelled: bool = True,
    ) -> dict[str, Data]:
        """The parts of a data set by name (train, validation, test); undivided data as ``""``.

        A data set that is stored both in one piece and in parts may have both.
        To train, evaluate and predict alike.

        Args:
            source: a file, a folder or a built-in name.
            args: the command's options.
            known: what :meth:`facts` gave of the training data; columns are matched to it.
            labelled: whether labels are needed; otherwise they may be absent and are not checked.
        """
        raise NotImplementedError

    def facts(self, data: Data, args: argparse.Namespace) -> dict[str, Any]:
        """What :meth:`read` must know of the training data to read other data alike, as JSON."""
        return {}

    def known(self, model: Any) -> Known:
        """The same of a model that was saved without it, as far as the model knows it."""
        return {}

    def sizes(self, parts: Parts[Any], args: argparse.Namespace) -> str:
        """Counts of a data set, for one line."""
        return ", ".join(f"{len(data):,} {part}" for part, data in parts.items()) + f" {self.unit}"

    def notes(self, parts: Parts[Any], args: argparse.Namespace) -> list[str]:
        """What a user should know of the data before training."""
        return list(dict.fromkeys(note for _, data in parts.items() for note in data.notes))

    def check_parts(self, model: Any, parts: Parts[Any]) -> None:
        """Raise before training where the estimator could not take one of the parts."""

    def evaluation_notes(self, data: Any, args: argparse.Namespace, known: Known) -> list[str]:
        """What a user should know of the data to evaluate on, besides its own notes."""
        return []

    def describe(
        self, data: Data, parts: Mapping[str, Data], args: argparse.Namespace
    ) -> Description:
        """What ``describe`` prints of all data and of its parts, and draws in its report."""
        from lossnet.tasks.description import Description

        sizes = [[part, f"{len(own):,}"] for part, own in parts.items()]
        return Description(data.name, [[self.unit, f"{len(data):,}"], *sizes], data.notes)

    # Metrics ---------------------------------------------------------------------------------

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Every metric on labelled data; ``args`` as ``evaluate`` has it."""
        return {"all": {str(model.metric): float(model.score(data))}}

    def flat(self, measured: Measured) -> dict[str, float]:
        """The metrics in one mapping, for the results store."""
        return {name: value for values in measured.values() for name, value in values.items()}

    def table(self, report: Mapping[str, Measured]) -> str:
        """The metrics of several parts, or of one called ``""``, for a terminal."""
        groups = [(part, *item) for part, measured in report.items() for item in measured.items()]
        return metrics_table({f"{part} {group}".strip(): found for part, group, found in groups})

    def compared(self, parts: Parts[Any]) -> Sequence[str]:
        """The columns of a comparison, among the names that :meth:`flat` gives, and seconds."""
        raise NotImplementedError

    def judged_by(self, parts: Parts[Any], metric: Any) -> str:
        """The metric that a comparison's methods are judged by, which :meth:`details` scores.

        By default the first of :meth:`compared`; ``metric`` is what the estimator optimises.
        """
        return self.compared(parts)[0]

    def examples(self, data: Any) -> Examples | None:
        """The examples of a measured part as a report shows them; None where it shows none."""
        return None

    def details(self, model: Any, data: Any, measured: Measured) -> Details:
        """What a comparison keeps of predictions besides what :meth:`measure` gave."""
        from lossnet.tasks.details import Details

        return Details()

    def fit_baseline(
        self, name: str, parts: Parts[Any], *, seed: int, seconds: float, template: Any
    ) -> Any:
        """Fit one of ``baselines``; :meth:`measure` and :meth:`details` take the result.

        It has ``predict(data)`` and the attributes ``seconds_`` and ``parameters_``, a number or
        None.

        Args:
            name: the baseline's.
            parts: the data; thresholds are tuned on the validation part.
            seed: of its randomness.
            seconds: for how long one of equal time is trained.
            template: an unfitted estimator of the task with the comparison's settings.
        """
        raise NotImplementedError

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """What the JSON report holds next to the metrics: by default the decision."""
        return {"decision": model._decision().to_json()}

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """The same in words; may be empty."""
        decision = model._decision()
        named = model.decode not in ("auto", model.usual_rule)
        return f"decides by {decision.words}" if decision.tried or named else ""

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        """Raise before anything is measured where ``evaluate``'s options do not suit the models."""

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        """Draw what ``evaluate``'s options ask for; one line to print for each picture."""
        return []

    # Predictions -----------------------------------------------------------------------------

    def write(self, model: Any, data: Any, args: argparse.Namespace) -> None:
        """Write the predictions to ``args.out``, atomically, or to the terminal.

        The suffix of ``args.out`` is one of ``outputs``, or it is None: see :func:`emit`. A folder
        to write to is new or empty: see :func:`lossnet.files.write_folder`.
        """
        rows = enumerate(self.json_rows(model, data, proba=args.proba))
        lines = (json.dumps({"row": k, **row}, ensure_ascii=False) + "\n" for k, row in rows)
        emit(lines, args.out)

    def json_rows(self, model: Any, data: Any, *, proba: bool) -> Iterator[dict[str, Any]]:
        """The predictions, one JSON object each."""
        for row in model.predict(data):
            yield {"prediction": row.tolist() if hasattr(row, "tolist") else row}

    def count(self, data: Any) -> int:
        """How many predictions the data gets."""
        return len(data)


def once(args: argparse.Namespace, key: Any, read: Callable[[], T]) -> T:
    """What ``read`` gives; several models of one command share what is read under a key."""
    cache: dict[Any, Any] = args.__dict__.setdefault("already_read", {})
    if key not in cache:
        cache[key] = read()
    found: T = cache[key]
    return found


def emit(lines: Iterable[str], out: str | None) -> None:
    """Write text to a file, atomically, or where ``out`` is None to the terminal."""
    from lossnet.files import write_text

    if out is None:
        sys.stdout.writelines(lines)
    else:
        write_text(out, "".join(lines))
