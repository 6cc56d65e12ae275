"""Recipes by name: parameters, their checks, and what their descriptions say."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lossnet import Optimiser, costs
from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.errors import SettingError
from lossnet.gradients import ConjugateGradient, Direct, Implicit, Neumann, Unrolled
from lossnet.parameters import plain, with_value
from lossnet.proposals import (
    GBI,
    Either,
    NetOutput,
    Perturbed,
    Random,
    Samples,
    Target,
    Zeros,
)
from lossnet.recipes import METHODS, build, defaults, listing, methods_for, parameters, summary
from lossnet.terms import CrossEntropy, EnergyTerm, Entropy, NegativeEntropy

EXPECTED = {
    "cross-entropy", "spen", "spen-e2e", "dvn", "nce-energy",
    "seal-static-margin", "seal-static-regression", "seal-static-nce",
    "seal-margin", "seal-regression", "seal-regression-s", "seal-nce", "seal-ranking",
    "task-ranking", "infnet", "infnet-plus", "alen", "aen",
    "implicit-ssvm", "implicit-dvn", "implicit-cd", "implicit-nce",
    "crf", "ssvm", "seal-reward", "implicit-reward", "structured-tuning",
}  # fmt: skip


def test_every_method_is_there() -> None:
    assert set(METHODS) == EXPECTED


@pytest.mark.parametrize("name", METHODS)
def test_names_agree(name) -> None:
    method = build(name)
    assert method.name == name
    assert METHODS[name].__name__ == name.replace("-", "_")
    assert all(phase.name for phase in method.phases)


@pytest.mark.parametrize("name", METHODS)
def test_a_recipe_describes_itself_and_cites_its_paper(name) -> None:
    line = summary(name)
    assert 10 < len(line) <= 100
    assert line.endswith(".") or line.endswith(":")
    text = inspect.getdoc(METHODS[name])
    cited = re.search(r"[Pp]aper 00\d,\s+(Eq\. \d|section \d)|\(\w+ et al\., \d{4}\)", text)
    assert cited, f"{name} cites no equation, section or paper"


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_named_typed_and_taken(name) -> None:
    signature = inspect.signature(METHODS[name])
    known = defaults(name)
    assert list(known) == list(signature.parameters)
    for key, parameter in signature.parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.default is not inspect.Parameter.empty
        assert build(name, {key: known[key]}) == build(name)
        assert build(name, {key: plain(known[key])}) == build(name)


def changed(key: str, value, choices) -> list:
    """Other values of the same kind."""
    if choices:
        return [choice for choice in choices if choice != value]
    last = key.rpartition(".")[2]
    if last in {"clip", "scale", "encoder_lr", "warmup"}:  # not every value will do
        return [0.25]
    if last in {"cost", "beta1", "adam", "decay"}:
        return {"cost": ["hamming"], "beta1": [0.7]}.get(last, [not value])
    return [not value] if isinstance(value, bool) else [type(value)(2 * (value or 0) + 1)]


#: What a parameter needs besides to be of use, or to be taken.
NEEDED = {
    "alen radius": {"noise": 1.0},
    "spen-e2e inference.adam": None,  # Adam's steps cannot be unrolled
    "dvn inference.on": None,  # the joint needs a task-net
    "tune_optimiser.plateau": {},
}


@pytest.mark.parametrize(
    ("name", "row"), [(name, row) for name in METHODS for row in listing(name, defaults(name))]
)
def test_every_parameter_changes_the_method(name, row) -> None:
    key, value, choices = row
    given = NEEDED.get(f"{name} {key}", {})
    if given is None:
        pytest.skip("the recipe allows one value")
    if key.endswith("plateau") and value is None:
        value = 1
    assert (value is None or choices) or not isinstance(value, str) or key == "cost"
    methods = [build(name, given)]
    others = changed(key, value, choices)
    assert others
    for other in others:
        method = build(name, with_value(given, key.split("."), other))
        assert method not in methods
        methods.append(method)


@pytest.mark.parametrize(
    ("name", "key", "meant"),
    [
        (name, key, choices[0] if choices else "hamming")
        for name in METHODS
        for key, value, choices in listing(name, defaults(name))
        if isinstance(value, str)
    ],
)
def test_a_misspelt_choice_is_refused(name, key, meant) -> None:
    """In the word the user wrote, with the one that was meant."""
    wrong = meant + meant[-1]
    with pytest.raises(SettingError, match=f"unknown .*'{wrong}': did you mean '{meant}'"):
        build(name, with_value({}, key.split("."), wrong))


@pytest.mark.parametrize("name", METHODS)
def test_resolved_parameters_can_be_given_back(name) -> None:
    import json

    found = plain(parameters(name))
    assert build(name, json.loads(json.dumps(found))) == build(name)


# Nested parameters -------------------------------------------------------------------------------


def solver(given):
    (phase,) = build("implicit-nce", {"gradient": {"solver": given}}).phases
    return phase.updates[1].gradient.solver


def test_a_part_is_chosen_by_name_by_parameters_or_as_itself() -> None:
    assert solver("cg") == solver({"kind": "cg"}) == ConjugateGradient()
    assert solver({"kind": "cg", "steps": 5}) == ConjugateGradient(5)
    assert solver(ConjugateGradient(5)) == ConjugateGradient(5)
    assert solver({"terms": 7}) == Neumann(7)
    (phase,) = build("implicit-nce", {"gradient": Direct()}).phases
    assert phase.updates[1].gradient == Direct()
    given = {"gradient": Implicit(damping=3.0), "energy_optimiser": Optimiser(0.5)}
    task, energy = build("implicit-nce", given).phases[0].updates
    assert energy.gradient == Implicit(task.objective, damping=3.0)
    assert energy.optimiser == Optimiser(0.5)


def test_a_solver_of_the_users_own() -> None:
    def own(matvec, b): ...

    assert solver(own) is own


def test_overrides_change_each_other_in_turn() -> None:
    first = {"energy_optimiser": {"lr": 0.5, "beta1": 0.1}, "samples": 3}
    found = parameters("seal-nce", first, {"energy_optimiser": {"lr": 0.25}}, None)
    assert found["energy_optimiser"] == Optimiser(0.25, beta1=0.1, plateau=5)
    assert found["samples"] == 3
    again = parameters("implicit-cd", {"gradient": "direct"}, {"gradient": {"kind": "implicit"}})
    assert again["gradient"] == Implicit()


def test_numbers_of_numpy_are_taken_and_kept_as_plain_ones() -> None:
    lr, whole = np.float64(1e-3), np.int64(2)
    given = {"samples": np.int64(3), "energy_weight": whole, "energy_optimiser": {"lr": lr}}
    found = parameters("seal-nce", given)
    assert (type(found["samples"]), type(found["energy_weight"])) == (int, float)
    assert type(found["energy_optimiser"].lr) is float
    assert parameters("alen", {"local": np.bool_(True)})["local"] is True
    for wrong in (np.float64(3.0), np.bool_(True)):
        with pytest.raises(SettingError, match="samples must be an integer"):
            build("seal-nce", {"samples": wrong})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"energy_optimizer": {}}, "unknown parameter of implicit-cd .*'energy_optimiser'"),
        ({"energy_optimiser": {"rl": 1}}, "unknown parameter of energy_optimiser 'rl'"),
        ({"gradient": {"solvr": "cg"}}, "unknown parameter of gradient 'solvr': .*'solver'"),
        ({"gradient": {"solver": {"kind": "cgg"}}}, "unknown kind of gradient.solver 'cgg'.*'cg'"),
        ({"gradient": {"solver": {"kind": "cg", "terms": 2}}}, "parameter of gradient.solver"),
        ({"gradient": {"solver": {"terms": 0.5}}}, "gradient.solver.terms must be an integer"),
        ({"gradient": {"kind": ["cg"]}}, "unknown kind of gradient"),
        ({"energy_weight": 10**400}, "energy_weight must be a number that a float can hold"),
        ({"gradient": {"inner": 3}}, "unknown parameter of gradient 'inner'"),
        ({"sampler": {"net": "noise"}}, "unknown parameter of sampler 'net'"),
        ({"energy_optimiser": 3}, r"energy_optimiser must be a part \(optimiser\) or a mapping"),
        ({"energy_optimiser": {"lr": 0}}, "energy_optimiser.lr must be above 0, got 0"),
        ({"energy_optimiser": {"clip": "no"}}, "energy_optimiser.clip must be a number, got 'no'"),
        ({"sampler": {"straight_through": 1}}, "sampler.straight_through must be true or false"),
    ],
)
def test_nested_mistakes_are_named_by_their_path(given, message) -> None:
    with pytest.raises(SettingError, match=message):
        build("implicit-cd", given)


def test_a_task_trains_the_methods_whose_needs_it_provides() -> None:
    exact, judged = {"crf", "ssvm"}, {"seal-reward", "implicit-reward"}
    ruled = {"structured-tuning"}
    assert set(methods_for({"target"})) == EXPECTED - exact - judged - ruled
    assert set(methods_for({"target", "exact inference"})) == EXPECTED - judged - ruled
    assert build("structured-tuning").needs == {"target", "a constraint"}
    assert build("seal-reward").needs == {"target", "reward", "unlabelled rows"}
    assert build("infnet", {"tune_on": "unlabelled"}).needs == {"target", "unlabelled rows"}
    assert build("alen", {"local": True}).needs == {"target", "local energies"}


def test_no_part_asks_for_the_kind_of_another() -> None:
    source = Path(inspect.getfile(build)).parents[1]
    for path in source.rglob("*.py"):
        found = re.search(r"isinstance\([^)]*(ByReward|Violation|CostTerm)", path.read_text())
        assert not found, path


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
    with pytest.raises(SettingError, match=r"unknown kind of candidates 'perturb': .*'perturbed'"):
        build("seal-regression-s", {"candidates": "perturb"})
    with pytest.raises(SettingError, match=r"unknown start 'zeros' \(known: net, random\)"):
        build("nce-energy", {"start": "zeros"})


@pytest.mark.parametrize(
    ("name", "key", "value", "kind"),
    [
        ("seal-nce", "samples", 3.5, "an integer"),
        ("seal-nce", "samples", "3", "an integer"),
        ("seal-nce", "samples", True, "an integer"),
        ("seal-nce", "energy_weight", "1", "a number"),
        ("seal-nce", "energy_weight", False, "a number"),
        ("seal-nce", "energy_weight", None, "a number"),
        ("seal-margin", "cost", 1, "a string"),
    ],
)
def test_values_of_another_type_are_refused(name, key, value, kind) -> None:
    with pytest.raises(SettingError, match=f"{key} must be {kind}, got {value!r}"):
        build(name, {key: value})


def test_a_whole_number_is_a_number() -> None:
    assert build("seal-nce", {"energy_weight": 2}) == build("seal-nce", {"energy_weight": 2.0})


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("seal-nce", {"samples": 0}, "samples must be at least 1, got 0"),
        ("seal-nce", {"energy_weight": -1.0}, "energy_weight must be at least 0, got -1.0"),
        ("seal-nce", {"energy_weight": float("nan")}, "energy_weight must be at least 0, got nan"),
        ("seal-nce", {"energy_weight": 0.0, "xent_weight": 0.0}, "every term has weight 0"),
        ("seal-nce", {"energy_steps": 0}, "energy_steps must be at least 1, got 0"),
        ("seal-nce", {"task_optimiser": {"lr": 0.0}}, "task_optimiser.lr must be above 0"),
        ("seal-regression-s", {"candidates": {"std": -1.0}}, "std must be at least 0, got -1.0"),
        ("spen", {"inference": {"steps": -1}}, "inference.steps must be at least 0, got -1"),
        ("dvn", {"inference": {"lr": 0.0}}, "inference.lr must be above 0, got 0.0"),
        ("dvn", {"energy_optimiser": {"weight_decay": -0.1}}, "weight_decay must be at least 0"),
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


def test_dvn_learns_from_its_inference_and_from_one_step_of_it() -> None:
    method = build("dvn", {"inference": {"lr": 0.25}})
    inferred, near = method.phases[0].updates[0].objective.proposal.parts
    published = GBI(20, 0.25, adam=False, keep="last", on="value")
    assert inferred == method.predict == published
    assert near == replace(published, steps=1, start=Either((Target(), Zeros())))


def test_adversarial_dvn_has_three_candidates() -> None:
    for name, more in (("dvn", {"others": "adversarial"}), ("seal-static-regression", {})):
        objective = energy_update(name, cost="iou", **more).objective
        inferred, adversarial, truth = objective.proposal.parts
        assert inferred.cost is None
        assert adversarial.cost is costs.iou is objective.cost
        assert isinstance(adversarial.contrast, Regression)
        assert truth.needs == {"target"}


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


@pytest.mark.parametrize("name", [n for n in METHODS if re.match("seal-(?!reward)", n)])
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


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("seal-static")])
def test_static_energies_are_frozen_for_the_task_net(name) -> None:
    *before, last = build(name).phases
    assert last.trained == {"task"}
    assert all("task" not in phase.trained for phase in before)
    assert any("energy" in phase.trained for phase in before)


def test_refinement_starts_where_it_is_told() -> None:
    assert isinstance(build("nce-energy").predict.start, NetOutput)
    assert build("nce-energy", {"start": "random"}).predict.start == Random(3)
