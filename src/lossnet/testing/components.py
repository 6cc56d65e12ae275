"""The contracts of energies, proposals and contrasts.

>>> from lossnet.energies import LabelEnergy
>>> from lossnet.spaces import Binary
>>> check_energy(LabelEnergy(5, 3, hidden=(4,)), torch.randn(4, 5), Binary(), (3,))
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts.contrast import Compared, Contrast
from lossnet.energies.energy import Energy
from lossnet.proposals.proposal import Candidates, Proposal
from lossnet.spaces import Binary, Space
from lossnet.spaces.sparse import dense


def check_energy(
    energy: Energy,
    x: Any,
    space: Space,
    shape: tuple[int, ...],
    *,
    masks: bool = True,
    take: Callable[[Any, slice], Any] = lambda x, rows: x[rows],
    seed: int = 0,
) -> None:
    """Check an energy on inputs ``x`` of a few examples (two or more) and outputs ``*S``.

    - energies are ``(K, B)``, finite, the same twice, and ``output_like`` is ``(B, *S)``;
    - a candidate's energy depends neither on the other candidates nor on the other examples;
    - float, bool and, for label vectors, sparse candidates agree;
    - what lies under a mask changes nothing;
    - gradients with respect to y are right, once and twice (for unrolled inference).

    The check runs on a copy in float64 and eval mode.

    Args:
        energy: the energy.
        x: its inputs, in float64 or converted to it where they are floating-point tensors.
        space: what an output is.
        shape: shape of one output.
        masks: whether it takes masks.
        take: how to take examples out of ``x``.
        seed: of the candidates.
    """
    energy = copy.deepcopy(energy).double().eval()
    x = x.double() if isinstance(x, Tensor) and x.is_floating_point() else x
    generator = torch.Generator().manual_seed(seed)
    like = energy.output_like(energy.encode(x))
    batch = like.shape[0]
    assert like.shape[1:] == shape, f"output_like is {tuple(like.shape)}, expected (B, *{shape})"
    assert batch >= 2, "give two examples or more"
    logits = torch.randn((batch, *shape), generator=generator, dtype=torch.float64)
    relaxed = space.random(logits, 5, generator)
    discrete = dense(space.sample(logits, 5, generator), torch.float64)

    e = energy(energy.encode(x), relaxed)
    assert e.shape == (5, batch), f"energies are {tuple(e.shape)}, expected (5, {batch})"
    assert torch.isfinite(e).all(), "an energy is not finite"
    _same(energy(energy.encode(x), relaxed), e, "two passes in eval mode differ")

    order = torch.tensor([3, 1, 4, 0, 2])
    _same(energy(energy.encode(x), relaxed[order]), e[order], "the other candidates matter")
    _same(energy(energy.encode(x), relaxed[:1]), e[:1], "the number of candidates matters")
    for row in range(batch):
        rows = slice(row, row + 1)
        alone = energy(energy.encode(take(x, rows)), relaxed[:, rows])
        _same(alone, e[:, rows], "the other examples of a batch matter")

    h = energy.encode(x)
    e = energy(h, discrete)
    _same(energy(h, discrete.bool()), e, "bool candidates have other energies than float ones")
    if isinstance(space, Binary) and len(shape) == 1:
        coo = discrete.to_sparse().coalesce()
        _same(energy(h, coo), e, "sparse candidates have other energies than dense ones")

    if masks:
        _check_energy_masks(energy, x, space, relaxed)

    y = relaxed[:2].clone().requires_grad_()
    with torch.no_grad():
        h = energy.encode(x)
    assert torch.autograd.gradcheck(lambda y: energy(h, y), (y,))
    assert torch.autograd.gradgradcheck(lambda y: energy(h, y), (y,))


def _check_energy_masks(energy: Energy, x: Any, space: Space, y: Tensor) -> None:
    positions = y.shape[1:] if isinstance(space, Binary) else y.shape[1:-1]
    everything = torch.ones(positions, dtype=torch.bool)
    e = energy(energy.encode(x), y)
    masked = energy(energy.encode(x, everything), y, everything)
    _same(masked, e, "a mask that is true everywhere matters")
    mask = everything.clone()
    mask.flatten(1)[1:, -1] = False
    wide = mask if mask.dim() == y.dim() - 1 else mask.unsqueeze(-1)
    h = energy.encode(x, mask)
    changed = energy(h, torch.where(wide, y, 77.0), mask)
    _same(changed, energy(h, y, mask), "candidates under the mask matter")


def check_proposal(
    proposal: Proposal, nets: Mapping[str, nn.Module], batch: Batch, space: Space, *, seed: int = 0
) -> None:
    """Check a proposal on a batch with targets.

    - candidates are ``(K, B, *S)`` outputs of the space, the same for the same generator, and
      torch's global generator is left alone;
    - it runs no net but those it names, and no target where it says so;
    - log q comes where ``provides`` says, ``(K, B)`` and for the target ``(B,)``, and nowhere
      else;
    - candidates are detached; with ``keep_graph`` gradients reach a trained net where
      ``provides`` says.

    Args:
        proposal: the proposal.
        nets: the nets, more than it needs or not.
        batch: inputs and targets.
        space: what an output is.
        seed: of the candidates.
    """
    assert batch.target is not None, "give a batch with targets"
    named = {name: net for name, net in nets.items() if name in proposal.nets}
    assert set(named) == set(proposal.nets), f"give the nets {sorted(proposal.nets)}"

    def propose(
        batch: Batch = batch, training: frozenset[str] = frozenset(), keep_graph: bool = False
    ) -> Candidates:
        generator = torch.Generator().manual_seed(seed)
        context = Context(named, batch, space, generator=generator, training=training)
        with context.updating(training):
            return proposal(context, keep_graph=keep_graph)

    outside = torch.get_rng_state()
    drawn = propose()
    assert torch.equal(outside, torch.get_rng_state()), "torch's global generator was used"
    y = dense(drawn.y, batch.target.dtype)
    k = y.shape[0]
    assert y.shape == (k, *batch.target.shape), f"candidates are {tuple(y.shape)}"
    _same(space.project(y), y, "a candidate is no output of the space", atol=1e-5)
    _same(dense(propose().y, y.dtype), y, "the same seed gives other candidates")
    assert not drawn.y.requires_grad, "candidates are attached to a net without keep_graph"
    if "target" not in proposal.needs:
        propose(Batch(batch.x, None, batch.mask))

    if "log_q" in proposal.provides:
        assert drawn.log_q is not None, "provides log_q and gives none"
        assert drawn.log_q_target is not None, "provides log_q and gives none for the target"
        assert drawn.log_q.shape == y.shape[:2], f"log_q is {tuple(drawn.log_q.shape)}"
        assert drawn.log_q_target.shape == y.shape[1:2]
    else:
        assert drawn.log_q is None, "gives log_q and does not say so in provides"

    if "path" in proposal.provides:
        kept = propose(training=frozenset(named), keep_graph=True).y
        assert kept.requires_grad, "provides a path and keeps none"
        parameters = [p for net in named.values() for p in net.parameters()]
        gradients = torch.autograd.grad(kept.sum(), parameters, allow_unused=True)
        reached = any(g is not None and bool((g != 0).any()) for g in gradients)
        assert reached, "provides a path along which no gradient reaches a net"


def check_contrast(contrast: Contrast, *, k: int = 4, batch: int = 5, seed: int = 0) -> None:
    """Check a contrast on random energies.

    - the loss is ``(B,)`` and finite, from the fields of ``requires`` and no other;
    - a missing field is a :class:`TypeError`;
    - the order of candidates does not matter, nor do the other examples;
    - gradients are right, and those of ``link``.

    Args:
        contrast: the contrast.
        k: number of candidates.
        batch: number of examples.
        seed: of the energies.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    fields = {"e": draw(k, batch)}
    if "target" in contrast.requires:
        fields["e_target"] = draw(batch)
    if "cost" in contrast.requires:
        fields["cost"] = draw(k, batch).sigmoid()
    if "log_q" in contrast.requires:
        fields |= {"log_q": -draw(k, batch).exp(), "log_q_target": -draw(batch).exp()}

    loss = contrast(Compared(**fields))
    assert loss.shape == (batch,), f"the loss is {tuple(loss.shape)}, expected ({batch},)"
    assert torch.isfinite(loss).all(), "a loss is not finite"
    for name in fields.keys() - {"e"}:
        try:
            contrast(Compared(**{key: value for key, value in fields.items() if key != name}))
        except TypeError:
            continue
        raise AssertionError(f"{name} is missing and no TypeError says so")

    order = torch.randperm(k, generator=generator)
    mixed = {key: value[order] if value.dim() == 2 else value for key, value in fields.items()}
    _same(contrast(Compared(**mixed)), loss, "the order of candidates matters")
    for row in range(batch):
        alone = {key: value[..., row : row + 1] for key, value in fields.items()}
        _same(contrast(Compared(**alone)), loss[row : row + 1], "the other examples matter")

    names = [name for name in ("e", "e_target") if name in fields]

    def of_energies(*energies: Tensor) -> Tensor:
        return contrast(Compared(**(fields | dict(zip(names, energies, strict=True)))))

    inputs = tuple(fields[name].clone().requires_grad_() for name in names)
    assert torch.autograd.gradcheck(of_energies, inputs)
    e = fields["e"].clone().requires_grad_()
    assert contrast.link(e).shape == e.shape, "link changes the shape"
    assert torch.autograd.gradcheck(contrast.link, (e,))


def _same(value: Tensor, expected: Tensor, message: str, atol: float = 1e-9) -> None:
    torch.testing.assert_close(value, expected, rtol=0, atol=atol, msg=lambda m: f"{message}: {m}")
