"""Recipes by name: parameters, their checks, and what their descriptions say."""

import inspect
import re

import pytest

from lossnet import costs
from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.errors import SettingError
from lossnet.gradients import Unrolled
from lossnet.proposals import GBI, NetOutput, Perturbed, Random, Samples
from lossnet.recipes import RECIPES, build, defaults, summary
from lossnet.terms import CrossEntropy, EnergyTerm, Entropy, NegativeEntropy

EXPECTED = {
    "cross-entropy", "spen", "spen-e2e", "dvn", "nce-energy",
    "seal-static-margin", "seal-static-regression", "seal-static-nce",
    "seal-margin", "seal-regression", "seal-regression-s", "seal-nce", "seal-ranking",
    "task-ranking", "infnet", "infnet-plus", "alen", "aen",
    "implicit-ssvm", "implicit-dvn", "implicit-cd", "implicit-nce",
}  # fmt: skip


def test_every_method_is_there() -> None:
    assert set(RECIPES) >= EXPECTED


@pytest.mark.parametrize("name", RECIPES)
def test_names_agree(name) -> None:
    method = build(name)
    assert method.name == name
    assert RECIPES[name].__name__ == name.replace("-", "_")
    assert all(phase.name for phase in method.phases)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_describes_itself_and_cites_its_paper(name) -> None:
    line = summary(name)
    assert 10 < len(line) <= 100
    assert line.endswith(".") or line.endswith(":")
    text = inspect.getdoc(RECIPES[name])
    cited = re.search(r"[Pp]aper 00\d,\s+(Eq\. \d|section \d)|\(\w+ et al\., \d{4}\)", text)
    assert cited, f"{name} cites no equation, section or paper"


@pytest.mark.parametrize("name", RECIPES)
def test_every_parameter_is_named_typed_and_taken(name) -> None:
    signature = inspect.signature(RECIPES[name])
    known = defaults(name)
    assert list(known) == list(signature.parameters)
    for key, parameter in signature.parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.default is not inspect.Parameter.empty
        assert build(name, {key: known[key]}) == build(name)


#: Values that a parameter with a few of them may take, besides its default.
CHOICES = {
    "candidates": ["samples", "correlated"],
    "cost": ["hamming"],
    "curvature": ["hessian"],
    "gradient": ["direct"],
    "loss": ["perceptron"],
    "path": ["all", "cost"],
    "predict": ["net"],
    "product": ["finite-differences"],
    "sharing": ["separated", "shared"],
    "solver": ["cg"],
    "start": ["random"],
    "tune_on": ["validation", "unlabelled"],
    "beta1": [0.9],  # not every number will do
}


def changed(key: str, value) -> list:
    """Other values of the same kind."""
    if key in CHOICES:
        return [choice for choice in CHOICES[key] if choice != value]
    return [not value] if isinstance(value, bool) else [type(value)(2 * value + 1)]


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in RECIPES for key in defaults(name)]
)
def test_every_parameter_changes_the_method(name, key) -> None:
    given = {}
    if key in ("std", "radius"):  # of no use to other candidates
        kind = "perturbed" if key == "std" else "correlated"
        given = {"noise": 1.0} if "noise" in defaults(name) else {"candidates": kind}
    assert key in CHOICES or not isinstance(defaults(name)[key], str)
    methods = [build(name, given)]
    others = changed(key, defaults(name)[key])
    assert others
    for value in others:
        method = build(name, {**given, key: value})
        assert method not in methods
        methods.append(method)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (name, key)
        for name in RECIPES
        for key, value in defaults(name).items()
        if isinstance(value, str)
    ],
)
def test_a_misspelt_choice_is_refused(name, key) -> None:
    """In the word the user wrote, with the one that was meant."""
    meant = CHOICES[key][0]
    wrong = meant + meant[-1]
    with pytest.raises(SettingError, match=f"unknown .*'{wrong}': did you mean '{meant}'"):
        build(name, {key: wrong})


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(SettingError, match="unknown method 'seal-nec': did you mean 'seal-nce'"):
        build("seal-nec")
    with pytest.raises(SettingError, match="unknown method 'seal-nec'"):
        defaults("seal-nec")
    message = "unknown parameter of seal-nce 'sample': did you mean 'samples'"
    with pytest.raises(SettingError, match=message):
        build("seal-nce", {"sample": 3})
    with pytest.raises(SettingError, match="unknown parameter of cross-entropy 'samples'"):
        build("cross-entropy", {"samples": 3})
    with pytest.raises(SettingError, match="unknown cost 'haming': did you mean 'hamming'"):
        build("seal-margin", {"cost": "haming"})
    with pytest.raises(SettingError, match="did you mean 'perturbed'"):
        build("seal-regression-s", {"candidates": "perturb"})
    with pytest.raises(SettingError, match=r"unknown start 'zeros': \(known: net, random\)"):
        build("nce-energy", {"start": "zeros"})


@pytest.mark.parametrize(
    ("name", "key", "value", "kind"),
    [
        ("seal-nce", "samples", 3.5, "int"),
        ("seal-nce", "samples", "3", "int"),
        ("seal-nce", "samples", True, "int"),
        ("seal-nce", "energy_weight", "1", "float"),
        ("seal-nce", "energy_weight", False, "float"),
        ("seal-nce", "energy_weight", None, "float"),
        ("seal-margin", "cost", 1, "str"),
    ],
)
def test_values_of_another_type_are_refused(name, key, value, kind) -> None:
    with pytest.raises(SettingError, match=f"{key} of {name} is .*give a value of type {kind}"):
        build(name, {key: value})


def test_a_whole_number_is_a_number() -> None:
    assert build("seal-nce", {"energy_weight": 2}) == build("seal-nce", {"energy_weight": 2.0})


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("seal-nce", {"samples": 0}, "number of samples is 0"),
        ("seal-nce", {"energy_weight": -1.0}, "weight of a term is -1.0"),
        ("seal-nce", {"energy_weight": 0.0, "xent_weight": 0.0}, "every term has weight 0"),
        ("seal-nce", {"energy_steps": 0}, "'energy' is trained 0 steps a batch"),
        ("seal-nce", {"task_lr": 0.0}, "learning rate is 0.0"),
        ("seal-regression-s", {"std": -1.0}, "std is -1.0"),
        ("spen", {"gbi_steps": -1}, "steps is -1"),
        ("dvn", {"gbi_lr": 0.0}, "lr is 0.0"),
        ("dvn", {"weight_decay": -0.1}, "weight decay is -0.1"),
    ],
)
def test_values_out_of_range_are_refused(name, parameters, message) -> None:
    with pytest.raises(SettingError, match=message):
        build(name, parameters)


# The assemblies are the papers' ------------------------------------------------------------------


def energy_update(name: str, **parameters):
    for phase in build(name, parameters).phases:
        for update in phase.updates:
            if update.trains == "energy":
                return update
    raise AssertionError(f"{name} trains no energy")


@pytest.mark.parametrize(
    ("name", "contrast", "proposal"),
    [
        ("spen", Margin, GBI),
        ("nce-energy", NCE, Samples),
        ("seal-static-margin", Margin, GBI),
        ("seal-static-nce", NCE, Samples),
        ("seal-margin", Margin, NetOutput),
        ("seal-regression", Regression, NetOutput),
        ("seal-regression-s", Regression, Perturbed),
        ("seal-nce", NCE, Samples),
        ("seal-ranking", Ranking, Samples),
    ],
)
def test_contrast_and_candidates(name, contrast, proposal) -> None:
    objective = energy_update(name).objective
    assert isinstance(objective.contrast, contrast)
    assert isinstance(objective.proposal, proposal)


def test_spen_descends_on_the_energy_less_the_cost() -> None:
    objective = energy_update("spen", cost="hamming").objective
    assert objective.proposal.cost is costs.hamming is objective.cost
    assert objective.proposal.contrast is None
    predict = build("spen").predict
    assert isinstance(predict, GBI)
    assert predict.cost is None


def test_dvn_has_three_candidates() -> None:
    for name in ("dvn", "seal-static-regression"):
        objective = energy_update(name, cost="iou").objective
        inferred, adversarial, truth = objective.proposal.parts
        assert inferred.cost is None
        assert adversarial.cost is costs.iou is objective.cost
        assert isinstance(adversarial.contrast, Regression)
        assert truth.needs_target


def test_the_end_to_end_energy_is_unrolled() -> None:
    update = energy_update("spen-e2e")
    assert isinstance(update.gradient, Unrolled)
    assert update.objective.prediction == build("spen-e2e").predict


def without_entropy(name: str) -> dict[str, float]:
    """The paper's loss, for the recipes that can take the output's entropy off."""
    return {"entropy_weight": 0.0} if "entropy_weight" in defaults(name) else {}


@pytest.mark.parametrize("name", ["seal-nce", "seal-static-nce"])
def test_the_entropy_comes_off_the_energy(name) -> None:
    method = build(name, {"energy_weight": 0.25, "entropy_weight": 0.125})
    (update,) = (u for u in method.phases[-1].updates if u.trains == "task")
    (entropy,) = (term for term in update.objective.terms if isinstance(term.term, Entropy))
    assert isinstance(entropy.term, NegativeEntropy)
    assert entropy.weight == 0.125
    without = build(name, {"energy_weight": 0.0, "entropy_weight": 0.125})
    (update,) = (u for u in without.phases[-1].updates if u.trains == "task")
    assert [type(term.term) for term in update.objective.terms if term.weight] == [CrossEntropy]


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("seal-")])
def test_the_task_net_reads_the_contrasts_link(name) -> None:
    """λ1 link(E) + λ2 cross-entropy, the link of the contrast the energy was trained with."""
    method = build(name, {"energy_weight": 0.25, "xent_weight": 0.5, **without_entropy(name)})
    (update,) = (u for u in method.phases[-1].updates if u.trains == "task")
    energy, xent = (term for term in update.objective.terms if term.weight)
    assert (energy.weight, xent.weight) == (0.25, 0.5)
    assert isinstance(energy.term, EnergyTerm)
    assert isinstance(xent.term, CrossEntropy)
    assert energy.term.contrast == energy_update(name).objective.contrast
    assert method.task_net_predicts


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("seal-static")])
def test_static_energies_are_frozen_for_the_task_net(name) -> None:
    *before, last = build(name).phases
    assert last.trained == {"task"}
    assert all("task" not in phase.trained for phase in before)
    assert any("energy" in phase.trained for phase in before)


def test_refinement_starts_where_it_is_told() -> None:
    assert isinstance(build("nce-energy").predict.start, NetOutput)
    assert build("nce-energy", {"start": "random"}).predict.start == Random(3)
