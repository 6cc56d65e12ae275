"""Sentences with a tag per token, and ``SequenceTagger``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lossnet.errors import SettingError
from lossnet.plain_text import counted
from lossnet.tasks.options import names
from lossnet.tasks.sequence.measure import SequenceMetrics
from lossnet.tasks.sequence.tags import detect_scheme, has_spans, spans
from lossnet.tasks.task import Known, emit

if TYPE_CHECKING:
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.sequence.sentences import SequenceData


class SequenceTask(SequenceMetrics):
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "sequence"
    unit = "sentences"
    formats = (
        "Sentences with a tag per token: CoNLL files (.conll, .conllu, .bio, .iob), references as "
        ".xml, also .gz, or a folder with one file per part. predict also reads text, one "
        "sentence per line with spaces between tokens, from a .txt file or standard input (-)."
    )
    probabilities = "of the tags chosen"
    estimator_path = "lossnet.tasks.sequence.tagger:SequenceTagger"
    default_method = "infnet-plus"
    outputs = (".jsonl", ".conll")
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
        trained = command in ("evaluate", "predict")
        default = " (default: as in training)" if trained else ""
        group.add_argument(
            "--token-column",
            type=int,
            metavar="N",
            help=f"where the tokens are, counted from 0{default or ' (default: 0)'}",
        )
        group.add_argument(
            "--tag-column",
            type=_column if command == "predict" else int,
            metavar="N",
            help="where the tags are, counted from 0, or from the last as -1"
            + ("; none: there are no tags" if command == "predict" else "")
            + (default or " (default: -1)"),
        )
        group.add_argument(
            "--columns",
            type=names,
            metavar="A,B",
            help="names of all other columns, from left to right; _ in place of a name leaves a "
            f"column out, none all of them{default}",
        )
        if command != "predict":
            group.add_argument(
                "--scheme",
                choices=("IOB1", "IOB2", "BIO", "BIOES"),
                help=f"convert tags to this scheme when reading; BIO is IOB2{default}",
            )
        if command == "evaluate":
            group.add_argument(
                "--strict",
                action="store_true",
                help="count only spans that follow IOB2 (or BIOES), as seqeval's strict mode",
            )
        if command == "predict":
            group.add_argument(
                "--format",
                choices=("conll", "text"),
                help="what DATA is (default: text for .txt and standard input, else conll)",
            )

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
            notes.append(
                "the tags are IOB1, and --strict counts spans that follow IOB2 alone: add --scheme "
                "IOB2"
            )
        return notes

    def describe(self, data: Any, parts: Mapping[str, Any], args: argparse.Namespace) -> str:
        """Counts, tags, spans and words."""
        from lossnet.tasks.sequence.describe import describe

        return describe(data, parts, top=args.top)

    # Predictions -----------------------------------------------------------------------------

    def write(self, model: Any, data: Any, args: argparse.Namespace) -> None:
        """The tags of every sentence, as JSON lines or CoNLL."""
        from lossnet.tasks.sequence.predictions import conll, json_lines, predicted

        tags, proba = predicted(model, data, proba=args.proba)
        if (args.out or "").lower().endswith(".conll"):
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
