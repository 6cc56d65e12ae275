"""Texts with a set of labels each, and ``TextClassifier``."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.errors import SettingError
from lossnet.plain_text import counted
from lossnet.tasks.multilabel.task import MultiLabelTask, add_threshold
from lossnet.tasks.task import Known, Measured, Task, once

if TYPE_CHECKING:
    from lossnet.tasks.description import Description
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.text.records import TextFormat


class TextTask(MultiLabelTask):
    """Texts with a set of labels each."""

    name = "text"
    unit = "texts"
    formats = (
        "Texts with a set of labels each: .jsonl, and with --task text .json, .csv and .tsv files, "
        "also .gz, with columns text and labels, or a folder with one file per part. predict "
        "also reads text, one per line, from a .txt file or standard input (-)."
    )
    estimator_path = "lossnet.tasks.text.classifier:TextClassifier"
    default_method = "seal-nce"
    compared_methods: tuple[str, ...] = ("cross-entropy", "seal-nce", "seal-regression")
    facts_form: Mapping[str, Any] = {
        "labels": [str],
        "text_column": (None, str, int),
        "label_column": (None, str, int),
        "label_delimiter": (None, str),
    }

    def add_options(self, group: Any, command: str) -> None:
        """Which columns hold texts and labels, and for a trained model ``--threshold``."""
        trained = "as in training" if command in ("evaluate", "predict") else ""
        add, number = group.add_argument, "or the number, from 0, in a file without a header"
        default = trained or "text or sentence"
        what = f"the column of texts, {number} (default: {default})"
        add("--text-column", type=_column, metavar="NAME", help=what)
        what = f"the column of labels (default: {trained or 'labels or label'})"
        add("--label-column", type=_column, metavar="NAME", help=what)
        what = f"what stands between labels in one cell (default: {trained or 'a comma'})"
        add("--label-delimiter", metavar="TEXT", help=what)
        if command in ("evaluate", "predict"):
            add_threshold(group, command)

    # Data ------------------------------------------------------------------------------------

    def recognises(self, source: str) -> bool:
        """``.jsonl``, also packed, and a folder with such a file."""
        from lossnet.data.text import extension

        path = Path(source).expanduser()
        files = path.iterdir() if path.is_dir() else [path]
        return any(extension(file) == ".jsonl" for file in files)

    def takes(self, inputs: Any) -> bool:
        """A sequence of strings."""
        return hasattr(inputs, "__getitem__") and len(inputs) > 0 and isinstance(inputs[0], str)

    def read(
        self, source: str, args: Namespace, *, known: Known | None = None, labelled: bool = True
    ) -> dict[str, Any]:
        """The parts, their labels in the known order; others that training never saw follow."""
        from lossnet.tasks.text.reading import STANDARD_INPUT, read_parts

        if source == STANDARD_INPUT and labelled:
            raise SettingError("standard input (-) is for predict; give a file or a folder")
        form, whole = _format(args, known), getattr(args, "split", None) == "all"
        options: dict[str, Any] = {
            "known": known and {"labels": known["labels"]},
            "labelled": labelled,
            # As first asked for: evaluate sets the split for further models.
            "undivided": once(args, "undivided", lambda: whole),
        }
        key = (source, form, repr(options))
        read: dict[str, Any] = once(args, key, lambda: read_parts(source, form, **options))
        return read

    def facts(self, data: Any, args: Namespace) -> dict[str, Any]:
        """The names of the labels, and which columns they and the texts are in."""
        columns = {"text_column": args.text_column, "label_column": args.label_column}
        return {"labels": data.label_names, **columns, "label_delimiter": args.label_delimiter}

    def known(self, model: Any) -> Known:
        """Names of labels."""
        return {"labels": [str(name) for name in model.label_names_]}

    def sizes(self, parts: Parts[Any], args: Namespace) -> str:
        """Texts of each part, and labels."""
        return f"{Task.sizes(self, parts, args)}, {counted(parts.train.n_labels, 'label')}"

    def notes(self, parts: Parts[Any], args: Namespace) -> list[str]:
        """The reader's, and labels that training never saw."""
        from lossnet.tasks.text.reading import unseen_labels

        others = [(part, data) for part, data in parts.items() if part != "train"]
        known = parts.train.label_names
        unseen = [f"{part}: {n}" for part, data in others for n in unseen_labels(data, known)]
        return [*Task.notes(self, parts, args), *unseen]

    def evaluation_notes(self, data: Any, args: Namespace, known: Known) -> list[str]:
        """Labels that training never saw."""
        from lossnet.tasks.text.reading import unseen_labels

        return unseen_labels(data, known["labels"])

    def describe(self, data: Any, parts: Mapping[str, Any], args: Namespace) -> Description:
        """Lengths of texts, the commonest labels, and which go together."""
        from lossnet.tasks.text.summary import describe

        return describe(data, parts, top=args.top)

    # Metrics and predictions -----------------------------------------------------------------

    def measure(self, model: Any, data: Any, args: Namespace | None = None) -> Measured:
        """Every metric at the model's threshold (or the one given) and at 0.5."""
        if args is not None:
            _note_truncation(model, data)
        return super().measure(model, data, args)

    def feature_rows(self, train: Any, template: Any) -> Callable[[Any], Any]:
        """TF-IDF rows, as the estimator has them without an encoder."""
        from lossnet.tasks.text.tfidf import Tfidf

        own = {"longest": template.ngrams, "least": template.min_count}
        coder = Tfidf.learn(train.texts, **own, most=template.max_features)
        return lambda data: coder.rows(data.texts)

    def write(self, model: Any, data: Any, args: Namespace) -> None:
        """The labels of every text, as JSON lines or CSV."""
        _note_truncation(model, data)
        super().write(model, data, args)


def _note_truncation(model: Any, data: Any) -> None:
    """Say how much of the texts a model's encoder cuts off."""
    found = model.truncation(data.without_labels())
    if found is not None and found.texts:
        print(f"lossnet: note: {found}", file=sys.stderr)


def _column(text: str) -> str | int:
    """A column's number where it is one, else its name."""
    return int(text) if text.isdecimal() else text


def _format(args: Namespace, known: Known | None) -> TextFormat:
    """What the options say of the columns, or what was said in training."""
    from lossnet.tasks.text.records import TextFormat

    given = [args.text_column, args.label_column, args.label_delimiter]
    if known and all(option is None for option in given):
        given = [known.get(n) for n in ("text_column", "label_column", "label_delimiter")]
    return TextFormat(*given)


TASK = TextTask()
