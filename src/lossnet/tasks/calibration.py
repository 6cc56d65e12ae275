"""Calibrated probabilities, for every estimator whose task-net predicts."""

from __future__ import annotations

from typing import Any

import torch

from lossnet.decisions import fit_temperature, temper
from lossnet.errors import SettingError
from lossnet.proposals import NetOutput


class Calibrates:
    """Probabilities whose logits are divided by a temperature learnt on held-out data.

    An estimator's own outputs are never tempered, only what users get: decisions have settings of
    their own for the nets' outputs, and stay as they are.
    """

    temperature_: float | None

    def calibrate(self: Any, X: Any, *truth: Any) -> Any:
        """Learn ``temperature_``, which divides the logits of :meth:`predict_proba` from now on.

        It is the one of lowest log loss on this data, which must not be what the nets were trained
        on; validation data will do. :meth:`predict` does not change: a tuned threshold moves
        along. For methods that predict with a task-net: relaxed outputs of a descent are no
        probabilities.

        Args:
            X: inputs and, after them, their truth, as in :meth:`score`; or data that holds both.
            truth: see above.
        """
        data = self._scored((X, *truth))
        self._check_calibrates()
        found = fit_temperature(*self._with_truth(data), space=self._output()[1])
        before, self.temperature_ = self.temperature_ or 1.0, found
        self._rescale(found / before)
        return self

    def _check_calibrates(self: Any) -> None:
        """Raise where what predicts gives no probabilities."""
        if isinstance(self._proposal(), NetOutput):
            return
        if self.refine is not None:
            what = f"refine={self.refine!r} gives relaxed outputs, not probabilities"
            raise SettingError(f"{what}; set refine=None to calibrate")
        what = f"{self.method_.name!r} does not predict with a task-net, whose probabilities"
        raise SettingError(f"{what} could be calibrated; use a method such as seal-nce")

    def _with_truth(self: Any, data: Any) -> tuple[torch.Tensor, ...]:
        """Probabilities of all positions, their truth and, where some have none, a mask."""
        raise SettingError(f"{type(self).__name__} cannot be calibrated")

    def _rescale(self, ratio: float) -> None:
        """Divide by ``ratio`` the logits of what was tuned on probabilities."""

    def _calibrated(self: Any, outputs: Any) -> Any:
        """Outputs as users get them: an array, or a list of arrays."""
        if self.temperature_ is None:
            return outputs
        if isinstance(outputs, list):
            return [self._calibrated(one) for one in outputs]
        p = torch.as_tensor(outputs)
        return temper(p, self.temperature_, space=self._output()[1]).numpy()
