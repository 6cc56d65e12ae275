"""Constraints against enumeration, and the method that trains on one."""

import pytest
import torch

from lossnet import (
    Batch,
    Categorical,
    Context,
    ImageSegmenter,
    SequenceTagger,
    Trainer,
    build,
)
from lossnet.constraints import UniqueSpans
from lossnet.errors import SettingError
from lossnet.proposals import NetOutput
from lossnet.terms import ConstraintTerm
from lossnet.training import Arrays

#: Tags: O, B-X, I-X, B-Y, S-Y; a span of Y begins with either of two tags.
ROLES = UniqueSpans([[1], [3, 4]])
SPACE = Categorical(constraint=ROLES)


def pairs(tags: list[int]) -> int:
    """Pairs of positions that begin the same role, counted one by one."""
    return sum(
        tags[s] in group and tags[t] in group
        for group in ROLES.groups
        for s in range(len(tags))
        for t in range(s)
    )


def relaxed(k: int = 2, batch: int = 3, length: int = 4) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(k, batch, length, 5, generator=generator).double().softmax(-1)


@pytest.mark.parametrize("form", [torch.Tensor.double, torch.Tensor.bool, torch.Tensor.to_sparse])
def test_discrete_outputs_are_counted(form) -> None:
    every = SPACE.enumerate((4, 5))
    found = ROLES(form(every.double().unsqueeze(1)))
    assert found.shape == (5**4, 1)
    assert found.squeeze(1).tolist() == [pairs(tags) for tags in every.long().argmax(-1).tolist()]


def test_relaxed_outputs_have_the_mean_over_all_outputs() -> None:
    y = relaxed()
    every = SPACE.enumerate((4, 5))
    counts = torch.tensor([pairs(tags) for tags in every.long().argmax(-1).tolist()])
    for k in range(2):
        for b in range(3):
            p = torch.stack([y[k, b][one].prod() for one in every])
            torch.testing.assert_close(ROLES(y)[k, b], (p * counts).sum())


def test_gradients_and_padding() -> None:
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()
    y = relaxed().requires_grad_()
    assert torch.autograd.gradcheck(lambda y: ROLES(y, mask), (y,))
    changed = torch.where(mask.unsqueeze(-1), y, 77.0)
    assert torch.equal(ROLES(changed, mask), ROLES(y, mask))
    torch.testing.assert_close(ROLES(y, mask)[:, 1:2], ROLES(y[:, 1:2, :2]))
    assert ROLES(y, mask)[:, 2].tolist() == [0.0, 0.0]


def test_without_groups_nothing_is_violated() -> None:
    mask = torch.ones(3, 4).bool()
    assert UniqueSpans(())(relaxed(), mask).tolist() == [[0.0] * 3] * 2


def test_the_term_is_the_constraint_of_the_net_s_output() -> None:
    logits = relaxed()[0].log()
    context = Context({}, Batch(torch.zeros(3)), SPACE, given={"task": logits})
    found = ConstraintTerm()(context, NetOutput()(context))
    torch.testing.assert_close(found, ROLES(logits.softmax(-1).unsqueeze(0))[0])


def test_structured_tuning_lowers_violations() -> None:
    """Both of two positions begin X half of the time, one or the other: a constraint decides."""
    rows = torch.ones(64, 1)
    first = torch.arange(64) % 2
    tags = torch.stack([1 - first, first], 1)  # B-X O, O B-X
    target = torch.nn.functional.one_hot(tags, 5).float()
    violations = {}
    for weight in (0.0, 10.0):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(1, 10), torch.nn.Unflatten(1, (2, 5)))
        params = {"constraint_weight": weight, "task_optimiser": {"lr": 0.1}}
        method = build("structured-tuning", params)
        source = Arrays(rows, target)
        Trainer(method, {"task": net}, SPACE, source, max_epochs=30, seed=0).run()
        y = net(rows[:1]).detach().softmax(-1)
        violations[weight] = float(ROLES(y.unsqueeze(0)))
    assert violations[0.0] == pytest.approx(0.25, abs=0.02)
    assert violations[10.0] < 0.1


@pytest.mark.parametrize("estimator", [ImageSegmenter, SequenceTagger])
def test_tasks_without_a_constraint_refuse_it(estimator) -> None:
    with pytest.raises(SettingError, match=r"'structured-tuning' needs a constraint, which .* not"):
        estimator("structured-tuning").fit([["a"]], [["O"]])


def test_a_space_without_a_constraint_and_empty_groups_are_refused() -> None:
    context = Context({}, Batch(torch.zeros(3)), Categorical(), given={"task": relaxed()[0]})
    with pytest.raises(SettingError, match="needs a space with a constraint"):
        ConstraintTerm()(context, NetOutput()(context))
    with pytest.raises(SettingError, match="a group must have at least one tag"):
        UniqueSpans([[1], []])
