"""Sentences with a tag per token, and ``SequenceTagger``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lossnet.errors import SettingError
from lossnet.plain_text import aligned, counted, metrics_table
from lossnet.tasks.options import names
from lossnet.tasks.sequence.measured import ALL, groups_of, types_of
from lossnet.tasks.sequence.span_metrics import SHARES
from lossnet.tasks.sequence.tags import BRACKETS, detect_scheme, has_spans, spans
from lossnet.tasks.task import Baseline, Known, Measured, Task, emit

if TYPE_CHECKING:
    from lossnet.tasks.description import Description
    from lossnet.tasks.details import Details, Examples
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.sequence.sentences import SequenceData


class SequenceTask(Task):
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "sequence"
    unit = "sentences"
    formats = (
        "Sentences with a tag per token: CoNLL files (.conll, .conllu, .bio, .iob), references as "
        ".xml, trees in brackets (.trees, .mrg, .ptb), also .gz, or a folder with one file per "
        "part. predict also reads text, one sentence per line with spaces between tokens, from a "
        ".txt file or standard input (-)."
    )
    probabilities = "of the tags chosen"
    estimator_path = "lossnet.tasks.sequence.tagger:SequenceTagger"
    default_method = "cross-entropy"
    compared_methods: tuple[str, ...] = ("cross-entropy", "seal-nce", "seal-margin")
    baselines: Mapping[str, Baseline] = {"crf": Baseline("a linear-chain CRF on the same net")}
    outputs: tuple[str, ...] = (".jsonl", ".conll", ".trees")
    facts_form: Mapping[str, Any] = {
        "layout": {
            "token_column": int,
            "tag_column": (None, int),
            "columns": [str],
            "scheme": (None, str),
        },
        "tags": [str],
        "columns": {str: [str]},
    }

    def add_options(self, group: Any, command: str) -> None:
        """Which column of a CoNLL file is which, and the tags' scheme."""
        predict, add = command == "predict", group.add_argument
        trained = " (default: as in training)" if command in ("evaluate", "predict") else ""
        text = f"where the tokens are, counted from 0{trained or ' (default: 0)'}"
        add("--token-column", type=int, metavar="N", help=text)
        text = "where the tags are, counted from 0, or from the last as -1"
        text += ("; none: there are no tags" if predict else "") + (trained or " (default: -1)")
        add("--tag-column", type=_column if predict else int, metavar="N", help=text)
        text = "names of all other columns, from left to right; _ in place of a name leaves a "
        text += f"column out, none all of them; of trees: pos{trained}"
        add("--columns", type=names, metavar="A,B", help=text)
        if not predict:
            text = f"convert tags to this scheme when reading; BIO is IOB2{trained}"
            add("--scheme", choices=("IOB1", "IOB2", "BIO", "BIOES"), help=text)
        if command == "evaluate":
            text = "count only spans that follow IOB2 (or BIOES), as seqeval's strict mode"
            add("--strict", action="store_true", help=text)
        if predict:
            text = "what DATA is (default: text for .txt and standard input, else conll)"
            add("--format", choices=("conll", "text"), help=text)

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        """``.conll``, ``.bio`` and the like; ``a.train``; a folder with such a training file.

        Text that may be CoNLL is an error which says so.
        """
        from lossnet.tasks.sequence.folders import holds_sequences, looks_like_conll

        if holds_sequences(source):
            return True
        if looks_like_conll(source):
            raise SettingError(
                f"{source} may hold sentences, one token and its tag per line: add --task "
                "sequence, or another --task where its .txt files hold rows of features"
            )
        return False

    def takes(self, inputs: Any) -> bool:
        """Lists of strings, one for each sentence."""
        first = inputs[0] if isinstance(inputs, list | tuple) and inputs else None
        return isinstance(first, list | tuple) and all(isinstance(word, str) for word in first)

    def read(
        self,
        source: str,
        args: argparse.Namespace,
        *,
        known: Known | None = None,
        labelled: bool = True,
    ) -> dict[str, Any]:
        """CoNLL, references, and text to tag."""
        from lossnet.tasks.sequence.reading import read_sentences

        return read_sentences(source, args, known, labelled=labelled)

    def facts(self, data: Any, args: argparse.Namespace) -> dict[str, Any]:
        """Which column is which, the tags, and the columns with their values."""
        from lossnet.tasks.sequence.reading import layout_facts

        values = {
            name: sorted({value for row in rows for value in row})
            for name, rows in data.columns.items()
        }
        layout = layout_facts(data.layout, args.scheme)
        return {"layout": layout, "tags": data.tag_names, "columns": values}

    def known(self, model: Any) -> Known:
        """The same, the tokens first and the tags last."""
        from lossnet.tasks.sequence.conll import ConllFormat
        from lossnet.tasks.sequence.reading import layout_facts

        columns = {name: list(values) for name, values in model.coder_.columns.items()}
        layout = layout_facts(ConllFormat(columns=tuple(columns)), None)
        return {"layout": layout, "tags": model.tags_, "columns": columns}

    def sizes(self, parts: Parts[SequenceData], args: argparse.Namespace) -> str:
        """Sentences and tokens of each part, tags and types of spans."""
        train = parts.train
        counts = [
            super().sizes(parts, args),
            f"{sum(data.n_tokens for _, data in parts.items()):,} tokens",
            counted(len(train.tag_names), "tag"),
        ]
        if has_spans(train.tag_names):
            types = {span.type for tags in train.tags or [] for span in spans(tags)}
            counts.append(f"{counted(len(types), 'type')} of spans")
        if train.columns:
            counts.append(counted(len(train.columns), "other column"))
        return ", ".join(counts)

    def notes(self, parts: Parts[SequenceData], args: argparse.Namespace) -> list[str]:
        """The reader's, tags absent from training, and files that were not used."""
        from lossnet.tasks.sequence.reading import other_parts, unseen_tags

        notes = super().notes(parts, args)
        if parts.test is not None:  # in validation data such tags are an error
            notes += [f"test: {note}" for note in unseen_tags(parts.test, parts.train.tag_names)]
        divided = args.validation is None and args.test is None
        return notes + (other_parts(args.data) if divided else [])

    def evaluation_notes(
        self, data: SequenceData, args: argparse.Namespace, known: Known
    ) -> list[str]:
        """Tags that count as wrong, and tags that ``--strict`` finds no spans in."""
        from lossnet.tasks.sequence.reading import unseen_tags

        notes = unseen_tags(data, known["tags"])
        if args.strict and has_spans(data.tag_names) and detect_scheme(data.tags or []) == "IOB1":
            only = "--strict counts spans that follow IOB2 alone"
            notes.append(f"the tags are IOB1, and {only}: add --scheme IOB2")
        return notes

    def describe(
        self, data: Any, parts: Mapping[str, Any], args: argparse.Namespace
    ) -> Description:
        """Counts, tags, spans and words."""
        from lossnet.tasks.sequence.describe import describe

        return describe(data, parts, top=args.top)

    # Metrics ---------------------------------------------------------------------------------

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Token accuracy; where tags mark spans, precision, recall and F1 of all and of each type.

        Where they are trees, the same of brackets, and the share of exact trees. ``--strict``
        counts only spans that follow the scheme's rules, as seqeval's strict mode.
        """
        from lossnet.tasks.sequence.measured import measured_tags

        return measured_tags(model, data, strict=args is not None and args.strict)

    def flat(self, measured: Measured) -> dict[str, float]:
        """``accuracy``, ``span-f1`` and so on, and ``span-f1:PER`` of each type."""
        kind = BRACKETS if BRACKETS in measured[ALL] else "span-f1"
        types = {f"{kind}:{name}": values["f1"] for name, values in types_of(measured)}
        return {**measured[ALL], **types}

    def table(self, report: Mapping[str, Measured]) -> str:
        """The metrics of all types, parts across; then, part by part, those of each type."""
        columns = {part or "value": measured[ALL] for part, measured in report.items()}
        blocks = [metrics_table(columns)]
        for part, measured in report.items():
            lines = [[f"{part} type".strip(), *SHARES, "spans", "predicted"]]
            for name, values in types_of(measured):
                shares = [f"{100 * values[share]:.2f}" for share in SHARES]
                counts = [f"{int(values[count]):,}" for count in ("spans", "predicted")]
                lines.append([name, *shares, *counts])
            if len(lines) > 1:
                blocks.append(aligned(lines, right=range(1, 6)))
        return "\n\n".join(blocks)

    def compared(self, parts: Parts[SequenceData]) -> Sequence[str]:
        """Token accuracy, F1 of spans or brackets where there are any, and the time."""
        from lossnet.tasks.sequence.tree_coding import are_tree_tags

        if are_tree_tags(parts.train.tag_names):
            return [BRACKETS, "exact-trees", "accuracy", "seconds"]
        spans = ["span-f1"] if has_spans(parts.train.tag_names) else []
        return ["accuracy", *spans, "seconds"]

    def judged_by(self, parts: Parts[Any], metric: Any) -> str:
        """The metric named, else F1 of spans, brackets or roles where there are any."""
        compared = self.compared(parts)
        if metric in compared:
            return str(metric)
        return next((name for name in compared if name.endswith("-f1")), compared[0])

    def examples(self, data: Any) -> Examples:
        """Tokens and their tags."""
        from lossnet.tasks.sequence.details import tag_examples

        return tag_examples(data)

    def details(self, model: Any, data: Any, measured: Measured) -> Details:
        """Counts by sentence, F1 by type, and calibration where predictions are probabilities."""
        from lossnet.tasks.sequence.details import tag_details

        predicted = model.predict(data)
        counts = self.counts(model, data, predicted)
        return tag_details(model, data, predicted, counts, groups_of(measured))

    def counts(self, model: Any, data: Any, predicted: Any) -> Mapping[str, Any]:
        """Right, predicted and true spans or brackets of each sentence, ``(n, 3)``, by metric."""
        from lossnet.tasks.sequence.details import counts_of

        return counts_of(model, data, predicted)

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """How spans are counted, the decision, and the words that have vectors, or none."""
        mode: dict[str, Any] = {"mode": "strict"} if args is not None and args.strict else {}
        mode |= Task.model_facts(self, model, args)
        if model.encoder_ is not None:
            return mode | {"words_lost": model.words_lost_}
        covered = model.vector_coverage_
        return mode if covered is None else mode | {"vector_coverage": covered._asdict()}

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """The same in words."""
        strictly = "spans counted strictly" if args is not None and args.strict else ""
        return "; ".join(filter(None, [strictly, super().model_text(model, args)]))

    # Predictions -----------------------------------------------------------------------------

    def write(self, model: Any, data: Any, args: argparse.Namespace) -> None:
        """The tags of every sentence as JSON lines or CoNLL, or the trees in brackets."""
        from lossnet.tasks.sequence.predictions import bracketed, conll, json_lines, predicted

        out = (args.out or "").lower()
        if out.endswith(".trees"):
            emit(bracketed(model, data, proba=args.proba), args.out)
            return
        tags, proba = predicted(model, data, proba=args.proba)
        if out.endswith(".conll"):
            emit([conll(data, tags, proba)], args.out)
        else:
            emit(json_lines(model, data, tags, proba), args.out)

    def count(self, data: Any) -> int:
        """Sentences, and empty lines of a text."""
        return len(data) + len(data.blank)


def _column(text: str) -> int | str:
    """A column's number, or ``none``."""
    try:
        return text if text == "none" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a column's number, or none") from None


TASK = SequenceTask()
