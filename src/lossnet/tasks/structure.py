"""Whether structure pays, for every estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor
from tqdm.auto import tqdm

from lossnet.checks import check_int
from lossnet.context import Context
from lossnet.devices import generator_on
from lossnet.errors import DataError, SettingError
from lossnet.method import Method
from lossnet.structure import StructureGain, row_gains, summarise
from lossnet.training.predict import over_batches

_BATCH = 64
#: By default at most so many rows are measured, and fewer where outputs are large: so many that
#: the samples have this number of positions in all, but at least 50.
_ROWS, _FEWEST, _POSITIONS = 1000, 50, 2**24


class MeasuresStructure:
    """What an estimator says of its loss-net's knowledge."""

    def structure_gain(
        self: Any,
        X: Any,
        *truth: Any,
        samples: int = 100,
        max_rows: int | None = None,
        progress: bool = False,
    ) -> StructureGain:
        """Nats a row that the loss-net knows beyond the task-net, on rows it was not trained on.

        For methods whose energies give probabilities of complete outputs, such as ``seal-nce`` and
        ``seal-ranking``. ``print`` it for the result in words. Of an image in crops it is the mean
        over the crops. Rows whose truth is not completely known are left out.

        Args:
            X: inputs and, after them, their truth, as in :meth:`score`; or data that holds both.
            truth: see above.
            samples: outputs that are drawn from the task-net for each row, where there are too
                many to enumerate.
            max_rows: of more rows so many are taken at random, always the same; None takes 1,000,
                or fewer, at least 50, where outputs are large, such as images.
            progress: show a bar in a terminal if it takes more than two seconds.
        """
        data = self._scored((X, *truth))
        check_int("samples", samples)
        if max_rows is not None:
            check_int("max_rows", max_rows, least=2)
        check_joint(self.method_, self.nets_)
        given, data = len(data), _complete(self, data)
        if len(data) < min(2, given):
            rule = f"a joint is measured on complete {self.labels_noun}; give rows that have them"
            raise DataError(f"{len(data)} rows have all {self.labels_noun} known, and {rule}")
        most = _affordable(self, data, int(samples)) if max_rows is None else max_rows
        if len(data) > most:
            chosen = np.random.default_rng(0).choice(len(data), most, replace=False)
            data = data.subset(np.sort(chosen))
        gains = _gains(self, self._source(data), int(samples), progress)
        # Crops of one image are one row: their standard error would take them for independent.
        return summarise(gains.unflatten(0, (len(data), -1)).mean(1), int(samples))


def check_joint(method: Method, nets: Any) -> None:
    """Raise where a method's nets cannot say what the loss-net knows beyond the task-net."""
    if "energy" not in method.nets:
        why = f"{method.name!r} has no loss-net"
    elif method.meaning.joint is None:
        why = f"the energies of {method.name!r} are {method.meaning.words}, not probabilities"
    elif "task" not in method.nets:
        why = f"{method.name!r} has no task-net to compare its loss-net with"
    elif missing := {"task", "energy"} - set(nets):
        remedy = "train again, or save with keep_energy=True"
        raise SettingError(f"the net {min(missing)!r} was not kept with this model; {remedy}")
    else:
        return
    raise SettingError(f"{why}; use a method such as seal-nce or seal-ranking")


def gain_or_none(model: Any, data: Any) -> StructureGain | None:
    """The structure gain on data, None where a fitted estimator or the data has none."""
    if not isinstance(model, MeasuresStructure):
        return None
    judge: Any = getattr(model, "joint_", model)
    try:
        check_joint(judge.method_, judge.nets_)
    except SettingError:
        return None
    return model.structure_gain(data, progress=True) if len(_complete(model, data)) > 1 else None


def _complete(model: Any, data: Any) -> Any:
    """The rows whose truth is completely known."""
    rows = model._known_rows(data, every=True)
    return data if rows is None else data.subset(rows.nonzero()[0])


def _affordable(model: Any, data: Any, samples: int) -> int:
    """How many rows are measured, as a few of them show how large their outputs are."""
    few = data.subset(np.arange(min(8, len(data))))
    source = model._source(few)
    target = source.batch(slice(0, len(source))).target
    classes = target.shape[-1] if model._output()[1].coupled else 1
    positions = target.numel() // classes // len(few)
    return min(_ROWS, max(_FEWEST, _POSITIONS // (samples * positions)))


def _gains(model: Any, source: Any, samples: int, progress: bool) -> Tensor:
    """Estimates of every row's gain, ``(n, 4)``."""
    generator = generator_on(model.device, 0)
    hidden = None if progress else True  # None: where there is no terminal
    bar = tqdm(total=len(source), desc="nats a row", delay=2, leave=False, disable=hidden)

    def output(context: Context) -> Tensor:
        # Independent noise in every row and batch: the standard error counts on it.
        own = replace(context, generator=generator, shared_noise=False)
        found = row_gains(own, model.method_.meaning, samples)
        bar.update(len(found))
        return found

    how = {"batch_size": _BATCH, "precision": model.precision}
    with bar:
        return over_batches(output, model.nets_, model._output()[1], source, **how).cpu()
