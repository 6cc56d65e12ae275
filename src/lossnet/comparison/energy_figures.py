"""What a trained loss-net knows: see :class:`~lossnet.comparison.result.EnergyFigures`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.comparison.label_ties import association, changes, kinship
from lossnet.comparison.result import EnergyFigures
from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.proposals import GBI, NetOutput
from lossnet.spaces import mean_positions
from lossnet.tasks.method_checks import refinement
from lossnet.training.predict import over_batches

#: Descents that are drawn next to the task-net, and where each starts.
STARTS = {"task-net + GBI": "samples", "random + GBI": "random"}
#: The descent by which a method predicts, if it does.
OWN = "as it predicts"
#: Shares of the truth's entries that candidates replace; each twice.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
#: Rows that are measured at most, and fewer, at least some, where outputs are large.
_ROWS, _FEWEST, _POSITIONS = 200, 10, 2**17
#: Steps of a descent, and labels whose ties are kept at most.
_STEPS, _LABELS = 20, 1000


def energy_figures(model: Any, parts: Any, measured: Any) -> EnergyFigures | None:
    """What the loss-net of a fitted estimator knows; None where there is none.

    Args:
        model: the fitted estimator.
        parts: the data.
        measured: the part that the run is measured on.
    """
    if "energy" not in getattr(model, "nets_", {}):
        return None
    complete = model._known_rows(measured, every=True)
    rows = np.arange(len(measured)) if complete is None else complete.nonzero()[0]
    if not len(rows):
        return None
    few = measured.subset(rows[: _affordable(model, measured)])
    energy, cost = _judged(model, few)
    held_out = measured if parts.validation is None else parts.validation
    lines = _descents(model, held_out.subset(np.arange(len(held_out))[: len(few)]))
    return EnergyFigures(
        energy, cost, _rank_correlation(energy, cost), lines, **_ties(model, parts)
    )


def _affordable(model: Any, data: Any) -> int:
    """How many rows are measured, as one of them shows how large an output is."""
    source = model._source(data.subset(np.arange(1)))
    size = max(1, source.batch(slice(0, len(source))).target.numel())
    return min(len(data), _ROWS, max(_FEWEST, _POSITIONS // size))


def _judged(model: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Energies, or what descents lower in their place, and costs of candidates, ``(K, n)``."""
    judge = _descent(model, "random").judge

    def output(context: Context) -> Tensor:
        y = candidates(context)
        cost = mean_positions(context.space.errors(y, context.target), context.batch.mask, lead=2)
        return torch.stack([judge(context, y), cost]).float().permute(2, 0, 1)

    found = _over(model, data, output)  # (n, 2, K); of an image in crops n is larger
    energy, cost = found.unflatten(0, (len(data), -1)).mean(1).permute(1, 2, 0).cpu().numpy()
    return energy, cost


def candidates(context: Context) -> Tensor:
    """The truth, then the truth with more and more entries replaced, ``(K, B, *S)``.

    Entries that are on or off are replaced by those of another row, classes by any.
    """
    truth, generator = context.target, context.generator
    shape = truth.shape[:-1] if context.space.coupled else truth.shape
    found = [truth]
    for share in (share for share in SHARES for _ in range(2)):
        if context.space.coupled:
            classes = torch.randint(truth.shape[-1], shape, generator=generator)
            other = torch.nn.functional.one_hot(classes, truth.shape[-1]).to(truth)
        else:
            other = truth[torch.randperm(len(truth), generator=generator)]
        kept = torch.rand(shape, generator=generator) >= share
        kept = kept.unsqueeze(-1) if context.space.coupled else kept
        found.append(torch.where(kept.to(truth.device), truth, other))
    return torch.stack(found)


def _descents(model: Any, data: Any) -> dict[str, np.ndarray]:
    """The model's metric on rows by steps of descents on the energy, next to the task-net's."""
    lines: dict[str, np.ndarray] = {}
    if "task" in model.nets_ and "task" in model.method_.nets:
        value = float(model._measure(data, model._outputs(NetOutput(), data)))
        lines["task-net"] = np.array([[0, value], [_STEPS, value]])
    for name, start in STARTS.items():
        try:
            descent = _descent(model, start)
        except SettingError:  # without a task-net there are no samples to start from
            continue
        lines[name] = _line(model, replace(descent, steps=_STEPS), data)
    if isinstance(model._proposal(), GBI):
        lines[OWN] = _line(model, model._descent(_STEPS), data)
    return lines


def _line(model: Any, descent: GBI, data: Any) -> np.ndarray:
    """Steps and the model's metric after each, ``(steps + 1, 2)``."""
    scores = [float(model._measure(data, outputs)) for outputs in model._path(descent, data)]
    return np.stack([np.arange(len(scores)), scores], 1)


def _descent(model: Any, start: str) -> GBI:
    """A descent on the energy as ``refine`` has it."""
    descent = refinement(start, model.method_, model.nets_)
    assert isinstance(descent, GBI)
    return descent


def _ties(model: Any, parts: Any) -> dict[str, Any]:
    """How labels are tied together by the energy, by training rows and by their hierarchy."""
    energy, Y = model.nets_["energy"], getattr(parts.train, "Y", None)
    if type(energy) is not LabelEnergy or Y is None or Y.shape[1] > _LABELS:
        return {}
    labels = len(energy.global_weight)
    together, frequent = association(Y[:, :labels])
    parents = getattr(parts.train, "parents", None)
    return {
        "ties": changes(copy.deepcopy(energy).cpu(), labels),
        "cooccurrence": together,
        "frequent": frequent,
        "kinship": None if parents is None else kinship(parents, labels),
    }


def _over(model: Any, data: Any, output: Callable[[Context], Tensor]) -> Tensor:
    how: dict[str, Any] = {"batch_size": 64, "precision": model.precision}
    return over_batches(output, model.nets_, model._output()[1], model._source(data), **how)


def _rank_correlation(energy: np.ndarray, cost: np.ndarray) -> float:
    """Mean over examples of Spearman's correlation of two ``(K, n)`` arrays."""
    from scipy.stats import rankdata

    ranks = [rankdata(values, axis=0) for values in (energy, cost)]
    a, b = (rank - rank.mean(0) for rank in ranks)
    size = np.sqrt((a**2).sum(0) * (b**2).sum(0))
    found = (a * b).sum(0)[size > 0] / size[size > 0]
    return float(found.mean()) if len(found) else float("nan")
