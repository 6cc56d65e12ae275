"""Memory and seconds of predicting a large image, before there were tiles and in tiles.

    OMP_NUM_THREADS=1 python benchmarks/tiles.py [--side 2000] [--nets unet fcn] [--average 1 3]

Every row is a process of its own, so that its peak of resident memory is its own: it loads a
segmenter of the default width that was trained on the horses (32 x 32), predicts one image of
``--side`` pixels squared, a mosaic of the horses, and prints the peak above that of predicting one
crop. ``before`` turns tiles off: one pass over the image, or with ``average`` above 1 training
crops next to each other. Then the same image in tiles, and how far the two are apart.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from images import DATA, ROOT

from lossnet import ImageSegmenter
from lossnet.exporting.runtime import tiling
from lossnet.tasks.image import load_image_splits


def mosaic(side: int) -> np.ndarray:
    """One image of the horses side by side, ``(1, side, side, 3)``."""
    images = load_image_splits(ROOT / DATA["horses"][0]).test.images
    count = -(-side // images.shape[1])
    order = np.random.default_rng(0).integers(len(images), size=(count, count))
    rows = [np.concatenate(images[row], 1) for row in order]
    return np.concatenate(rows, 0)[None, :side, :side]


def fit(net: str, folder: Path) -> None:
    """A segmenter of the default settings, trained for an epoch."""
    splits = load_image_splits(ROOT / DATA["horses"][0])
    model = ImageSegmenter("cross-entropy", task_net=net, max_epochs=1, random_state=0)
    model.fit(splits.train, validation_data=splits.validation).save(folder)


def peak() -> float:
    """The largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def predict(folder: Path, side: int, average: int, out: Path, *, before: bool) -> None:
    """Predict in this process; print seconds and the peak as JSON."""
    model = ImageSegmenter.load(folder, average=average)
    image = mosaic(side)
    model.predict_proba(image[:, :32, :32])
    loaded = peak()
    if before:
        tiling.TILE = 10**9
        tiling.outgrown = lambda *given: False
    began = time.perf_counter()
    np.save(out, model.predict_proba(image))
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak": peak(), "more": peak() - loaded}))


def in_process(
    folder: Path, side: int, average: int, out: Path, *, before: bool
) -> dict[str, float]:
    """What :func:`predict` prints in a process of its own."""
    given = [str(folder), "--side", str(side), "--average", str(average), "--out", str(out)]
    command = [sys.executable, __file__, "--predict", *given, *(["--before"] if before else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=2000)
    parser.add_argument("--nets", nargs="+", default=["unet", "fcn"])
    parser.add_argument("--average", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--predict", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--before", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.predict is not None:
        predict(args.predict, args.side, args.average[0], args.out, before=args.before)
        return 0
    with tempfile.TemporaryDirectory() as place:
        for net in args.nets:
            folder = Path(place) / net
            fit(net, folder)
            for average in args.average:
                files = [Path(place) / f"{kind}.npy" for kind in ("before", "tiles")]
                for file in files:
                    row = in_process(folder, args.side, average, file, before=file is files[0])
                    what = f"{net}, average={average}, {file.stem}"
                    print(
                        f"{what:26s} peak {row['peak']:6.0f} MB, "
                        f"{row['more']:6.0f} above one crop's, {row['seconds']:6.1f} s",
                        flush=True,
                    )
                apart = np.abs(np.load(files[0]) - np.load(files[1]))
                print(f"  probabilities apart: mean {apart.mean():.1e}, at most {apart.max():.1e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
