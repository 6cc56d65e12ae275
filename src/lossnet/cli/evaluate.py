"""Every metric of a trained model, at its own threshold and at 0.5.

Labels and features are matched by name. Without --split: the test part of DATA that has parts, or
that the model was trained on; else all rows.
"""

from __future__ import annotations

import argparse
import json
import sys

from lossnet.cli.parser import add_data, probability


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="a folder that lossnet train wrote")
    add_data(parser)
    parser.add_argument(
        "--split", choices=("train", "validation", "test", "all"), help="which rows of DATA"
    )
    parser.add_argument(
        "--threshold", type=probability, metavar="X", help="in place of the model's own"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Load model and data, print the metrics."""
    from lossnet.cli.folder import load_model
    from lossnet.cli.measure import measure, threshold_text
    from lossnet.cli.rows import load_labelled
    from lossnet.cli.text import metrics_table

    model, known = load_model(args.model)
    rows = load_labelled(args.data, known, split=args.split, labels=args.labels)
    for note in rows.notes:
        print(f"lossnet: note: {note}", file=sys.stderr)
    measured = measure(model, rows.X, rows.Y, args.threshold)
    threshold = model.threshold_ if args.threshold is None else args.threshold
    count = int(rows.X.shape[0])
    if args.json:
        plain = threshold.tolist() if hasattr(threshold, "tolist") else threshold
        about = {"data": args.data, "split": rows.split, "rows": count, "threshold": plain}
        print(json.dumps({**about, "metrics": measured}, indent=2))
        return 0
    which = "all" if rows.split == "all" else f"the {rows.split} part's"
    print(f"{args.data}: {which} {count:,} rows; threshold {threshold_text(threshold)}")
    print(metrics_table(measured))
    return 0
