"""Assemblies that cannot work are refused when they are built, and the error says what to do."""

from dataclasses import replace

import pytest
import torch

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import NCE, Margin, Perceptron, Ranking, Regression
from lossnet.costs import f1, l1
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.gradients import Direct, Implicit, Unrolled
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.nets import Derivation, LabelMLP, Stacked
from lossnet.objectives import Compare, Judge
from lossnet.proposals import (
    GBI,
    Candidates,
    Combined,
    Exact,
    NetOutput,
    Perturbed,
    Random,
    Samples,
    Target,
    Zeros,
)
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.terms import (
    CostTerm,
    CrossEntropy,
    EnergyTerm,
    Entropy,
    NegativeEntropy,
    Violation,
    Weighted,
)

XENT = Judge((Weighted(1.0, CrossEntropy()),))
FOLLOW = Judge((Weighted(1.0, EnergyTerm()), Weighted(1.0, CrossEntropy())))
AUGMENTED, COPIED = NetOutput("augmented"), {"task": "augmented"}


def energy(contrast=None, proposal=None, **options) -> Update:
    return Update("energy", Compare(contrast or Margin(), proposal or NetOutput()), **options)


def task(**options) -> Update:
    return Update("task", XENT, **options)


def phase(*updates: Update, **options) -> Phase:
    return Phase(updates or (task(),), **options)


REFUSED = {
    "NCE without log q": (
        lambda: energy(NCE(), NetOutput()),
        r"NCE needs log q and NetOutput has none; take Samples, or Ranking\(\)",
    ),
    "NCE on a mixture": (
        lambda: energy(NCE(), Combined((Samples(2), Samples(3)))),
        "NCE needs log q and Combined has none",
    ),
    "NCE on perturbed logits": (lambda: energy(NCE(), Perturbed(3)), "Perturbed has none"),
    "samples, unrolled": (
        lambda: energy(Ranking(), Samples(3), gradient=Unrolled()),
        "needs a path to the candidates' net and Samples has none; take NetOutput, "
        "Perturbed, RelaxedSamples or GBI without Adam, or gradient=Direct()",
    ),
    "Adam, unrolled": (
        lambda: energy(proposal=GBI(3), gradient=Unrolled()),
        "GBI has none; take NetOutput, Perturbed, RelaxedSamples or GBI without Adam",
    ),
    "a judged prediction without a path": (
        lambda: Update(
            "energy", Judge((Weighted(1.0, CrossEntropy()),), GBI(3)), gradient=Unrolled()
        ),
        "GBI has none; take NetOutput, Perturbed, RelaxedSamples or GBI without Adam, or judge a "
        "NetOutput",
    ),
    "a contrast of another net": (
        lambda: Update("task", Compare(Margin(), NetOutput())),
        "an update of 'task' compares energies of 'energy'; train 'energy' instead",
    ),
    "a contrast of another net, unrolled through a third": (
        lambda: Update("task", Compare(Margin(), NetOutput("noise")), gradient=Unrolled()),
        "an update of 'task' compares energies of 'energy'; train 'energy' instead",
    ),
    "a judged prediction of another net": (
        lambda: Update("energy", XENT),
        r"an update of 'energy' judges a prediction of NetOutput, through which only "
        r"gradient=Unrolled\(\) reaches it",
    ),
    "a judged prediction that never runs the net": (
        lambda: Update("critic", XENT, gradient=Unrolled()),
        "an update of 'critic' judges a prediction that does not run it; train 'task' instead",
    ),
    "weights all zero": (
        lambda: Update("task", Judge((Weighted(0.0, EnergyTerm()), Weighted(0, CrossEntropy())))),
        "every term has weight 0, so there is nothing to minimise",
    ),
    "no terms": (lambda: Update("task", Judge(())), "every term has weight 0"),
    "a negative weight": (
        lambda: Weighted(-1.0, CrossEntropy()),
        "weight must be at least 0, got -1.0",
    ),
    "a weight that is no number": (lambda: Weighted(float("nan"), Entropy()), "got nan"),
    "no steps": (lambda: task(steps=0), "steps of 'task' must be at least 1, got 0"),
    "negative steps": (lambda: energy(steps=-2), "steps of 'energy' must be at least 1, got -2"),
    "no learning rate": (lambda: Optimiser(lr=0.0), "lr must be above 0, got 0.0"),
    "negative decay": (
        lambda: Optimiser(weight_decay=-1.0),
        "weight_decay must be at least 0, got -1.0",
    ),
    "no norm left": (lambda: Optimiser(clip=0.0), "clip must be above 0 or None, got 0.0"),
    "no plateau": (lambda: Optimiser(plateau=0), "plateau must be at least 1 or None, got 0"),
    "an empty phase": (lambda: Phase((), name="warm-up"), "phase 'warm-up' has no update"),
    "one net in two updates": (
        lambda: phase(task(), task(), name="both"),
        "phase 'both' trains one net in two updates; join them",
    ),
    "an unknown monitor": (
        lambda: phase(monitor="los"),
        "unknown monitor 'los': did you mean 'loss'",
    ),
    "a given net that is trained": (
        lambda: Method("mine", (phase(),), given=frozenset({"task"})),
        "method 'mine' trains 'task', a net that is given",
    ),
    "no phase": (lambda: Method("mine", ()), "method 'mine' has no phase"),
    "predicting with the truth": (
        lambda: Method("mine", (phase(),), predict=Target()),
        "method 'mine' predicts with Target, which needs the truth; predict with the output of a "
        "net of x alone, or a GBI without a cost",
    ),
    "predicting with the enumeration": (
        lambda: Method("mine", (phase(),), predict=Exact()),
        "predicts with Exact, which needs the truth",
    ),
    "validating with a cost": (
        lambda: Method("mine", (phase(energy(), predict=GBI(3, cost=f1)),), predict=GBI()),
        "predicts with GBI, which needs the truth",
    ),
    "starting from the truth": (
        lambda: Method("mine", (phase(energy()),), predict=GBI(3, start=Target())),
        "predicts with GBI, which needs the truth",
    ),
    "a net never trained": (
        lambda: Method("mine", (phase(energy(Ranking(), Samples(3, "noise"))),), predict=GBI()),
        "method 'mine' uses noise, task without ever training it",
    ),
    "samples, implicitly": (
        lambda: energy(Ranking(), Samples(3), gradient=Implicit(FOLLOW)),
        "needs a path to the candidates' net and Samples has none; take NetOutput, "
        "Perturbed, RelaxedSamples or GBI without Adam, or gradient=Direct()",
    ),
    "implicitly, candidates of no net": (
        lambda: energy(proposal=GBI(2, adam=False), gradient=Implicit(FOLLOW)),
        "no candidate comes from 'task'; propose from it, or take gradient=Direct()",
    ),
    "an inner objective without the energy": (
        lambda: build("implicit-ssvm", {"energy_weight": 0.0}),
        "the inner objective does not depend on energy, so the implicit part is always zero; "
        "give its energy term a weight, or take gradient=Direct()",
    ),
    "Gauss-Newton of nothing": (
        lambda: build("implicit-ssvm", {"xent_weight": 0.0}),
        "no inner term is convex in the logits; give cross-entropy a weight",
    ),
    "Gauss-Newton without damping": (
        lambda: build("implicit-nce", {"gradient": {"damping": 0.0}}),
        "gradient: damping must be above 0 with .*, got 0: the matrix is singular",
    ),
    "negative damping": (
        lambda: build("implicit-dvn", {"gradient": {"damping": -1.0, "curvature": "hessian"}}),
        "gradient.damping must be at least 0, got -1.0",
    ),
    "a series without terms": (
        lambda: build("implicit-cd", {"gradient": {"solver": {"terms": 0}}}),
        "gradient.solver.terms must be at least 1, got 0",
    ),
    "conjugate gradients of negative steps": (
        lambda: build("implicit-cd", {"gradient": {"solver": {"kind": "cg", "steps": -3}}}),
        "gradient.solver.steps must be at least 1, got -3",
    ),
    "a descent of negative steps": (
        lambda: build("alen", {"inference": {"steps": -1}}),
        "inference.steps must be at least 0, got -1",
    ),
    "a prediction of negative steps": (
        lambda: build("alen", {"predict_steps": -2}),
        "predict_steps must be at least 1, got -2",
    ),
    "predicting with a separated cost-augmented net": (
        lambda: replace(build("infnet-plus", {"sharing": "separated"}), predict=AUGMENTED),
        "method 'infnet-plus' predicts with 'augmented', a cost-augmented net, which is trained to "
        "differ from the truth; predict with the test-time net",
    ),
    "predicting with a shared cost-augmented net": (
        lambda: replace(build("infnet-plus", {"sharing": "shared"}), predict=AUGMENTED),
        "predicts with 'augmented', a cost-augmented net",
    ),
    "predicting with a stacked cost-augmented net": (
        lambda: replace(build("infnet-plus", {"sharing": "stacked"}), predict=AUGMENTED),
        "predicts with the net 'augmented', which needs the truth; predict with the output of a "
        "net of x alone, or a GBI without a cost",
    ),
    "descending from a cost-augmented net": (
        lambda: replace(
            build("infnet-plus", {"sharing": "shared"}), predict=GBI(2, start=AUGMENTED)
        ),
        "predicts with 'augmented', a cost-augmented net",
    ),
    "predicting with a cost-augmented net after tuning another": (
        lambda: replace(build("infnet"), predict=AUGMENTED),
        "predicts with 'augmented', a cost-augmented net",
    ),
    "a copy of a cost-augmented net that is not tuned": (
        lambda: Method(
            "mine",
            (build("infnet").phases[0], phase(energy(proposal=AUGMENTED), copies=COPIED)),
        ),
        "method 'mine' predicts with 'task', a cost-augmented net",
    ),
    "unlabelled rows and cross-entropy": (
        lambda: phase(rows="unlabelled", name="tune"),
        "phase 'tune' trains 'task' on unlabelled rows, and its objective needs the truth; take "
        "rows='train', or an objective without cross-entropy",
    ),
    "unlabelled rows and a contrast": (
        lambda: phase(energy(), rows="unlabelled"),
        "trains 'energy' on unlabelled rows, and its objective needs the truth",
    ),
    "unlabelled rows and a cost": (
        lambda: phase(Update("task", Judge((Weighted(1.0, Violation(l1)),))), rows="unlabelled"),
        "trains 'task' on unlabelled rows, and its objective needs the truth",
    ),
    "validation rows and cross-entropy": (
        lambda: phase(rows="validation"),
        "trains 'task' on validation rows, and its objective needs the truth",
    ),
    "unknown rows": (
        lambda: phase(rows="unlabeled"),
        "unknown rows 'unlabeled': did you mean 'unlabelled'",
    ),
    "an update of no net": (
        lambda: Update((), XENT),
        r"trains must be one net, or different ones, got \(\)",
    ),
    "one net in two updates of several": (
        lambda: phase(task(), build("infnet-plus").phases[0].updates[1], name="both"),
        "phase 'both' trains one net in two updates; join them",
    ),
    "no steps for several nets": (
        lambda: build("infnet-plus", {"net_steps": 0}),
        "net_steps must be at least 1, got 0",
    ),
    "a beta out of range": (
        lambda: Optimiser(beta1=1.0),
        "beta1 must be from 0 to below 1, got 1.0",
    ),
    "an energy never trained": (
        lambda: Method("mine", (phase(),), predict=GBI(start=NetOutput())),
        "method 'mine' uses energy without ever training it",
    ),
}


@pytest.mark.parametrize(("assemble", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_when_built(assemble, message) -> None:
    with pytest.raises(SettingError, match=message):
        assemble()


def test_cost_augmented_nets_may_predict_while_they_train_and_once_they_are_tuned() -> None:
    joint, tune = build("infnet").phases
    assert joint.predict == AUGMENTED
    assert Method("mine", (joint, tune)).predict == NetOutput()
    assert replace(build("infnet-plus", {"margin": 0.0, "sharing": "shared"}), predict=AUGMENTED)


def test_unlabelled_rows_do_for_the_energy_alone() -> None:
    update = Update("task", Judge((Weighted(1.0, Violation()), Weighted(1.0, Entropy()))))
    for rows in ("train", "validation", "unlabelled"):
        assert phase(update, rows=rows).rows == rows


def test_what_a_method_says_of_itself() -> None:
    term = Weighted(1.0, EnergyTerm(energy="critic"))
    critic = Update("critic", Compare(Ranking(), Samples(4), energy="critic"), steps=3)
    method = Method("mine", (phase(name="first"), phase(critic, Update("task", Judge((term,))))))
    assert method.nets == {"task", "critic"}
    assert method.steps_per_batch == {"task": 1, "critic": 3}
    assert method.task_net_predicts
    assert method.phases[1].trained == {"task", "critic"}
    inferred = Method("mine", (phase(energy(Perceptron(), Zeros()), predict=GBI()),), GBI())
    assert not inferred.task_net_predicts
    assert inferred.nets == {"energy"}


def test_a_term_of_weight_0_needs_no_net() -> None:
    judge = Judge((Weighted(0.0, EnergyTerm()), Weighted(1.0, Entropy())))
    assert judge.nets == {"task"}
    assert not judge.needs
    counted = Judge((Weighted(0.5, EnergyTerm()), Weighted(1.0, CostTerm())))
    assert counted.nets == {"task", "energy"}
    assert counted.needs == {"target"}


@pytest.mark.parametrize(
    "update",
    [
        energy(Margin(), GBI(3, adam=False, start=NetOutput()), gradient=Unrolled()),
        energy(Ranking(), Perturbed(3), gradient=Unrolled()),
        Update("task", Compare(Margin(), NetOutput()), gradient=Unrolled()),
        Update("task", Compare(Ranking(), Samples(3), energy="task")),
        Update(
            "energy",
            Judge((Weighted(1.0, CrossEntropy()),), GBI(3, adam=False, start=Random(1))),
            gradient=Unrolled(),
        ),
        energy(NCE(), Samples(3)),
        energy(NCE(), Exact()),
    ],
    ids=range(7),
)
def test_assemblies_that_work_are_built(update) -> None:
    assert update.trains in update.objective.nets


# Terms and gradients -----------------------------------------------------------------------------


def problem() -> Context:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = {
            "task": LabelMLP(3, 4, hidden=(5,)).double(),
            "energy": LabelEnergy(3, 4, hidden=(5,), global_hidden=3).double(),
        }
        x = torch.randn(6, 3, dtype=torch.float64)
        target = (torch.rand(6, 4) < 0.5).double()
    return Context(nets, Batch(x, target), Binary(), training=frozenset(nets))


def test_terms_are_what_they_say() -> None:
    context = problem()
    drawn = NetOutput()(context, keep_graph=True)
    p = drawn.y[0]
    e = context.energy(drawn.y)[0]
    target = context.target
    expected = {
        EnergyTerm(): e,
        EnergyTerm(Margin()): e,
        EnergyTerm(Regression()): -torch.sigmoid(-e),
        CrossEntropy(): -(target * p.log() + (1 - target) * (1 - p).log()).sum(-1),
        CostTerm(f1): f1(drawn.y, target, None)[0],
        NegativeEntropy(): (p * p.log() + (1 - p) * (1 - p).log()).sum(-1),
        Entropy(): -(p * p.log() + (1 - p) * (1 - p).log()).sum(-1),
    }
    for term, value in expected.items():
        torch.testing.assert_close(term(context, drawn), value)
        bare = Candidates(drawn.y)  # a prediction without logits
        torch.testing.assert_close(term(context, bare), value)
    terms = [Weighted(0.5, CrossEntropy()), Weighted(0.0, Entropy()), Weighted(2.0, EnergyTerm())]
    total = Judge(tuple(terms))(context)
    torch.testing.assert_close(total, 0.5 * expected[CrossEntropy()] + 2 * e)


def test_a_direct_gradient_takes_candidates_as_constants() -> None:
    """An unrolled one adds what flows through them."""
    context = problem()
    nets = context.nets
    objective = Compare(Margin(), NetOutput())
    everything = [*nets["task"].parameters(), *nets["energy"].parameters()]
    count = len(list(nets["task"].parameters()))
    direct = Direct()(objective, context, ("energy",), everything)
    context.invalidate(["task", "energy"])
    unrolled = Unrolled()(objective, context, ("energy",), everything)
    assert torch.equal(direct.loss, unrolled.loss)
    assert not direct.loss.requires_grad
    assert not unrolled.loss.requires_grad
    assert all(g is None for g in direct.values[:count])
    assert all(bool((g != 0).any()) for g in unrolled.values[:count])
    for left, right in zip(direct.values[count:], unrolled.values[count:], strict=True):
        torch.testing.assert_close(left, right)


def test_a_task_nets_energy_is_minus_its_log_likelihood() -> None:
    context = problem()
    loss = Compare(Ranking(), Exact(), energy="task")(context)
    log_p = Binary().log_prob(context.logits(), context.target.unsqueeze(0))[0]
    # Over all outputs the probabilities sum to 1, and the truth counts once more.
    torch.testing.assert_close(loss, torch.log1p(log_p.exp()) - log_p)


def test_targets_are_asked_for() -> None:
    context = problem()
    bare = Context(context.nets, Batch(context.batch.x), Binary())
    with pytest.raises(TypeError, match="this step needs targets, and the batch has none"):
        XENT(bare)


def test_copies_and_derived_nets_are_checked() -> None:
    xent = Judge((Weighted(1.0, CrossEntropy()),))
    task = Update("task", xent)
    with pytest.raises(SettingError, match="net to copy in 'train': 'nowhere'"):
        Method("m", (Phase((task,), copies={"task": "nowhere"}),))
    with pytest.raises(SettingError, match="never runs 'bogus'; leave that net out"):
        Update(("task", "bogus"), xent)
    with pytest.raises(SettingError, match="must be one net, or different ones"):
        Update(("task", "task"), xent)
    ring = {"a": Derivation(Stacked, "b"), "b": Derivation(Stacked, "a")}
    with pytest.raises(SettingError, match="itself derived"):
        Method("m", (Phase((task,)),), derived=ring)


def test_a_path_through_costs_that_do_not_count_is_refused() -> None:
    for name in ("implicit-ssvm", "implicit-cd", "implicit-nce"):
        with pytest.raises(SettingError, match="give the cost a weight"):
            build(name, {"margin": 0.0})
        build(name, {"margin": 0.0, "path": "all"})
        build(name, {"margin": 0.0, "gradient": "direct"})


def test_a_stacked_net_is_not_trained_without_the_truth() -> None:
    follow = Judge((Weighted(1.0, EnergyTerm()),), NetOutput("augmented"))
    energy = Update("energy", Compare(Ranking(), Samples()))
    task = Update("task", Judge((Weighted(1.0, CrossEntropy()),)))
    with pytest.raises(SettingError, match="'augmented' needs the truth; take rows='train'"):
        Method(
            "m",
            (Phase((energy, task)), Phase((Update("augmented", follow),), rows="unlabelled")),
            derived={"augmented": Derivation(Stacked)},
        )


def test_a_net_that_is_given_need_not_be_trained() -> None:
    phases = (phase(energy(Ranking(), Samples(3))),)
    with pytest.raises(SettingError, match="uses task without ever training it"):
        Method("mine", phases)
    method = Method("mine", phases, given=frozenset({"task"}))
    assert method.nets == {"task", "energy"}
    assert method.meaning.joint == "ratio"
