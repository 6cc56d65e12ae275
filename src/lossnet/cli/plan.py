"""Print what lossnet train would do with DATA, how long it would take, and why.

Everything is read and prepared as for training, and a few batches of every phase are timed; nothing
is written.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_task_options, add_training, task_of_data
from lossnet.plain_text import aligned, counted

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.rehearsal import FitTime


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    add_training(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_task_options(parser, "plan", choose=True)


def run(args: argparse.Namespace) -> int:
    """Rehearse the training and print the plan."""
    from lossnet.cli.reading import training_parts, unlabelled_rows
    from lossnet.cli.settings import resolve
    from lossnet.tasks.rehearsal import rehearse

    task = task_of_data(args)
    settings = resolve(task, args, method=args.method, seed=args.seed)
    read = task.read(args.data, args)
    parts = training_parts(task, args, read)
    given: dict[str, Any] = {"validation_data": parts.validation}
    if args.unlabelled is not None:
        given["unlabelled"] = unlabelled_rows(task, args, parts.train)
    model = settings.estimator()
    task.check_parts(model, parts)
    plan = Plan(args, settings, read, parts, model, rehearse(model, parts.train, **given))
    if args.json:
        print(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))
        return 0
    lines = []
    for name, what, why in plan.lines():
        lines += [[name, what], *([["", f"  {why}"]] if why else [])]
    print(aligned(lines))
    for text in task.notes(parts, args):
        print(f"note: {text}")
    return 0


@dataclass(frozen=True)
class Plan:
    """What a training would do.

    Args:
        args: the command's options.
        settings: of the run.
        read: DATA as it was read.
        parts: the parts to train, validate and test on.
        model: the estimator.
        time: what the rehearsal found.
    """

    args: argparse.Namespace
    settings: Settings
    read: Mapping[str, Any]
    parts: Parts[Any]
    model: Any
    time: FitTime

    def lines(self) -> Iterator[tuple[str, str, str]]:
        """What is planned: its name, what it is, and why."""
        task, model, args = self.settings.task, self.model, self.args
        why = "--task says so" if args.task else f"by the name or the contents of {args.data}"
        yield "task", task.name, why
        yield "data", f"{self.parts.name}: {task.sizes(self.parts, args)}", self._division()
        yield "method", *self._method()
        yield "metric", model._metric_name(), self._stopping()
        yield "decision", *self._decision()
        for name, weights in self.time.nets.items():
            if weights:
                yield f"net {name}", counted(weights, "weight"), ""
        yield "threads", str(self.time.threads), self._threads()
        if self.time.preparation >= 1:
            yield "preparation", _seconds(self.time.preparation), "before the first batch"
        for phase in self.time.phases:
            epochs = f"at most {counted(phase.epochs, 'epoch')} of {_seconds(phase.epoch)}"
            size = f"{counted(phase.batches, 'batch', 'batches')} of {phase.batch_size}"
            each = f"{_seconds(phase.batch)} each, {_seconds(phase.validation)} to validate"
            yield f"phase {phase.name}", epochs, f"{size}, {each}"
        low, high = _seconds(self.time.shortest), _seconds(self.time.longest)
        why = "if the first epoch is the best, and if every phase runs to its end; a few batches "
        yield "time", f"{low} to {high}", f"{why}were timed on this machine just now"

    def to_json(self) -> dict[str, Any]:
        """The plan, without reasons."""
        from lossnet.checks import describe

        return {
            "task": self.settings.task.name,
            "data": self.parts.name,
            "parts": {part: len(data) for part, data in self.parts.items()},
            "method": self.model.method,
            "metric": self.model._metric_name(),
            "decisions": [*self._usual(), *self._rules()],
            "nets": self.time.nets,
            "threads": self.time.threads,
            "preparation": self.time.preparation,
            "phases": [asdict(phase) for phase in self.time.phases],
            "seconds": {"least": self.time.shortest, "most": self.time.longest},
            "settings": {k: describe(v) for k, v in self.model.resolved_params().items()},
        }

    def _division(self) -> str:
        from lossnet.tasks.parts import own_parts

        options = [f"--{n}" for n in ("validation", "test") if getattr(self.args, n) is not None]
        if own_parts(self.read):
            found = "DATA has parts of its own"
        elif options:
            found = "all of DATA is for training"
        else:
            found = "DATA has no parts: it is divided 60/20/20 at random, always in the same way"
        found += f"; {' and '.join(options)} given" if options else ""
        if self.parts.validation is None and self.model.validation_fraction:
            share = f"{100 * self.model.validation_fraction:g} %"
            found += f"; {share} of the training {self.settings.task.unit} are held out to validate"
        return found

    def _method(self) -> tuple[str, str]:
        from lossnet.recipes import summary

        asked, name = vars(self.model)["method"], self.model.method
        default = asked == type(self.model)().get_params(deep=False)["method"]
        why = f"the default for {self.settings.task.name} data" if default else "your choice"
        shown = name if asked == name else f"{asked}, which is {name} here"
        return shown, f"{why}. {summary(name)}"

    def _stopping(self) -> str:
        patience = self.time.phases[-1].patience
        if patience is None:
            return "not measured in training: there is no validation data to end it early"
        after = f"training ends {counted(patience, 'epoch')} after the best on validation data"
        return f"{after}, whose weights it keeps"

    def _rules(self) -> list[str]:
        """Rules of decision that are tried besides the usual one."""
        if self.model.decode != "auto":
            return []
        found: list[str] = self.model._rules_for(self.model._check_settings(), named=False)
        return found

    def _usual(self) -> list[str]:
        auto = self.model.decode == "auto"
        return [self.model.usual_rule if auto else self.model.decode]

    def _decision(self) -> tuple[str, str]:
        if self.model.decode != "auto":
            return self.model.decode, "your choice"
        if not self._rules():
            return self.model.usual_rule, "the method and the metric allow no other"
        rules = [*self._usual(), *self._rules()]
        return ", ".join(rules), self.model._how_chosen()

    def _threads(self) -> str:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            if name in os.environ:
                return f"{name} says so"
        if self.time.threads == 1:
            return "one pass over a batch is small: more threads would wait for each other"
        return "torch's own number, as one pass over a batch is large"


def _seconds(seconds: float) -> str:
    from lossnet.training.progress import format_duration

    if seconds < 0.1:
        return f"{1000 * seconds:.1f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else format_duration(seconds)
