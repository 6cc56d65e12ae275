"""One optimiser step against PyTorch's own."""

import copy

import pytest
import torch
import torch.nn.functional as F

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.method import Optimiser, Update
from lossnet.nets import FCN, UNet
from lossnet.objectives import Judge
from lossnet.spaces import Categorical
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training.step import build_optimiser, parameters_of, step


@pytest.mark.parametrize("net", [FCN, UNet])
def test_steps_pair_gradients_with_weights_of_another_layout(net) -> None:
    """Weights lie channels last, and gradients of transposed convolutions do not."""
    torch.manual_seed(0)
    nets = {"task": net(2, 3).double()}
    other = copy.deepcopy(nets["task"])
    x = torch.randn(4, 2, 8, 8, dtype=torch.float64)
    y = torch.randint(3, (4, 8, 8))
    update = Update("task", Judge((Weighted(1.0, CrossEntropy()),)), optimiser=Optimiser(lr=1e-2))
    parameters = parameters_of(update, nets)
    optimiser = build_optimiser(update, nets)
    plain = torch.optim.AdamW(other.parameters(), 1e-2, weight_decay=1e-5, foreach=False)
    for _ in range(3):
        batch = Batch(x, F.one_hot(y, 3).double())
        context = Context(nets, batch, Categorical(), training=frozenset({"task"}))
        step(update, context, optimiser, parameters)
        plain.zero_grad()
        (F.cross_entropy(other(x).movedim(-1, 1), y, reduction="sum") / 4).backward()
        plain.step()
    for mine, theirs in zip(nets["task"].parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
