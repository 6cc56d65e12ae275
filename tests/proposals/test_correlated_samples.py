"""Correlated samples: the net's own probabilities, smooth noise, no log q."""

import pytest
import torch

from lossnet import Batch, Binary, Categorical, Compare, Context, Update
from lossnet.contrasts import NCE, Ranking
from lossnet.errors import SettingError
from lossnet.gradients import Direct
from lossnet.proposals import CorrelatedSamples
from lossnet.proposals.noise import smooth_noise
from lossnet.recipes import build
from lossnet.testing import check_proposal


class Fixed(torch.nn.Module):
    """The same logits for every image."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(logits)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(x), *self.logits.shape)


CASES = [(Binary(), (6, 7)), (Categorical(), (6, 7, 3))]


@pytest.mark.parametrize(("space", "shape"), CASES, ids=["binary", "classes"])
def test_they_keep_the_contract(space, shape) -> None:
    torch.manual_seed(0)
    net = Fixed(torch.randn(shape))
    target = space.decode(space.relax(torch.randn(2, *shape))).float()
    check_proposal(
        CorrelatedSamples(4, 1.5), {"task": net}, Batch(torch.zeros(2, 1, 6, 7), target), space
    )


@pytest.mark.parametrize(("space", "shape"), CASES, ids=["binary", "classes"])
@pytest.mark.parametrize("radius", [0.0, 2.0])
def test_every_pixel_has_the_nets_probability(space, shape, radius) -> None:
    torch.manual_seed(0)
    net = Fixed(2.0 * torch.randn(shape))
    batch = Batch(torch.zeros(1, 1, 6, 7))
    context = Context({"task": net}, batch, space, generator=torch.Generator().manual_seed(1))
    y = CorrelatedSamples(8000, radius)(context).y.float().mean(0)[0]
    # Four standard deviations of a share of 8000 draws, 0.5 at most.
    torch.testing.assert_close(y, space.relax(net.logits).detach(), rtol=0, atol=0.025)


def test_neighbours_agree_more_often_than_strangers() -> None:
    net = Fixed(torch.zeros(12, 12))
    context = Context(
        {"task": net},
        Batch(torch.zeros(1, 1, 12, 12)),
        Binary(),
        generator=torch.Generator().manual_seed(0),
    )

    def agreement(radius: float, step: int) -> float:
        y = CorrelatedSamples(500, radius)(context).y[:, 0]
        return float((y[:, :, step:] == y[:, :, :-step]).float().mean())

    assert agreement(2.0, 1) > 0.8
    assert agreement(2.0, 11) == pytest.approx(0.5, abs=0.05)
    assert agreement(0.0, 1) == pytest.approx(0.5, abs=0.02)


def test_smooth_noise_has_unit_variance_at_the_edges_too() -> None:
    generator = torch.Generator().manual_seed(0)
    z = smooth_noise(torch.zeros(1, 6, 6), 20000, 1.5, False, generator)
    torch.testing.assert_close(z.var(0)[0], torch.ones(6, 6), rtol=0, atol=0.06)
    # Correlation of white noise smoothed with a bell of deviation r at distance d: exp(-d²/4r²).
    found = (z[:, 0, 2, 1] * z[:, 0, 2, 4]).mean()
    assert found == pytest.approx(float(torch.exp(torch.tensor(-9 / (4 * 1.5**2)))), abs=0.05)


def test_they_serve_ranking_but_not_nce() -> None:
    Update("energy", Compare(Ranking(), CorrelatedSamples()), gradient=Direct())
    with pytest.raises(SettingError, match=r"NCE needs log q .* CorrelatedSamples has none"):
        Update("energy", Compare(NCE(), CorrelatedSamples()), gradient=Direct())


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("seal-ranking", {"samples": 7, "radius": 3.0}),
        ("seal-regression-s", {"candidates": {"kind": "correlated", "radius": 3.0, "k": 7}}),
    ],
)
def test_recipes_take_them(method, given) -> None:
    built = build(method, given)
    proposal = built.phases[0].updates[0].objective.proposal
    assert proposal == CorrelatedSamples(7, 3.0)
    with pytest.raises(SettingError, match="unknown kind of candidates 'corelated'"):
        build("seal-regression-s", {"candidates": "corelated"})


def test_bad_settings() -> None:
    with pytest.raises(SettingError, match="k must be at least 1, got 0"):
        CorrelatedSamples(0)
    with pytest.raises(SettingError, match="radius must be at least 0, got -1"):
        CorrelatedSamples(radius=-1)
    context = Context({"task": Fixed(torch.zeros(5))}, Batch(torch.zeros(2, 1)), Binary())
    with pytest.raises(SettingError, match="need logits of images"):
        CorrelatedSamples(2)(context)
