"""DVN's published weights for bibtex under the library's own inference."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lossnet.energies import Energy
from lossnet.proposals import GBI
from lossnet.spaces import Binary
from lossnet.tasks.multilabel import evaluate, load_files
from lossnet.training import Arrays, predict


class PublishedValue(Energy):
    """Minus the value v(x, y) = y·(W2' softplus(W'x + b) + b2) + v·softplus(M'y)."""

    def __init__(self, weights: Path) -> None:
        super().__init__()
        with np.load(weights) as stored:
            for name in ("W", "b", "W2", "b2", "M", "v", "mean", "std"):
                self.register_buffer(name, torch.as_tensor(stored[name]).float())
        self.unused = torch.nn.Parameter(torch.zeros(()))  # tells its dtype and device

    def encode(self, x, mask=None):
        hidden = F.softplus((x - self.mean) / self.std @ self.W + self.b)
        return hidden @ self.W2 + self.b2

    def forward(self, h, y, mask=None):
        return -(y * h).sum(-1) - F.softplus(y @ self.M) @ self.v

    def output_like(self, h):
        return h


@pytest.fixture
def score(mlc):
    """F1 at 0.5 on the official test part, in percent, of a descent."""
    weights = mlc.parents[1] / "reference" / "dvn_bibtex_weights.npz"
    if not weights.exists():
        pytest.skip(f"no published weights at {weights}")
    test = load_files([mlc / "bibtex" / f"bibtex-{part}.arff" for part in ("train", "test")])[1]
    nets = {"energy": PublishedValue(weights)}

    def scored(descent: GBI) -> float:
        outputs = predict(descent, nets, Binary(), Arrays(test.X)).numpy()
        return 100 * evaluate(test.Y, outputs, 0.5)["example-f1"]

    return scored


def test_twenty_plain_steps_on_the_value_give_the_papers_number(score) -> None:
    found = score(GBI(20, 0.5, adam=False, keep="last", on="value"))
    assert found == pytest.approx(44.70, abs=0.05)


def test_the_path_is_part_of_the_model(score) -> None:
    """The energy itself, or a longer descent, finds worse outputs."""
    assert score(GBI(30, 0.05)) < 25
    assert score(GBI(20, 0.5, adam=False, keep="last")) < 30
    assert score(GBI(30, 0.5, adam=False, on="value")) == pytest.approx(42.45, abs=0.1)
