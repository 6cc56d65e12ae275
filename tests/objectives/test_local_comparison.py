"""Energies compared at every position by itself."""

import pytest
import torch

from lossnet import Batch, Binary, Categorical, Compare, Context
from lossnet.contrasts import NCE, LeastSquares, Ranking, Regression
from lossnet.energies import Energy
from lossnet.errors import SettingError
from lossnet.objectives import Compound, Part
from lossnet.proposals import Combined, NetOutput, Perturbed, Samples, Target
from lossnet.terms import EnergyTerm


class Mean(Energy):
    """-mean_i w_i <y_i, x_i>: every position by itself."""

    def encode(self, x, mask=None):
        return x

    def local(self, h, y, mask=None):
        y = y.to(h.dtype)
        return -(y * h if y.dim() == 3 else (y * h).sum(-1))

    def forward(self, h, y, mask=None):
        local = self.local(h, y, mask)
        if mask is None:
            return local.mean(-1)
        return (local * mask).sum(-1) / mask.sum(-1)


class Fixed(torch.nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = torch.nn.Parameter(logits)

    def forward(self, x):
        return self.logits


def context(classes: bool, *, mask: torch.Tensor | None = None) -> Context:
    torch.manual_seed(0)
    shape = (2, 5, 3) if classes else (2, 5)
    target = torch.rand(shape) < 0.4
    if classes:
        target = torch.nn.functional.one_hot(torch.randint(3, (2, 5)), 3)
    nets = {"task": Fixed(torch.randn(shape)), "energy": Mean()}
    space = Categorical() if classes else Binary()
    return Context(nets, Batch(torch.randn(shape), target.float(), mask), space)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_local_least_squares_equals_a_loop(classes, masked) -> None:
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]]).bool() if masked else None
    at = context(classes, mask=mask)
    contrast = LeastSquares((1.0, 0.5))
    found = Compare(contrast, Combined((Target(), NetOutput())), local=True)(at)
    y = torch.stack([at.target, at.space.relax(at.logits())]).detach()
    for row in range(2):
        terms = []
        for position in range(5):
            if mask is not None and not mask[row, position]:
                continue
            total = 0.0
            for weight, candidate in zip((1.0, 0.5), y[:, row, position], strict=True):
                value = float((candidate * at.batch.x[row, position]).sum())
                truth = at.target[row, position]
                right = float((candidate * truth).sum())
                if not classes:
                    right = 1.0 - float((candidate - truth).abs())
                total += weight / 2 * (value - right) ** 2
            terms.append(total)
        assert float(found[row]) == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def test_a_contrast_with_the_truth_is_local_too() -> None:
    at = context(False)
    y = at.space.relax(at.logits())
    e, e_target = -(y * at.batch.x), -(at.target * at.batch.x)
    expected = torch.log1p(torch.exp(e_target - e)).mean(-1)
    found = Compare(Ranking(), NetOutput(), local=True)(at)
    torch.testing.assert_close(found, expected)
    both = Compound(
        (
            Part("a", 1.0, Compare(Ranking(), NetOutput(), local=True)),
            Part("b", 1.0, Compare(Ranking(), NetOutput())),
        )
    )
    whole = Compare(Ranking(), NetOutput())(at)
    torch.testing.assert_close(both(at), expected + whole)


def test_a_local_term_is_the_mean_of_links() -> None:
    at = context(True)
    contrast = LeastSquares()
    prediction = NetOutput()(at)
    found = EnergyTerm(contrast, local=True)(at, prediction)
    local = at.nets["energy"].local(at.batch.x, prediction.y)[0]
    torch.testing.assert_close(found, (0.5 * (local + 1).square()).mean(-1))


def test_log_q_and_rewards_are_of_whole_outputs() -> None:
    with pytest.raises(SettingError, match="log q is that of a complete output"):
        Compare(NCE(), Samples(2), local=True).check(keep_graph=False, trains=["energy"])


def test_an_energy_without_positions_is_named() -> None:
    at = context(False)
    at.nets["energy"] = Fixed(torch.zeros(2))
    with pytest.raises(SettingError, match=r"such as ScoreMap.*'energy' is a Fixed"):
        Compare(Regression(), NetOutput(), local=True)(at)


def test_smooth_perturbations_are_for_images() -> None:
    at = context(False)
    with pytest.raises(SettingError, match="smooth perturbations need logits of images"):
        Perturbed(2, 1.0, radius=1.0)(at)
    with pytest.raises(SettingError, match="radius must be at least 0, got -1"):
        Perturbed(2, 1.0, radius=-1)
    logits = torch.zeros(1, 12, 12)
    images = Context({"task": Fixed(logits)}, Batch(logits), Binary(), generator=torch.Generator())
    found = Perturbed(2000, 3.0, radius=1.5)(images).logits
    assert not found[0].any()
    assert float(found[1:].std()) == pytest.approx(3.0, rel=0.05)
    together = (found[1:, :, 5, 5] * found[1:, :, 5, 6]).mean() / 9.0
    assert 0.7 < float(together) < 1.0
