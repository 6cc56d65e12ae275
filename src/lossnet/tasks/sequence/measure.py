"""Metrics of tagged sentences, and their table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lossnet.errors import SettingError
from lossnet.plain_text import aligned, metrics_table
from lossnet.tasks.sequence.span_metrics import span_scores, token_accuracy
from lossnet.tasks.sequence.tags import PLAIN, has_spans
from lossnet.tasks.task import Measured, Task

if TYPE_CHECKING:
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.sequence.sentences import SequenceData

#: The group of the metrics over all types, and what the names of the others begin with.
ALL, TYPE = "all", "type:"


def counts_runs(model: Any) -> bool:
    """Whether runs of plain tags are spans to a tagger: where its own metric counts spans.

    Not otherwise: runs of parts of speech, say, mean nothing.
    """
    return bool(model.scheme_ == PLAIN and model.metric != "accuracy")


class SequenceMetrics(Task):
    """How the task measures a tagger; nothing here is slow to import."""

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Token accuracy; where tags mark spans, precision, recall and F1 of all and of each type.

        ``--strict`` counts only spans that follow the scheme's rules, as seqeval's strict mode.
        """
        strict = args is not None and args.strict
        predicted = model.predict(data)
        prefixed = has_spans({*data.tag_names, *model.tags_})
        if strict and not prefixed:
            raise SettingError(
                "--strict counts spans, and these tags have no prefixes (B-, I-): leave it out"
            )
        if not prefixed and not counts_runs(model):
            return {ALL: {"accuracy": token_accuracy(data.tags, predicted)}}
        mode, scheme = "strict" if strict else "conlleval", None if prefixed else PLAIN
        scores = span_scores(data.tags, predicted, mode=mode, scheme=scheme)
        overall = {
            "accuracy": scores.accuracy,
            "span-precision": scores.precision,
            "span-recall": scores.recall,
            "span-f1": scores.f1,
        }
        types = {
            f"{TYPE}{name}": {
                "precision": score.precision,
                "recall": score.recall,
                "f1": score.f1,
                "spans": score.true,
                "predicted": score.predicted,
            }
            for name, score in scores.types.items()
        }
        return {ALL: overall, **types}

    def flat(self, measured: Measured) -> dict[str, float]:
        """``accuracy``, ``span-f1`` and so on, and ``span-f1:PER`` of each type."""
        types = {
            f"span-f1:{group.removeprefix(TYPE)}": values["f1"]
            for group, values in measured.items()
            if group.startswith(TYPE)
        }
        return {**measured[ALL], **types}

    def table(self, report: Mapping[str, Measured]) -> str:
        """The metrics of all types, parts across; then, part by part, those of each type."""
        columns = {part or "value": measured[ALL] for part, measured in report.items()}
        blocks = [metrics_table(columns)]
        for part, measured in report.items():
            lines = [
                [
                    group.removeprefix(TYPE),
                    *(f"{100 * values[name]:.2f}" for name in ("precision", "recall", "f1")),
                    *(f"{int(values[name]):,}" for name in ("spans", "predicted")),
                ]
                for group, values in measured.items()
                if group.startswith(TYPE)
            ]
            if lines:
                head = [f"{part} type".strip(), "precision", "recall", "f1", "spans", "predicted"]
                blocks.append(aligned([head, *lines], right=range(1, len(head))))
        return "\n\n".join(blocks)

    def compared(self, parts: Parts[SequenceData]) -> Sequence[str]:
        """Token accuracy, F1 of spans where there are any, and the time."""
        spans = ["span-f1"] if has_spans(parts.train.tag_names) else []
        return ["accuracy", *spans, "seconds"]

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """Whether spans are counted strictly, and what word vectors cover."""
        mode = {"mode": "strict"} if args is not None and args.strict else {}
        covered = model.vector_coverage_
        return mode if covered is None else mode | {"vector_coverage": covered._asdict()}

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """The same in words."""
        return "spans counted strictly" if args is not None and args.strict else ""
