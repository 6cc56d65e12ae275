"""First layers of wide sparse inputs, compared with dense ones."""

import copy

import pytest
import torch
from torch import nn

from lossnet.energies import LabelEnergy
from lossnet.nets import LabelMLP, LabelMLPs, WideLinear
from lossnet.nets.wide import WIDE, sparse_gradients

LABELS = 3


def rows(batch: int = 6, seed: int = 0, features: int = WIDE) -> torch.Tensor:
    """Rows of few features, one of them without any."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, features, generator=generator, dtype=torch.float64)
    x *= torch.rand(x.shape, generator=generator) < 0.002
    x[1] = 0.0
    x[:, 7] = 1.5  # one that all other rows have
    x[1, 7] = 0.0
    return x


def build(kind: str) -> nn.Module:
    torch.manual_seed(0)
    sizes = {"hidden": (5, 4), "dropout": 0.0}
    if kind == "members":
        return LabelMLPs(WIDE, LABELS, members=2, **sizes).double()
    if kind == "energy":
        return LabelEnergy(WIDE, LABELS, global_hidden=4, **sizes).double()
    return LabelMLP(WIDE, LABELS, **sizes).double()


def output(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    if not isinstance(net, LabelEnergy):
        return net(x)
    y = torch.eye(LABELS, dtype=torch.float64).unsqueeze(1).expand(-1, len(x), -1)
    return net(net.encode(x), y)


@pytest.mark.parametrize("kind", ["one", "members", "energy"])
def test_sparse_rows_have_the_outputs_and_gradients_of_dense_ones(kind) -> None:
    net, x = build(kind), rows()
    parameters = list(net.parameters())
    expected = output(net, x)
    gradients = torch.autograd.grad(expected.square().sum(), parameters)
    found = output(net, x.to_sparse())
    assert torch.allclose(found, expected, atol=1e-12)
    loss = found.square().sum()
    plain = torch.autograd.grad(loss, parameters, retain_graph=True)
    with sparse_gradients():
        by_rows = torch.autograd.grad(loss, parameters)
    assert not any(one.is_sparse for one in plain)
    assert sum(one.is_sparse for one in by_rows) == 1
    for one, two, three in zip(gradients, plain, by_rows, strict=True):
        assert torch.allclose(two, one, atol=1e-12)
        assert torch.allclose(three.to_dense() if three.is_sparse else three, one, atol=1e-12)
    (of_rows,) = [one for one in by_rows if one.is_sparse]
    assert of_rows.indices()[-1].unique().tolist() == x.any(0).nonzero()[:, 0].tolist()


def test_gradients_can_be_differentiated_again() -> None:
    net, x = build("one"), rows()
    weight = net.features.layers[0].weight

    def curvature(x: torch.Tensor) -> torch.Tensor:
        (first,) = torch.autograd.grad(net(x).square().sum(), weight, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), weight)
        return second

    assert torch.allclose(curvature(x.to_sparse()), curvature(x), atol=1e-10)


def test_weights_are_stored_as_those_of_an_ordinary_layer() -> None:
    torch.manual_seed(0)
    linear = nn.Linear(6, 2)
    wide = WideLinear.of(linear)
    assert torch.equal(wide.state_dict()["weight"], linear.weight)
    other = WideLinear.of(nn.Linear(6, 2))
    other.load_state_dict(linear.state_dict())
    x = torch.randn(3, 6)
    assert torch.allclose(other(x.to_sparse()), linear(x), atol=1e-6)
    assert torch.allclose(copy.deepcopy(other)(x), linear(x), atol=1e-6)


def test_a_wide_net_starts_with_the_weights_of_a_narrow_ones_rule() -> None:
    torch.manual_seed(0)
    linear = nn.Linear(WIDE, 5)
    nn.init.kaiming_uniform_(linear.weight, nonlinearity="relu")
    assert torch.equal(
        build("one").features.state_dict()["layers.0.weight"], linear.weight.double()
    )


def test_a_narrow_net_has_ordinary_layers() -> None:
    assert isinstance(LabelMLP(WIDE - 1, LABELS, hidden=(2,)).features.layers[0], nn.Linear)


@pytest.mark.parametrize("kind", ["one", "members"])
def test_input_dropout_drops_values_of_sparse_rows(kind) -> None:
    torch.manual_seed(0)
    sizes = {"hidden": (4,), "dropout": 0.0, "input_dropout": 0.5}
    own = {"members": 2} if kind == "members" else {}
    net = (LabelMLPs if own else LabelMLP)(WIDE, LABELS, **sizes, **own).double()
    x = rows().to_sparse()
    with torch.no_grad():
        exact = net.eval()(x)
        drawn = torch.stack([net.train()(x) for _ in range(30)])
    assert drawn.std(0).amax() > 0
    assert torch.allclose(drawn[:, 1], exact[1])  # a row without features
    assert (drawn.mean(0) - exact).abs().max() < 0.5 * exact.abs().max()


def test_rows_may_have_no_features_at_all() -> None:
    net = build("one")
    empty = torch.zeros(2, WIDE, dtype=torch.float64)
    assert torch.allclose(net(empty.to_sparse()), net(empty))
