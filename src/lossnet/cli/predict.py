"""The labels a trained model predicts, one JSON object or one CSV line a row.

DATA need not hold labels. Rows are numbered from 0 in the order of DATA.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, probability
from lossnet.errors import SettingError

if TYPE_CHECKING:
    import numpy as np


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="a folder that lossnet train wrote")
    add_data(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="a .jsonl or .csv file (default: JSON lines to the terminal)"
    )
    parser.add_argument("--proba", action="store_true", help="the labels' probabilities too")
    parser.add_argument(
        "--split",
        choices=("train", "validation", "test", "all"),
        default="all",
        help="which rows of DATA (default: all)",
    )
    parser.add_argument(
        "--threshold", type=probability, metavar="X", help="in place of the model's own"
    )
    parser.add_argument(
        "--refine",
        choices=("net", "samples", "random"),
        help="polish with the loss-net, started from the task-net's output, from samples of it, "
        "or at random",
    )


def run(args: argparse.Namespace) -> int:
    """Load model and data, write the predictions whole or not at all."""
    from lossnet.cli.folder import load_model
    from lossnet.cli.rows import load_unlabelled
    from lossnet.files import write_text
    from lossnet.metrics import apply_threshold

    kind = ".jsonl" if args.out is None else Path(args.out).suffix.lower()
    if kind not in (".jsonl", ".csv"):
        raise SettingError(f"{args.out}: predictions go to a .jsonl or a .csv file")
    model, known = load_model(args.model)
    if args.refine is not None:
        model.set_params(refine=args.refine)
        model._proposal()
    rows = load_unlabelled(args.data, known, split=args.split, labels=args.labels)
    for note in rows.notes:
        print(f"lossnet: note: {note}", file=sys.stderr)
    proba = model.predict_proba(rows.X)
    threshold = model.threshold_ if args.threshold is None else args.threshold
    on = apply_threshold(proba, threshold).astype(bool)
    write = _csv if kind == ".csv" else _json_lines
    lines = write(known.label_names, on, proba if args.proba else None)
    if args.out is None:
        sys.stdout.writelines(lines)
    else:
        write_text(args.out, "".join(lines))
        print(f"{len(on):,} predictions in {args.out}")
    return 0


def _json_lines(names: list[str], on: np.ndarray[Any, Any], proba: Any) -> Iterator[str]:
    for i, row in enumerate(on):
        line: dict[str, Any] = {
            "row": i,
            "labels": [name for name, hit in zip(names, row, strict=True) if hit],
        }
        if proba is not None:
            line["probabilities"] = {
                name: round(float(p), 6) for name, p in zip(names, proba[i], strict=True)
            }
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _csv(names: list[str], on: np.ndarray[Any, Any], proba: Any) -> Iterator[str]:
    """A column of 0 and 1 for each label, or of probabilities, named as the reader wants them."""
    from lossnet.data.csv import PREFIX

    head = ["row", *(f"{PREFIX}{name}" for name in names)]
    if proba is not None:
        head += [f"probability:{name}" for name in names]
    yield _csv_line(head)
    for i, row in enumerate(on):
        cells = [str(i), *("1" if hit else "0" for hit in row)]
        if proba is not None:
            cells += [f"{p:.6g}" for p in proba[i]]
        yield _csv_line(cells)


def _csv_line(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
