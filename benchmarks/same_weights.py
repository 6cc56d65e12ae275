"""Whether two commits train the same weights: ``python benchmarks/same_weights.py OLD NEW``.

Each commit is checked out into a temporary folder and trains ten pairs of task and method there,
on this machine, with one thread. The weights of every net and the predictions are compared bit
for bit; the exit code is 1 where any differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]

LABELS = ("seal-nce", "dvn", "implicit-nce", "seal-static-margin")
TAGS = ("infnet-plus", "crf", "seal-regression-s")
PIXELS = ("alen", "seal-regression", "cross-entropy")


def fits() -> Iterator[tuple[str, Any, Any]]:
    """The name of each pair, the fitted model and its predictions."""
    import lossnet

    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 12)).astype(np.float32)
    Y = (X @ rng.normal(size=(12, 7)) + rng.normal(size=(160, 7)) > 0.5).astype(int)
    for method in LABELS:
        classifier = lossnet.MultiLabelClassifier(
            method, hidden=(24,), global_hidden=8, max_epochs=3, random_state=1
        )
        yield f"labels/{method}", classifier.fit(X, Y), classifier.predict_proba(X)
    words = [f"{'Ab' if n % 3 == 0 else 'c'}{n}" for n in range(40)]
    sentences = [[words[n] for n in rng.integers(0, 40, rng.integers(1, 9))] for _ in range(60)]
    tags = [["B-X" if word[0] == "A" else "O" for word in sentence] for sentence in sentences]
    for method in TAGS:
        tagger = lossnet.SequenceTagger(
            method, hidden=8, word_width=6, max_epochs=2, random_state=1, min_count=1
        ).fit(sentences, tags)
        yield f"tags/{method}", tagger, np.concatenate(tagger.predict_proba(sentences))
    masks = (rng.normal(size=(24, 12, 12)).cumsum(1).cumsum(2) > 0).astype(int)
    images = masks + 0.5 * rng.normal(size=masks.shape)
    for method in PIXELS:
        segmenter = lossnet.ImageSegmenter(method, width=8, max_epochs=2, crops=1, random_state=1)
        yield f"pixels/{method}", segmenter.fit(images, masks), segmenter.predict_proba(images)


def checksums() -> dict[str, str]:
    """A checksum of the weights of each pair's nets, and one of its predictions."""
    found = {}
    for name, model, predictions in fits():
        for net, module in sorted(model.nets_.items()):
            total = hashlib.sha256()
            for key, tensor in sorted(module.state_dict().items()):
                total.update(key.encode() + tensor.contiguous().numpy().tobytes())
            found[f"{name}/{net}"] = total.hexdigest()
        found[f"{name}/predictions"] = hashlib.sha256(predictions.tobytes()).hexdigest()
    return found


def checksums_at(commit: str) -> dict[str, str]:
    """The checksums that the code of a commit gives."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        add = ["git", "-C", str(ROOT), "worktree", "add", "--detach", "--quiet", str(tree), commit]
        subprocess.run(add, check=True)
        try:
            environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, str(Path(__file__).resolve()), "--print"]
            done = subprocess.run(
                command, env=environment, check=True, text=True, stdout=subprocess.PIPE
            )
        finally:
            remove = ["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)]
            subprocess.run(remove, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="two commits")
    parser.add_argument("--print", action="store_true", help="print this code's own checksums")
    args = parser.parse_args()
    if args.print:
        print(json.dumps(checksums(), indent=1))
        return 0
    if len(args.commits) != 2:
        parser.error(f"expected two commits, got {len(args.commits)}")
    old, new = map(checksums_at, args.commits)
    differ = 0
    for name in sorted({*old, *new}):
        same = old.get(name) == new.get(name)
        differ += not same
        print(f"{'same' if same else 'DIFFERENT':10}{name}")
    print(f"{len(old)} checksums of {args.commits[0]}, {differ} different in {args.commits[1]}")
    return int(differ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
