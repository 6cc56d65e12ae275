"""What an energy means: said by its contrast, asked of the method."""

from dataclasses import dataclass

import pytest
import torch

from lossnet import Compare, MultiLabelClassifier, costs
from lossnet.contrasts import NCE, LeastSquares, Margin, Perceptron, Ranking, Regression
from lossnet.contrasts.meaning import DENSITY, ORDER, RATIO, SCORE, VALUE
from lossnet.objectives import Likelihood
from lossnet.proposals import GBI, NetOutput, Perturbed, Samples
from lossnet.recipes import METHODS, build, residual
from lossnet.spaces import Binary
from lossnet.tasks.method_checks import refinement
from lossnet.tasks.multilabel import Ising

CONTRASTS = [
    (NCE(), DENSITY),
    (NCE(0.5), ORDER),
    (Ranking(), RATIO),
    (Ranking(0.5), ORDER),
    (Regression(), VALUE),
    (LeastSquares(), SCORE),
    (Margin(), ORDER),
    (Perceptron(), ORDER),
]

METHOD_MEANINGS = {
    DENSITY: {"nce-energy", "seal-static-nce", "seal-nce", "crf"},
    RATIO: {"seal-ranking"},
    VALUE: {
        "dvn",
        "seal-static-regression",
        "seal-regression",
        "seal-regression-s",
        "implicit-dvn",
        "seal-reward",
        "implicit-reward",
    },
    SCORE: {"alen", "aen"},
}


@pytest.mark.parametrize(("contrast", "meaning"), CONTRASTS, ids=str)
def test_every_contrast_says_what_its_energy_means(contrast, meaning) -> None:
    assert contrast.meaning == meaning
    assert Compare(contrast, Samples(3), costs.f1).meaning("energy") == meaning
    assert Compare(contrast, Samples(3), costs.f1).meaning("another") is None


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_its_energy_means(name) -> None:
    """Methods without a loss-net, and those of paper 002 with a cost inside, only order outputs."""
    expected = next((m for m, names in METHOD_MEANINGS.items() if name in names), ORDER)
    assert build(name).meaning == expected


def test_without_the_cost_inside_implicit_methods_estimate_probabilities() -> None:
    plain = {"margin": 0.0, "path": "all"}
    assert build("implicit-nce", plain).meaning == DENSITY
    assert build("implicit-cd", plain).meaning == RATIO
    assert Likelihood().meaning("energy") == DENSITY


def test_a_likelihood_next_to_a_net_gives_a_ratio_to_the_task_net_alone() -> None:
    assert Likelihood(q="task").meaning("energy") == RATIO
    assert Likelihood(q="noise").meaning("energy") == ORDER
    assert residual(samples=None).meaning == residual().meaning == RATIO
    assert residual(samples=None).nets == {"task", "energy"}


def test_ranking_against_what_has_no_log_q_gives_an_order() -> None:
    assert Compare(Ranking(), Perturbed(3)).meaning("energy") == ORDER
    assert Compare(Ranking(), NetOutput()).meaning("energy") == ORDER


@dataclass(frozen=True)
class SoftMargin:
    """A contrast as a user may write one, which says nothing of its meaning."""

    requires = frozenset({"target"})

    def __call__(self, compared):
        return torch.nn.functional.softplus(compared.e_target - compared.e).sum(0)

    def link(self, e):
        return e


def test_a_contrast_that_says_nothing_gives_an_order() -> None:
    assert Compare(SoftMargin(), Samples(3)).meaning("energy") == ORDER


def test_log_joint_on_an_enumerated_space() -> None:
    """E = -log p + const and E = -log p/q + const(x) both give p back."""
    generator = torch.Generator().manual_seed(0)
    log_p = torch.randn(8, 4, generator=generator, dtype=torch.float64).log_softmax(0)
    logits, const = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    y = Binary().enumerate((3,)).double().unsqueeze(1).expand(-1, 4, -1)
    log_q, shift = Binary().log_prob(logits, y), const[:, 0]
    for meaning, e in ((DENSITY, shift - log_p), (RATIO, shift - log_p + log_q)):
        found = meaning.log_joint(e, log_q).log_softmax(0)
        torch.testing.assert_close(found, log_p)


@pytest.mark.parametrize("meaning", [VALUE, SCORE, ORDER], ids=lambda meaning: meaning.words)
def test_other_energies_give_no_probabilities(meaning) -> None:
    with pytest.raises(TypeError, match="gives no probabilities"):
        meaning.log_joint(torch.zeros(2, 3), torch.zeros(2, 3))


@pytest.mark.parametrize(
    ("name", "on"),
    [("seal-ranking", "joint"), ("seal-regression", "value"), ("seal-nce", "energy")],
)
@pytest.mark.parametrize("refine", ["net", "samples", "random"])
def test_refinement_descends_on_what_the_energy_means(name, on, refine) -> None:
    method = build(name)
    assert refinement(refine, method, method.nets).on == on


def test_refined_seal_ranking_is_no_worse_than_its_net() -> None:
    """Where labels depend on each other, E - log q helps and E alone, which lacks q, harms."""
    model = Ising(6, 6, coupling=3.0, seed=1)
    train, test = model.sample(1500, seed=1), model.sample(1000, seed=2)
    clf = MultiLabelClassifier(
        "seal-ranking",
        method_params={"energy_optimiser": {"lr": 5e-3}, "task_optimiser": {"lr": 5e-3}},
        metric="subset-accuracy",
        hidden=(32,),
        global_hidden=16,
        dropout=0.0,
        batch_size=64,
        max_epochs=12,
        threshold=0.5,
        random_state=0,
    )
    net = clf.fit(train.X, train.Y).score(test.X, test.Y)
    scores = {}
    for refine in ("net", "samples", GBI(20, 0.05, start=NetOutput())):
        scores[refine] = clf.set_params(refine=refine).score(test.X, test.Y)
    *joint, energy = scores.values()
    assert min(joint) > net + 0.01
    assert energy < net - 0.1


@pytest.mark.parametrize("sampler", [Samples(5, temperature=2.0), Samples(5, net="noise")])
def test_a_ratio_to_another_distribution_than_the_task_net_gives_no_joint(sampler):
    assert Compare(Ranking(), Samples(5)).meaning("energy").joint == "ratio"
    assert Compare(Ranking(), sampler).meaning("energy").joint is None
    assert Compare(NCE(), sampler).meaning("energy").joint == "energy"
