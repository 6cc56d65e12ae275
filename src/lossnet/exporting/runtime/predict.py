"""Predict with the model in this folder: ``python predict.py INPUT [--proba] [--out FILE]``.

Without lossnet; README.md says which packages it needs and what INPUT may be. In your own program,
with this folder on ``sys.path``:

    from runtime.base import load
    model = load("path/of/this/folder")
    model.predict(inputs)
    model.predict_proba(inputs)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> int:
    """Read INPUT, predict, and print or write the predictions; 2 after an error."""
    from runtime.base import ModelError, load

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("input", metavar="INPUT", type=Path)
    parser.add_argument("--proba", action="store_true", help="probabilities too")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write them to this file")
    args = parser.parse_args()
    try:
        model = load(Path(__file__).parent)
        model.write(model.read(args.input), args.out, proba=args.proba)
    except (ModelError, OSError) as error:
        print(f"predict.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
