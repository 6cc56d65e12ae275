"""Outputs of high joint probability: hill climbing, and enumeration where the space is small."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from lossnet.errors import DataError
from lossnet.spaces import Binary, Space, log_count

#: log p(y|x) of candidates ``(K, B, *S)`` up to a constant of each row, ``(K, B)``.
LogJoint = Callable[[Tensor], Tensor]
#: The log joint of some rows of a batch, by their numbers.
OfRows = Callable[[Tensor], LogJoint]
#: The most entries of candidates that are scored at once, and the most outputs of a small space.
_NUMBERS, _OUTPUTS = 2**22, 2**14
#: Changes that are tried in pairs.
_PROMISING = 10


def local_search(
    log_joint: LogJoint,
    y: Tensor,
    space: Space | None = None,
    *,
    logits: Tensor | None = None,
    changes: int = 64,
    of_rows: OfRows | None = None,
) -> Tensor:
    """Outputs ``(B, *S)`` of a higher joint probability: hill climbing from ``y``.

    A step scores single changes of every row, a label turned on or off or a position given another
    class, and makes the best one. Where none is better, it tries pairs of the most promising
    changes: the five best labels to turn on and the five best to turn off, so that one label may
    replace another; of classes the ten best. A row is done when no change makes it better.

    Args:
        log_joint: log p(y|x) of bool candidates ``(K, B, *S)`` up to a constant, ``(K, B)``.
        y: where to start, ``(B, *S)`` bool; one-hot for classes.
        space: what an output is; labels (:class:`~lossnet.spaces.Binary`) if not given.
        logits: of a net with independent positions, ``(B, *S)``, which say what changes are likely;
            -inf where there is no position. None tries all of them.
        changes: the most single changes of a row in a step, the likeliest under the logits.
        of_rows: the log joint of some rows by their numbers, so that rows that are done cost
            nothing; None scores all rows in every step.

    >>> theta = torch.tensor([[1.0, -1.0, -1.0]])
    >>> both = lambda y: (y * theta).sum(-1) + 3.0 * (y[..., 1] & y[..., 2])
    >>> local_search(both, torch.tensor([[False, False, False]]))
    tensor([[True, True, True]])
    """
    space, y = space or Binary(), y.bool().clone()
    left = torch.arange(len(y), device=y.device)
    while len(left):
        climbing = torch.arange(len(left), device=y.device)
        moves = values = climbing
        while len(climbing):
            rows = left[climbing]
            singles = _singles(y[rows], space, None if logits is None else logits[rows], changes)
            better, after = _change(log_joint, y, rows, singles, space, of_rows)
            if len(climbing) == len(left):
                moves, values = singles.contiguous(), after
            else:
                moves[..., climbing], values[:, climbing] = singles, after
            climbing = climbing[better]
        pairs = _pairs(y[left], moves, values, space)
        better, _ = _change(log_joint, y, left, pairs, space, of_rows)
        left = left[better]
    return y


def _singles(y: Tensor, space: Space, logits: Tensor | None, changes: int) -> Tensor:
    """Changes to try one by one, ``(N, 1, B)``, each the number of a label or of a class."""
    entries = y.shape[1:].numel()
    if logits is None or entries <= changes:
        return torch.arange(entries, device=y.device).view(-1, 1, 1).expand(-1, 1, len(y))
    if space.coupled:
        now = logits.masked_fill(~y, 0.0).sum(-1, keepdim=True)
        gain = (logits - now).masked_fill(y, -torch.inf)
    else:
        gain = torch.where(y, -logits, logits)
    return gain.flatten(1).topk(changes).indices.T.unsqueeze(1)


def _change(
    log_joint: LogJoint,
    y: Tensor,
    rows: Tensor,
    moves: Tensor,
    space: Space,
    of_rows: OfRows | None,
) -> tuple[Tensor, Tensor]:
    """Make the best of some moves ``(N, M, R)`` in each of R rows where it is an improvement.

    A move is M changes at once. Gives which of the rows got better, ``(R,)``, and the log joint
    after every move, ``(N, R)``.
    """
    some = y[rows]
    part = max(1, _NUMBERS // (y if of_rows is None else some).numel())
    if len(rows) < len(y):
        log_joint = _among_all(log_joint, y, rows) if of_rows is None else of_rows(rows)
    before = _scores(log_joint, some.unsqueeze(0))[0]
    values = torch.cat([_scores(log_joint, _moved(some, m, space)) for m in moves.split(part)])
    after, best = values.max(0)
    # Scores of the same output differ by rounding from batch to batch.
    slack = 8 * torch.finfo(before.dtype).eps * before.abs().clamp_min(1.0)
    better = after > before + slack.nan_to_num(posinf=0.0)
    taken = moves[best, :, torch.arange(len(rows), device=y.device)].T.unsqueeze(0)
    y[rows[better]] = _moved(some, taken, space)[0, better]
    return better, values


def _among_all(log_joint: LogJoint, y: Tensor, rows: Tensor) -> LogJoint:
    """The log joint of some rows, whose candidates are scored with those of all others."""

    def scores(some: Tensor) -> Tensor:
        every = y.repeat(len(some), *(1 for _ in y.shape))
        every[:, rows] = some
        return log_joint(every)[:, rows]

    return scores


def _moved(y: Tensor, moves: Tensor, space: Space) -> Tensor:
    """Outputs ``(B, *S)`` after moves ``(N, M, B)``, ``(N, B, *S)``."""
    moved = y.flatten(1).repeat(len(moves), 1, 1)
    for change in moves.unbind(1):
        place = change.unsqueeze(2)
        if space.coupled:
            classes = y.shape[-1]
            by_class = moved.unflatten(2, (-1, classes))
            position = (place // classes).unsqueeze(3).expand(-1, -1, -1, classes)
            by_class.scatter_(2, position, False)
            moved.scatter_(2, place, True)
        else:
            moved.scatter_(2, place, ~moved.gather(2, place))
    return moved.unflatten(2, y.shape[1:])


def _pairs(y: Tensor, moves: Tensor, values: Tensor, space: Space) -> Tensor:
    """Pairs ``(N, 2, B)`` of the most promising single moves, given the log joint after each."""
    single = moves[:, 0]
    on = y.flatten(1).gather(1, single.T).T
    kinds = [~on] if space.coupled else [on, ~on]
    most = min(_PROMISING // len(kinds), len(single))
    best = [values.where(kind, -torch.inf).topk(most, 0).indices for kind in kinds]
    each = torch.arange(most * len(kinds), device=y.device)
    return single.gather(0, torch.cat(best))[torch.combinations(each)]


def _scores(log_joint: LogJoint, y: Tensor) -> Tensor:
    """The log joint of candidates ``(K, B, *S)``, checked."""
    scores = log_joint(y)
    if scores.shape != y.shape[:2]:
        raise DataError(
            f"the log joint of candidates {tuple(y.shape)} must have shape {tuple(y.shape[:2])}, "
            f"got {tuple(scores.shape)}"
        )
    if scores.isnan().any():
        raise DataError("the log joint of a candidate is NaN")
    return scores


def enumerated(
    space: Space,
    shape: tuple[int, ...],
    log_joint: LogJoint,
    *,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """Every output and its log-probability, log p(y) = log_joint(y) - log Σ_y' exp log_joint(y').

    Args:
        space: what an output is.
        shape: of a batch of outputs, ``(B, *S)``, as of the logits; at most 2^14 outputs ``*S``.
        log_joint: log p(y|x) of bool candidates ``(K, B, *S)`` up to a constant, ``(K, B)``.
        device: where the outputs are scored.

    Returns:
        the outputs ``(N, B, *S)``, the same for each row, and their log-probabilities ``(N, B)``:
        exact weights for every other decision.

    >>> y, log_p = enumerated(Binary(), (1, 2), lambda y: y.sum(-1) * torch.tensor(2.0).log())
    >>> (log_p.exp().squeeze(1) * 9).round()
    tensor([1., 2., 2., 4.])
    """
    batch, *one = shape
    if log_count(space, tuple(one)) > math.log(_OUTPUTS) + 1e-9:
        raise DataError(
            f"an output of shape {tuple(one)} has too many values, as at most {_OUTPUTS:,} can be "
            "enumerated; draw samples instead"
        )
    y = space.enumerate(tuple(one)).to(device).unsqueeze(1).expand(-1, batch, *one)
    part = max(1, _NUMBERS // max(1, y[0].numel()))
    scores = torch.cat([_scores(log_joint, some) for some in y.split(part)])
    return y, torch.log_softmax(scores, 0)
