"""Costs against loops and scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, hamming_loss, jaccard_score

from lossnet import costs
from lossnet.costs import pixel_iou
from lossnet.errors import SettingError


def relaxed(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def binary(*shape: int, seed: int = 0) -> torch.Tensor:
    return (relaxed(*shape, seed=seed) < 0.4).double()


def one_hot(*shape: int, seed: int = 0) -> torch.Tensor:
    winners = relaxed(*shape, seed=seed).argmax(-1)
    return torch.nn.functional.one_hot(winners, shape[-1]).double()


def naive(name: str, y: list[float], t: list[float]) -> float:
    """A cost of one output, by its definition, in plain Python."""
    gaps = [abs(a - b) for a, b in zip(y, t, strict=True)]
    low = sum(min(a, b) for a, b in zip(y, t, strict=True))
    high = sum(max(a, b) for a, b in zip(y, t, strict=True))
    if name == "l1":
        return sum(gaps)
    if name == "hamming":
        return sum(gaps) / len(gaps)
    if name == "f1":
        return 1 - 2 * low / (low + high) if low + high else 0.0
    return 1 - low / high if high else 0.0


SETS = ["l1", "hamming", "f1", "iou"]  # costs of label sets
NORMALISED = ["hamming", "f1", "iou"]


@pytest.mark.parametrize("name", SETS)
def test_against_a_loop(name) -> None:
    y, target = relaxed(4, 3, 5), binary(3, 5, seed=1)
    value = costs.COSTS[name](y, target, None)
    assert value.shape == (4, 3)
    for k in range(4):
        for b in range(3):
            expected = naive(name, y[k, b].tolist(), target[b].tolist())
            assert float(value[k, b]) == pytest.approx(expected, abs=1e-12)


def test_token_error_against_a_loop() -> None:
    y, target = relaxed(4, 3, 2, 5).softmax(-1), one_hot(3, 2, 5)
    value = costs.token_error(y, target)
    for k in range(4):
        for b in range(3):
            wrong = [1 - float(y[k, b, t][int(target[b, t].argmax())]) for t in range(2)]
            assert float(value[k, b]) == pytest.approx(sum(wrong) / 2, abs=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_zero_at_the_truth_and_only_there(name) -> None:
    target = binary(6, 5)
    cost = costs.COSTS[name]
    assert torch.equal(cost(target.unsqueeze(0), target, None), torch.zeros(1, 6).double())
    assert (cost(1 - target.unsqueeze(0), target, None) > 0).all()


def test_token_error_is_zero_at_the_truth() -> None:
    target = one_hot(6, 2, 3)
    value = costs.token_error(target.unsqueeze(0), target)
    assert torch.equal(value, torch.zeros(1, 6).double())
    assert (costs.token_error(1 - target.unsqueeze(0), target) > 0).all()


@pytest.mark.parametrize("name", NORMALISED)
def test_normalised_costs_lie_between_0_and_1(name) -> None:
    value = costs.COSTS[name](relaxed(50, 20, 4, seed=3), binary(20, 4, seed=4), None)
    assert value.min() >= 0
    assert value.max() <= 1
    opposite = costs.COSTS[name](torch.ones(1, 1, 4), torch.zeros(1, 4), None)
    assert float(opposite) == 1.0


def test_token_error_lies_between_0_and_1() -> None:
    value = costs.token_error(relaxed(50, 20, 2, 4).softmax(-1), one_hot(20, 2, 4))
    assert value.min() >= 0
    assert value.max() <= 1


@pytest.mark.parametrize("name", SETS)
def test_empty_beside_empty_costs_nothing_and_has_finite_gradients(name) -> None:
    y = torch.zeros(1, 2, 3, requires_grad=True)
    target = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    value = costs.COSTS[name](y, target, None)
    assert value[0, 0].item() == 0.0
    assert value[0, 1].item() > 0.0
    (g,) = torch.autograd.grad(value.sum(), y)
    assert torch.isfinite(g).all()


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("f1", lambda t, y: f1_score(t, y, zero_division=1.0)),
        ("iou", lambda t, y: jaccard_score(t, y, zero_division=1.0)),
        ("hamming", lambda t, y: 1 - hamming_loss(t, y)),
    ],
)
def test_on_binary_outputs_equals_scikit_learn(name, score) -> None:
    y, target = binary(6, 30, 4, seed=5), binary(30, 4, seed=6)
    value = costs.COSTS[name](y, target, None).numpy()
    expected = [[1 - score(t, v) for t, v in zip(target, one, strict=True)] for one in y.numpy()]
    np.testing.assert_allclose(value, expected, atol=1e-12)
    assert (target.sum(-1) == 0).any()  # the empty cases are among them


@pytest.mark.parametrize("name", SETS)
def test_gradients_away_from_ties(name) -> None:
    y = (0.05 + 0.9 * relaxed(2, 3, 4)).requires_grad_()  # no entry equals a 0/1 target
    target = binary(3, 4, seed=1)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]).bool()
    for m in (None, mask):
        assert torch.autograd.gradcheck(lambda y, m=m: costs.COSTS[name](y, target, m), (y,))


def test_gradients_of_token_error() -> None:
    y = relaxed(2, 3, 2, 4).requires_grad_()
    mask = torch.tensor([[True, True], [True, False], [False, True]])
    assert torch.autograd.gradcheck(lambda y: costs.token_error(y, one_hot(3, 2, 4), mask), (y,))


@pytest.mark.parametrize("name", SETS)
def test_float_bool_and_sparse_candidates_agree(name) -> None:
    y, target = binary(4, 3, 5), binary(3, 5, seed=1)
    value = costs.COSTS[name](y, target, None)
    assert torch.equal(costs.COSTS[name](y.bool(), target, None), value)
    assert torch.equal(costs.COSTS[name](y.to_sparse().coalesce(), target, None), value)


def test_masked_positions_do_not_count() -> None:
    """Garbage under the mask, and nothing but padding; the spaces' tests do this for the rest."""
    y, target = relaxed(2, 3, 2, 4).softmax(-1), one_hot(3, 2, 4)
    mask = torch.tensor([[True, False], [True, True], [False, False]])
    value = costs.token_error(y, target, mask)
    torch.testing.assert_close(value[:, :1], costs.token_error(y[:, :1, :1], target[:1, :1]))
    torch.testing.assert_close(value[:, 1], costs.token_error(y, target)[:, 1])
    y[:, ~mask] = 99.0
    assert torch.equal(costs.token_error(y, target, mask), value)
    for name, cost in costs.COSTS.items():
        assert float(cost(y, target, mask)[0, 2]) == 0.0, name


def test_costs_by_name() -> None:
    assert costs.get_cost("iou") is costs.iou
    assert costs.get_cost(naive) is naive
    with pytest.raises(SettingError, match="unknown cost 'hammng': did you mean 'hamming'"):
        costs.get_cost("hammng")


def hard_iou(a: torch.Tensor, b: torch.Tensor) -> float:
    either = int((a | b).sum())
    return 1.0 if either == 0 else int((a & b).sum()) / either


def test_soft_iou_of_masks_is_their_iou() -> None:
    generator = torch.Generator().manual_seed(0)
    y = torch.rand(4, 3, 5, 6, generator=generator) < 0.4
    target = torch.rand(3, 5, 6, generator=generator) < 0.4
    y[0], target[0] = False, False
    cost = pixel_iou(y, target.float())
    expected = [[1.0 - hard_iou(a, b) for a, b in zip(k, target, strict=True)] for k in y]
    torch.testing.assert_close(cost, torch.tensor(expected))
    assert cost[0, 0] == 0


def test_class_iou_is_the_mean_over_the_classes_of_the_truth() -> None:
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 3, (4, 3, 5, 6), generator=generator)
    target = torch.randint(0, 3, (3, 5, 6), generator=generator)
    target[0] = target[0].clamp_max(1)
    one_hot = torch.nn.functional.one_hot
    cost = pixel_iou(one_hot(y, 3).bool(), one_hot(target, 3).float())
    for k in range(4):
        for b in range(3):
            present = target[b].unique()
            ious = [hard_iou(y[k, b] == c, target[b] == c) for c in present]
            assert cost[k, b] == pytest.approx(1 - sum(ious) / len(ious), abs=1e-6)


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 3)])
def test_pixel_iou_is_differentiable_and_heeds_masks(shape) -> None:
    torch.manual_seed(0)
    y = torch.rand(2, 2, *shape, dtype=torch.float64, requires_grad=True)
    target = torch.rand(2, *shape).round().double()
    assert torch.autograd.gradcheck(lambda y: pixel_iou(y, target), (y,))
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    torch.testing.assert_close(pixel_iou(y, target, mask), pixel_iou(y, target))
    mask[1, 2] = False
    other = y.detach().clone()
    other[:, 1, 2] = 0.5
    torch.testing.assert_close(pixel_iou(other, target, mask), pixel_iou(y, target, mask))
    assert not pixel_iou(y, target, torch.zeros_like(mask)).any()
