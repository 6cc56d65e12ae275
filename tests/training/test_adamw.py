"""AdamW, compared with torch's own, and what a fit imports."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from lossnet.training.adamw import AdamW
from lossnet.training.schedule import Group

LR = 0.03
SETTINGS = {"betas": (0.5, 0.999), "weight_decay": 0.1}


def _weights() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), (2, 3, 3, 3)]
    weights = [torch.randn(shape, generator=generator) for shape in shapes]
    weights[2] = weights[2].contiguous(memory_format=torch.channels_last)
    return [weight.requires_grad_() for weight in weights]


def _steps(optimiser, weights: list[torch.Tensor], first: int, last: int) -> None:
    for number in range(first, last):
        for index, weight in enumerate(weights):
            weight.grad = None if index == 1 and number < 2 else weight.detach().sin() + number
        optimiser.step()


def test_it_steps_as_torchs_own_does() -> None:
    ours, theirs = _weights(), _weights()
    _steps(AdamW([Group(ours, LR)], **SETTINGS), ours, 0, 6)
    _steps(torch.optim.AdamW(theirs, LR, fused=True, **SETTINGS), theirs, 0, 6)
    assert all(torch.equal(left, right) for left, right in zip(ours, theirs, strict=True))


def test_a_loaded_state_goes_on() -> None:
    whole, part = _weights(), _weights()
    _steps(AdamW([Group(whole, LR)], **SETTINGS), whole, 0, 6)
    first, second = (AdamW([Group(part, LR)], **SETTINGS) for _ in range(2))
    first.scale, second.scale = 1.0, 9.0
    _steps(first, part, 0, 3)
    second.load_state_dict(first.state_dict())
    _steps(second, part, 3, 6)
    assert all(torch.equal(left, right) for left, right in zip(whole, part, strict=True))


@pytest.mark.parametrize("method", ["seal-nce", "implicit-dvn"])
def test_a_fit_does_not_import_the_compiler(method) -> None:
    """``torch._dynamo`` takes seconds to import and nothing here needs it."""
    program = f"""
import sys
import numpy as np
from lossnet import MultiLabelClassifier

X = np.random.default_rng(0).normal(size=(20, 4))
Y = (X[:, :3] > 0).astype(int)
MultiLabelClassifier({method!r}, hidden=(4,), max_epochs=1).fit(X, Y).predict(X)
print([name for name in sys.modules if name.startswith("torch._dynamo")])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
