"""Peak memory of a fit on N and on 4 N rows, read from disk by batches and held in memory.

    OMP_NUM_THREADS=1 python benchmarks/larger_than_memory.py [--only csr conll pictures]

``csr`` is a sparse X and Y of 50,000 columns and 2,000 labels in one ``.npz`` file, ``conll`` a
file of tagged sentences, ``pictures`` a folder of PNG pictures and masks; all are synthetic, and
written to a temporary folder. Every row of the table is a process of its own. It fits one epoch
(of ``conll`` forty batches), with validation data of one small size, and prints its seconds of CPU
and the peak of its resident memory above that of a small fit, which counts what is imported.
``in memory`` is the default for files of this size; ``on disk`` lowers the sizes from which data
stays there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: Batches of tagged sentences.
BATCHES = 40


class Case(NamedTuple):
    """Rows of the data and of the small fit, and what writes so many and fits a model to them."""

    rows: int
    few: int
    write: Callable[[Path, int], Any]
    fit: Callable[[Path, Path], Any]


def write_csr(path: Path, rows: int) -> None:
    """Rows of 100 features and 3 labels."""
    from scipy.sparse import csr_matrix

    from lossnet.tasks.multilabel import write_sparse

    rng = np.random.default_rng(0)

    def matrix(count: int, on: int, columns: int) -> csr_matrix:
        places = np.sort(rng.integers(columns, size=(count, on)), axis=1)
        ends = np.arange(count + 1) * on
        ones = np.ones(count * on, dtype=np.float32)
        found = csr_matrix((ones, places.ravel(), ends), shape=(count, columns))
        found.sum_duplicates()
        found.data[:] = 1
        return found

    def chunks() -> Iterator[Any]:
        for first in range(0, rows, 10_000):
            count = min(10_000, rows - first)
            yield matrix(count, 100, 50_000), matrix(count, 3, 2000)

    write_sparse(path / "d.npz", chunks())


def fit_csr(path: Path, few: Path) -> None:
    """One epoch of a small net."""
    from lossnet import MultiLabelClassifier
    from lossnet.tasks.multilabel import load

    settings: Any = {"hidden": (8,), "max_epochs": 1, "batch_size": 1024, "random_state": 0}
    model = MultiLabelClassifier("cross-entropy", **settings, threshold=0.5, decode="threshold")
    model.fit(load(path / "d.npz"), validation_data=load(few / "d.npz"))


def write_conll(path: Path, rows: int) -> None:
    """Sentences of 20 tokens."""
    rng = np.random.default_rng(0)
    with (path / "d.conll").open("w") as file:
        for _ in range(rows):
            numbers = rng.zipf(1.3, 20) % 20_000
            file.writelines(f"word{k}\tP{k % 7}\t{'BI'[k % 2]}-N{k % 5}\n" for k in numbers)
            file.write("\n")


def fit_conll(path: Path, few: Path) -> None:
    """Some batches of a small tagger."""
    from lossnet import Callback, SequenceTagger

    class Stop(Callback):
        left = BATCHES

        def on_batch(self, trainer: Any, losses: Any) -> None:
            self.left -= 1
            if not self.left:
                trainer.stop()

    settings: Any = {"hidden": 8, "word_width": 8, "max_epochs": 1, "batch_size": 64}
    model = SequenceTagger("cross-entropy", **settings, decode="argmax", random_state=0)
    model.fit(path / "d.conll", validation_data=few / "d.conll", callbacks=[Stop()])


def write_pictures(path: Path, rows: int) -> None:
    """Noisy discs of 192 x 192 pixels, in colours."""
    from PIL import Image

    rng = np.random.default_rng(0)
    down, right = np.mgrid[:192, :192]
    for folder in ("images", "masks"):
        (path / folder).mkdir()
    for k in range(rows):
        centre = rng.integers(40, 150, 2)
        mask = ((down - centre[0]) ** 2 + (right - centre[1]) ** 2 < 900).astype(np.uint8)
        pixels = 80 * mask[..., None] + rng.integers(0, 100, (192, 192, 3), dtype=np.uint8)
        for folder, one in (("images", pixels), ("masks", mask)):
            picture = Image.fromarray(one.astype(np.uint8))
            picture.save(path / folder / f"{k}.png", compress_level=1)


def fit_pictures(path: Path, few: Path) -> None:
    """One epoch of a small net."""
    from lossnet import ImageSegmenter

    settings: Any = {"width": 4, "max_epochs": 1, "crops": 1, "random_state": 0, "average": 1}
    ImageSegmenter("cross-entropy", **settings).fit(path, validation_data=few)


CASES = {
    "csr": Case(80_000, 2048, write_csr, fit_csr),
    "conll": Case(50_000, 256, write_conll, fit_conll),
    "pictures": Case(500, 64, write_pictures, fit_pictures),
}


def peak() -> float:
    """Megabytes of this process's largest memory so far."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def measured(case: str, path: Path, few: Path, on_disk: bool) -> dict[str, float]:
    """Peak and seconds of CPU of a fit, in a process of its own."""
    from lossnet.data import archive, conll_index
    from lossnet.tasks.image import disk_pictures

    for module in (archive, conll_index, disk_pictures):
        module.ON_DISK = 1 if on_disk else 1 << 50  # type: ignore[attr-defined]
    fit = CASES[case].fit
    fit(few, few)
    before, start = peak(), time.process_time()
    fit(path, few)
    return {"peak": peak() - before, "seconds": time.process_time() - start}


def own_process(*given: str) -> str:
    """What this script prints when it is called with these arguments."""
    command = [sys.executable, __file__, *given]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        case, folder, rows = args.write
        CASES[case].write(Path(folder), int(rows))
        return
    if args.measure:
        case, folder, few, how = args.measure
        print(json.dumps(measured(case, Path(folder), Path(few), how == "disk")))
        return
    print("| data | rows | MB of files | on disk: MB | seconds | in memory: MB | seconds |")
    print("|---|---|---|---|---|---|---|")
    for case in args.only:
        with tempfile.TemporaryDirectory() as root:
            small = _written(case, Path(root) / "few", CASES[case].few)
            for times in (1, 4):
                rows = times * CASES[case].rows
                folder = _written(case, Path(root) / f"{times}", rows)
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 2**20
                given = "--measure", case, str(folder), str(small)
                found = [json.loads(own_process(*given, how)) for how in ("disk", "memory")]
                cells = [f"{one['peak']:.0f} | {one['seconds']:.0f}" for one in found]
                print(f"| {case} | {rows:,} | {size:.0f} | {' | '.join(cells)} |", flush=True)


def _written(case: str, folder: Path, rows: int) -> Path:
    folder.mkdir()
    own_process("--write", case, str(folder), str(rows))
    return folder


if __name__ == "__main__":
    main()
