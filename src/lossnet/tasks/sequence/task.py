"""Sentences with a tag a token, and ``SequenceTagger``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import names
from lossnet.errors import SettingError
from lossnet.plain_text import counted
from lossnet.tasks.task import Judged, Measured, Parts, Rows, Task, emit

if TYPE_CHECKING:
    from lossnet.tasks.sequence.parts import TaggedParts
    from lossnet.tasks.sequence.sentences import SequenceData
    from lossnet.tasks.sequence.tagger import SequenceTagger
    from lossnet.tasks.sequence.text import Known


class Sequences:
    """See :class:`~lossnet.tasks.task.Task`."""

    name = "sequence"
    unit = "sentences"
    estimator_name = "SequenceTagger"
    default_method = "infnet-plus"
    outputs: tuple[str, ...] = (".jsonl", ".conll")
    not_in_files: frozenset[str] = frozenset()

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

    def parameters(self, args: argparse.Namespace) -> dict[str, Any]:
        """None."""
        return {}

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
                f"{source} may hold sentences, a token and its tag a line: add --task sequence; or "
                "--task multilabel where its .txt files hold rows of features"
            )
        return False

    def load_parts(self, args: argparse.Namespace) -> TaggedParts:
        """The parts, their columns alike."""
        from lossnet.tasks.sequence.parts import load_parts

        return load_parts(args)

    def load_spare(self, args: argparse.Namespace, splits: Any) -> Rows:
        """Sentences in the columns of the training part."""
        from lossnet.tasks.sequence.rows import for_model, load_unlabelled
        from lossnet.tasks.sequence.text import Known

        train: SequenceData = splits.train
        values = {name: {v for row in rows for v in row} for name, rows in train.columns.items()}
        known = Known(train.tag_names, values, splits.layout)
        rows = load_unlabelled(args.unlabelled, known)
        data = replace(for_model(rows.data.data, known, args.unlabelled), tags=None)
        return Rows(data, len(data), rows.split, rows.notes)

    def count(self, data: Any) -> int:
        """Sentences."""
        return len(data)

    def sizes(self, splits: Parts) -> str:
        """Sentences and tokens of each part, tags and types of spans."""
        from lossnet.tasks.sequence.tags import has_spans, spans

        train: SequenceData = splits.train
        told = [
            ", ".join(f"{len(data):,} {part}" for part, data in splits.parts()) + " sentences",
            f"{sum(data.n_tokens for _, data in splits.parts()):,} tokens",
            counted(len(train.tag_names), "tag"),
        ]
        if has_spans(train.tag_names):
            types = {span.type for tags in train.tags or [] for span in spans(tags)}
            told.append(f"{counted(len(types), 'type')} of spans")
        if train.columns:
            told.append(f"{counted(len(train.columns), 'column')} besides")
        return ", ".join(told)

    def notes(self, splits: Any, args: argparse.Namespace) -> list[str]:
        """The reader's, tags that training has not got, and files that were not used."""
        from lossnet.tasks.sequence.parts import notes_on, other_parts

        divided = args.validation is None and args.test is None
        return notes_on(splits) + (other_parts(args.data) if divided else [])

    # Models ----------------------------------------------------------------------------------

    def estimator(self) -> type[SequenceTagger]:
        """The tagger."""
        from lossnet.tasks.sequence.tagger import SequenceTagger

        return SequenceTagger

    def fit(self, model: Any, splits: Parts, **options: Any) -> None:
        """Train."""
        model.fit(splits.train, validation_data=splits.validation, **options)

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Token accuracy, and precision, recall and F1 of spans."""
        from lossnet.tasks.sequence.measure import measure

        return measure(model, data, strict=args is not None and args.strict)

    def flat(self, measured: Measured) -> dict[str, float]:
        """``accuracy``, ``span-f1``, ``span-f1:PER``."""
        from lossnet.tasks.sequence.measure import flat

        return flat(measured)

    def table(self, report: Mapping[str, Measured]) -> str:
        """The metrics of all spans, then of each type."""
        from lossnet.tasks.sequence.measure import table

        return table(report)

    def compared(self, splits: Parts) -> Sequence[str]:
        """Token accuracy, F1 of spans where there are such, and the time."""
        from lossnet.tasks.sequence.tags import has_spans

        spans = ["span-f1"] if has_spans(splits.train.tag_names) else []
        return ["accuracy", *spans, "seconds"]

    def measured_how(self) -> str:
        """Nothing to tell."""
        return ""

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """Whether spans are counted strictly, and what word vectors cover."""
        mode = {"mode": "strict"} if args is not None and args.strict else {}
        covered = model.vector_coverage_
        return mode if covered is None else mode | {"vector_coverage": covered._asdict()}

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """The same in words."""
        return "spans counted strictly" if args is not None and args.strict else ""

    # Model folders, and data for a model -----------------------------------------------------

    def data_facts(self, splits: Any, args: argparse.Namespace) -> dict[str, Any]:
        """Which column was which, and what was trained on."""
        sentences = replace(splits.train, documents=None).checksum()
        return {"layout": splits.layout.facts(), "train_sentences": sentences}

    def known(self, model: Any, facts: Mapping[str, Any] | None) -> Known:
        """Tags, and the columns of the files."""
        from lossnet.tasks.sequence.layout import Layout
        from lossnet.tasks.sequence.text import Known

        columns = model.coder_.columns
        if facts is None:
            return Known(model.tags_, columns, Layout(columns=tuple(columns)))
        layout = Layout.from_facts(facts["layout"])
        told = (facts["train_checksum"], facts["train_sentences"], facts["source"])
        return Known(model.tags_, columns, layout, *told)

    def load_labelled(self, args: argparse.Namespace, known: Known) -> Rows:
        """Tagged sentences."""
        from lossnet.tasks.sequence.rows import load_labelled

        return load_labelled(args, known)

    def load_unlabelled(self, args: argparse.Namespace, known: Known) -> Rows:
        """Sentences of CoNLL files or of text."""
        from lossnet.tasks.sequence.rows import load_unlabelled

        return load_unlabelled(args.data, known, options=args, split=args.split, kind=args.format)

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        """Nothing to check."""

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        """Nothing to draw."""
        return []

    def predict(self, model: Any, known: Known, rows: Rows, args: argparse.Namespace) -> None:
        """The tags of every sentence, as JSON lines or CoNLL."""
        from lossnet.tasks.sequence.predictions import conll, json_lines, predicted, span_finder

        tags, proba = predicted(model, rows.data, known, proba=args.proba)
        if (args.out or "").lower().endswith(".conll"):
            emit([conll(rows.data, tags, proba)], args.out)
        else:
            emit(json_lines(rows.data, tags, proba, find=span_finder(model)), args.out)

    def describe(self, args: argparse.Namespace) -> str:
        """Counts, tags, spans and words."""
        from lossnet.tasks.sequence.describe import describe
        from lossnet.tasks.sequence.layout import default_layout, open_files, read, read_parts

        layout, files = default_layout(args.data).changed(args), open_files(args.data)
        whole = layout.kept(read(files, layout))
        splits = read_parts(files, layout) if files.path.is_dir() else None
        return describe(whole, splits, top=args.top)


def _column(text: str) -> int | str:
    """What ``--tag-column`` says: a number or ``none``."""
    try:
        return text if text == "none" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a column's number, or none") from None


TASK: Task = Sequences()
