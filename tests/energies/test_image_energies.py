"""Energies and nets of images: the contracts, split convolutions, any size."""

from functools import partial

import pytest
import torch

from lossnet.energies import ConvolutionalCritic, ScoreMap
from lossnet.errors import DataError, SettingError
from lossnet.nets import FCN, UNet
from lossnet.spaces import Binary, Categorical
from lossnet.testing import check_energy

SPACES = [(Binary(), 1, (3, 5)), (Categorical(), 3, (3, 4, 3))]


@pytest.mark.parametrize(("space", "outputs", "shape"), SPACES, ids=["binary", "classes"])
@pytest.mark.parametrize("kind", ["critic", FCN, UNet])
def test_energies_keep_the_contract(space, outputs, shape, kind) -> None:
    torch.manual_seed(0)
    if kind == "critic":
        energy = ConvolutionalCritic(2, outputs, size=shape[:2], width=3, hidden=(4, 3))
    else:
        small = {"width": 3} if kind is FCN else {"widths": (8,)}
        energy = ScoreMap(partial(kind, **small), 2, outputs)
    check_energy(energy, torch.randn(2, 2, *shape[:2]), space, shape)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_first_convolution_is_that_of_image_and_output_together(outputs) -> None:
    torch.manual_seed(0)
    energy = ConvolutionalCritic(2, outputs, size=(7, 8), width=4, hidden=(3,)).eval()
    x = torch.randn(3, 2, 7, 8)
    y = torch.rand(5, 3, 7, 8, outputs)
    joint = torch.nn.Conv2d(2 + outputs, 4, 5, padding=2)
    with torch.no_grad():
        joint.weight.copy_(
            torch.cat([energy.features.first.weight, energy.first_of_output.weight], 1)
        )
        joint.bias.copy_(energy.features.first.bias)
    both = torch.cat([x.expand(5, -1, -1, -1, -1), y.movedim(-1, 2)], 2).flatten(0, 1)
    maps = energy.features.after(joint(both))
    expected = energy.readout(maps[-1]).view(5, 3)
    given = y[..., 0] if outputs == 1 else y
    torch.testing.assert_close(energy(energy.encode(x), given), expected)


def test_a_score_map_is_averaged_over_its_pixels() -> None:
    energy = ScoreMap(partial(FCN, width=4), 1, 1)
    h, y = energy.encode(torch.randn(2, 1, 9, 7)), torch.rand(3, 2, 9, 7)
    local = energy.local(h, y)
    assert local.shape == (3, 2, 9, 7)
    torch.testing.assert_close(energy(h, y), local.mean((2, 3)))
    mask = torch.zeros(2, 9, 7, dtype=torch.bool)
    mask[:, :4] = True
    counted = energy.local(h, y, mask)[:, :, :4]
    torch.testing.assert_close(energy(h, y, mask), counted.mean((2, 3)))


@pytest.mark.parametrize("outputs", [1, 3])
def test_an_output_chooses_among_the_scores_of_a_map(outputs) -> None:
    """A net that gives every pixel the same scores: the energy is minus those of the classes."""

    class Constant(torch.nn.Module):
        def __init__(self, channels: int, outputs: int) -> None:
            super().__init__()
            self.scores = torch.nn.Parameter(torch.arange(1.0, outputs + 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.scores.expand(len(x), *x.shape[2:], -1)

    energy = ScoreMap(Constant, 1, outputs)
    y = torch.tensor([[0.0, 1.0], [0.25, 0.0]])
    if outputs == 1:
        expected = [[1.0, 2.0], [1.25, 1.0]]
    else:
        y = torch.stack([1.0 - y, torch.zeros(2, 2), y], -1)
        expected = [[1.0, 3.0], [1.5, 1.0]]
    found = energy.local(torch.zeros(1, 1, 2, 2), y[None, None])
    torch.testing.assert_close(found[0, 0], -torch.tensor(expected))


def test_a_critic_takes_its_own_size_alone() -> None:
    energy = ConvolutionalCritic(1, 1, size=(8, 8), width=2, hidden=(3,))
    with pytest.raises(DataError, match=r"images must be \(8, 8\), got \(9, 8\)"):
        energy.encode(torch.zeros(1, 1, 9, 8))


def test_the_papers_sizes() -> None:
    """Notes on the public code: 4608-384-192-1 after three convolutions on 4 channels."""
    energy = ConvolutionalCritic(3, 1, size=(24, 24))
    layers = [m for m in energy.readout if isinstance(m, torch.nn.Linear)]
    assert [layer.in_features for layer in layers] == [4608, 384, 192]
    assert layers[-1].out_features == 1
    first = energy.features.first.weight.shape[1] + energy.first_of_output.weight.shape[1]
    assert first == 4


@pytest.mark.parametrize("net", [FCN, UNet])
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (8, 8), (24, 10)])
def test_nets_take_any_size(net, size) -> None:
    x = torch.randn(2, 3, *size)
    assert net(3, 1)(x).shape == (2, *size)
    assert net(3, 4)(x).shape == (2, *size, 4)


@pytest.mark.parametrize("net", [FCN, UNet])
def test_an_image_does_not_depend_on_the_others_of_its_batch(net) -> None:
    torch.manual_seed(0)
    model, x = net(1, 1).double(), torch.randn(3, 1, 8, 8, dtype=torch.float64)
    torch.testing.assert_close(model(x[1:2]), model(x)[1:2])


@pytest.mark.parametrize("net", [FCN, UNet])
def test_a_new_head_reads_the_same_features(net) -> None:
    model = net(1, 3)
    features = model.features(torch.randn(2, 1, 8, 8))
    head = model.new_head()
    assert head(features).shape == (2, 8, 8, 3)
    own = {id(p) for p in model.parameters()}
    assert not own & {id(p) for p in head.parameters()}


def test_an_fcn_enlarges_by_interpolation_at_first() -> None:
    up = FCN(1, 2).own_head.ups[0]
    flat = up(torch.full((1, 2, 6, 6), 3.0))
    torch.testing.assert_close(flat[..., 1:-1, 1:-1], torch.full((1, 2, 10, 10), 3.0))


def test_widths_of_a_unet_come_in_groups() -> None:
    with pytest.raises(SettingError, match="multiples of 8"):
        UNet(1, 1, widths=(12,))
