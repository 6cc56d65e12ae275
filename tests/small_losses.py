"""A small loss-net, a batch for it, and what can change of a LearnedLoss."""

from __future__ import annotations

import torch

from lossnet import LearnedLoss
from lossnet.energies import LabelEnergy
from lossnet.recipes import methods_for

B, D, L = 12, 5, 4
NAMES = methods_for({"target"})
DYNAMIC = [name for name in NAMES if name.startswith("seal-") and "static" not in name]


def seeded(build_net, seed: int = 0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_net()


def make_energy(seed: int = 0, dropout: float = 0.5) -> LabelEnergy:
    return seeded(lambda: LabelEnergy(D, L, hidden=(8, 8), dropout=dropout, global_hidden=5), seed)


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(B, D, generator=generator)
    y = (torch.rand(B, L, generator=generator) < 0.4).float()
    return x, torch.randn(B, L, generator=generator).requires_grad_(), y


def parameters(criterion: LearnedLoss) -> list[torch.Tensor]:
    return [p.detach().clone() for p in criterion.energy.parameters()]


def equal(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def tensors(criterion: LearnedLoss) -> list[torch.Tensor]:
    extra = criterion.get_extra_state()
    slots = [s for p in (extra["optimizer"] or {"state": {}})["state"].values() for s in p.values()]
    found = [*criterion.energy.state_dict().values(), *slots, *extra["streams"].values()]
    return [tensor.clone() for tensor in [*found, extra["proposals"], torch.get_rng_state()]]


def visible(criterion: LearnedLoss) -> list[object]:
    """All that a caller can see of a criterion besides the tensors of its state."""
    return [
        [module.training for module in criterion.modules()],
        [p.requires_grad for p in criterion.parameters()],
        [p.grad is None for p in criterion.parameters()],
        criterion.last_energy_loss,
    ]
