"""Write a trained model as a folder that runs without lossnet.

To run it takes onnxruntime and numpy, or with --format torch, torch and numpy. The folder's
predict.py predicts: python DIR/predict.py INPUT.
"""

from __future__ import annotations

import argparse

from lossnet.cli.parser import add_decode, decide_by


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("model", metavar="RUN", help="a folder that lossnet train wrote")
    what = "onnx (default) or torch, a torch.export program"
    parser.add_argument("--format", metavar="NAME", default="onnx", help=what)
    what = "a new or empty folder to write to"
    parser.add_argument("--out", metavar="DIR", required=True, help=what)
    what = "replace an exported model in that folder"
    parser.add_argument("--overwrite", action="store_true", help=what)
    add_decode(parser, "the model's own")


def run(args: argparse.Namespace) -> int:
    """Load the model and export it."""
    from lossnet.cli.folder import load_model
    from lossnet.exporting import check_can_write

    check_can_write(args.out, args.format, overwrite=args.overwrite)
    _, model, _ = load_model(args.model)
    decide_by(model, args)
    folder = model.export(args.out, args.format, overwrite=args.overwrite)
    print(f"exported to {folder}; predict with: python {folder / 'predict.py'} INPUT")
    return 0
