"""Energies and nets of images: the contracts, split convolutions, any size."""

import pytest
import torch

from lossnet.energies import ConvolutionalCritic, ScoreMap
from lossnet.errors import DataError, SettingError
from lossnet.nets import FCN, UNet
from lossnet.spaces import Binary, Categorical
from lossnet.testing import check_energy

SPACES = [(Binary(), 1, (3, 5)), (Categorical(), 3, (3, 4, 3))]


@pytest.mark.parametrize(("space", "outputs", "shape"), SPACES, ids=["binary", "classes"])
@pytest.mark.parametrize("kind", ["critic", "score-map"])
def test_energies_keep_the_contract(space, outputs, shape, kind) -> None:
    torch.manual_seed(0)
    if kind == "critic":
        energy = ConvolutionalCritic(2, outputs, size=shape[:2], width=3, hidden=(4, 3))
    else:
        energy = ScoreMap(2, outputs, width=3)
    check_energy(energy, torch.randn(2, 2, *shape[:2]), space, shape)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_first_convolution_is_that_of_image_and_output_together(outputs) -> None:
    torch.manual_seed(0)
    energy = ScoreMap(2, outputs, width=4)
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
    expected = -energy.head(maps).mean((1, 2, 3)).view(5, 3)
    given = y[..., 0] if outputs == 1 else y
    torch.testing.assert_close(energy(energy.encode(x), given), expected)


def test_a_score_map_is_averaged_over_its_pixels() -> None:
    energy = ScoreMap(1, 1, width=4)
    h, y = energy.encode(torch.randn(2, 1, 9, 7)), torch.rand(3, 2, 9, 7)
    scores = energy.scores(h, y)
    assert scores.shape == (3, 2, 9, 7)
    torch.testing.assert_close(energy(h, y), -scores.mean((2, 3)))
    mask = torch.zeros(2, 9, 7, dtype=torch.bool)
    mask[:, :4] = True
    counted = energy.scores(h, y, mask)[:, :, :4]
    torch.testing.assert_close(energy(h, y, mask), -counted.mean((2, 3)))


def test_a_critic_takes_its_own_size_alone() -> None:
    energy = ConvolutionalCritic(1, 1, size=(8, 8), width=2, hidden=(3,))
    with pytest.raises(DataError, match="images are 9 x 8 and this energy takes 8 x 8"):
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
