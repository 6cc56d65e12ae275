"""Energies: the contract, Eq. 2 as a loop, sizes."""

import math

import pytest
import torch
from torch import nn

from lossnet.energies import Energy, LabelEnergy
from lossnet.nets import FeatureMLP, LabelMLP
from lossnet.spaces import Binary, Categorical
from lossnet.testing import check_energy


def small(dropout: float = 0.5, **options) -> LabelEnergy:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        energy = LabelEnergy(6, 4, hidden=(5, 7), dropout=dropout, global_hidden=3, **options)
        nn.init.normal_(energy.global_bias)  # starts at zero, which would hide it
    return energy


def inputs(rows: int = 3) -> torch.Tensor:
    return torch.randn(rows, 6, generator=torch.Generator().manual_seed(1))


def softplus(v: float) -> float:
    return math.log1p(math.exp(v))


def naive_energy(energy: LabelEnergy, x: list[float], y: list[float]) -> float:
    """Eq. 2 of paper 000 in plain Python, for one input and one output."""
    features = x
    for linear in (m for m in energy.features.layers if isinstance(m, nn.Linear)):
        features = [
            softplus(sum(w * f for w, f in zip(row, features, strict=True)) + b)
            for row, b in zip(linear.weight.tolist(), linear.bias.tolist(), strict=True)
        ]
    local = sum(
        on * sum(b * f for b, f in zip(embedding, features, strict=True))
        for on, embedding in zip(y, energy.label_embeddings.tolist(), strict=True)
    )
    M = energy.global_weight.T.tolist()  # held transposed
    together = sum(
        v * softplus(sum(m * on for m, on in zip(row, y, strict=True)) + c)
        for v, row, c in zip(
            energy.global_readout.tolist(), M, energy.global_bias.tolist(), strict=True
        )
    )
    return local + together


def test_label_energy_is_equation_2() -> None:
    energy = small().double().eval()
    x = inputs().double()
    y = torch.rand(5, 3, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    e = energy(energy.encode(x), y)
    for k in range(5):
        for b in range(3):
            expected = naive_energy(energy, x[b].tolist(), y[k, b].tolist())
            assert e[k, b].item() == pytest.approx(expected, abs=1e-12)


def test_label_energy_keeps_the_contract() -> None:
    check_energy(small(), inputs(), Binary(), (4,))


@pytest.mark.parametrize("form", ["float", "sparse"])
def test_gradients_of_the_weights_once_and_twice(form) -> None:
    """Unrolled inference differentiates the energy's gradient again."""
    energy = small().double().eval()
    h = energy.encode(inputs().double()).detach().requires_grad_()
    y = (torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(4)) < 0.5).double()
    y = y.to_sparse().coalesce() if form == "sparse" else y
    names = ["global_weight", "global_bias", "global_readout"]
    values = tuple(getattr(energy, name).detach().clone().requires_grad_() for name in names)

    def judged(h: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(energy, dict(zip(names, weights, strict=True)), (h, y))

    assert torch.autograd.gradcheck(judged, (h, *values))
    assert torch.autograd.gradgradcheck(judged, (h, *values))


@pytest.mark.parametrize("bias", [50.0, 95.0, 1e4])
def test_a_large_global_part_is_softplus_still(bias) -> None:
    """Above 88, exp overflows in float32."""
    energy = small().eval()
    with torch.no_grad():
        energy.global_bias[0] = bias
        energy.global_bias[1] = -bias
    weight, readout = energy.global_weight.detach(), energy.global_readout.detach()
    y = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(3)).requires_grad_()
    h = torch.zeros(3, 4)
    expected = torch.nn.functional.softplus(y @ weight + energy.global_bias.detach()) @ readout
    e = energy(h, y)
    torch.testing.assert_close(e, expected)
    (gradient,) = torch.autograd.grad(e.sum(), y)
    (by_hand,) = torch.autograd.grad(expected.sum(), y)
    torch.testing.assert_close(gradient, by_hand)


def test_only_the_encoding_drops_units() -> None:
    energy = small().train()
    x = inputs()
    assert not torch.equal(energy.encode(x), energy.encode(x))
    h, y = energy.encode(x), torch.ones(1, 3, 4)
    assert torch.equal(energy(h, y), energy(h, y))
    energy.eval()
    assert torch.equal(energy.encode(x), energy.encode(x))


def test_sizes_of_the_bibtex_setting() -> None:
    """Paper 001, Table 11, row Bibtex: 958800 for the task-net, 991000 for the energy."""
    task = LabelMLP(1836, 159, hidden=(400, 400))
    energy = LabelEnergy(1836, 159, hidden=(400, 400), global_hidden=200)
    assert sum(p.numel() for p in task.parameters()) == 958_800
    assert sum(p.numel() for p in energy.parameters()) == 991_000


def test_task_net_is_features_times_label_embeddings() -> None:
    net = LabelMLP(6, 4, hidden=(5,), dropout=0.5).eval()
    x = inputs()
    linear = net.features.layers[0]
    features = torch.nn.functional.softplus(x @ linear.weight.T + linear.bias)
    torch.testing.assert_close(net(x), features @ net.label_embeddings.T)


def test_dropout_lies_where_it_should() -> None:
    kinds = [type(m).__name__ for m in FeatureMLP(6, (5, 5), input_dropout=0.1).layers]
    assert kinds == ["Dropout", "Linear", "Softplus", "Dropout", "Linear", "Softplus"]
    kinds = [type(m).__name__ for m in FeatureMLP(6, (5,), dropout=0.5).layers]
    assert kinds == ["Linear", "Softplus"]


# The contract itself: it passes a right energy of another space and finds each fault -------------


class TagEnergy(Energy):
    """Unary and neighbour energies of tags, ``(B, T, C)``; ``fault`` breaks one promise."""

    def __init__(self, features: int, tags: int, fault: str = "") -> None:
        super().__init__()
        self.unary = nn.Linear(features, tags)
        self.pairs = nn.Parameter(torch.randn(tags, tags))
        self.fault = fault

    def encode(self, x, mask=None):
        h = self.unary(x)
        return h - h.mean(0) if self.fault == "batch" else h

    def forward(self, h, y, mask=None):
        y = y.to(h.dtype)
        if mask is not None and self.fault != "mask":
            y = y * mask.unsqueeze(-1)
        e = (y * h).sum((-1, -2))
        e = e + torch.einsum("kbtc,cd,kbtd->kb", y[:, :, :-1], self.pairs, y[:, :, 1:])
        if self.fault == "candidates":
            e = e - e.mean(0)
        if self.fault == "gradient":  # right values, half the gradient
            e = e.detach() + (e - e.detach()) / 2
        return e

    def output_like(self, h):
        return h[:, :1] if self.fault == "shape" else h


def tag_inputs() -> torch.Tensor:
    return torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(3))


def test_contract_accepts_an_energy_of_tags() -> None:
    check_energy(TagEnergy(6, 2), tag_inputs(), Categorical(), (4, 2))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("batch", "other examples"),
        ("candidates", "number of candidates"),
        ("mask", "under the mask"),
        ("shape", "output_like"),
        ("gradient", "(?i)jacobian"),
    ],
)
def test_contract_finds_faults(fault, message) -> None:
    with pytest.raises((AssertionError, RuntimeError), match=message):
        check_energy(TagEnergy(6, 2, fault), tag_inputs(), Categorical(), (4, 2))
