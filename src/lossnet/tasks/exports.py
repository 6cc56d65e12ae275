"""Fitted estimators as folders that run without lossnet."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from lossnet.errors import SettingError
from lossnet.exporting import Exported, check_can_write, write
from lossnet.needs import EXACT
from lossnet.proposals import NetOutput
from lossnet.tasks.decision import Decision


class Exports:
    """Every estimator whose predictions need one net and numpy."""

    #: Whether a method that minimises a chain's energy exactly can be exported.
    exports_exact: ClassVar[bool] = False

    def export(
        self: Any, path: str | Path, format: str = "onnx", *, overwrite: bool = False
    ) -> Path:
        """Write what predicts to a folder that runs without lossnet; see ``docs/export.md``.

        The net with its preprocessing, and in numpy the reading, coding and deciding; the folder's
        ``predict.py`` shows how to use it. What predictions need beyond one net, such as the
        loss-net, cannot be exported: an error says what to set instead.

        Args:
            path: the folder, new or empty.
            format: ``"onnx"``, which runs with onnxruntime and numpy; or ``"torch"``, a
                ``torch.export`` program, which runs with torch and numpy.
            overwrite: replace an exported model that the folder holds.
        """
        check_is_fitted(self, "nets_")
        check_can_write(path, format, overwrite=overwrite)
        self._check_exports()
        how: dict[str, Any] = {"format": format, "estimator": type(self).__name__}
        return write(self._exported(), path, **how, overwrite=overwrite)

    def _exported(self) -> Exported:
        """What predicts, once it is known that one net does."""
        what = f"{type(self).__name__} does not say what its exported net is"
        raise SettingError(f"{what}; implement _exported, or serve the model with lossnet")

    def _check_exports(self: Any) -> None:
        """Raise where predictions need more than one pass of a net in single precision."""
        if self.precision != "float32":
            what = f"an exported model computes in float32, and precision is {self.precision!r}"
            raise SettingError(f"{what}; call set_params(precision='float32') first")
        by = self._proposal()
        exact = self.exports_exact and by.needs == EXACT
        if not exact and not (isinstance(by, NetOutput) and by.member is None):
            raise SettingError(_descends(self))
        decision = self._decision()
        if self._exports_decision(decision):
            return
        rules = self._rules_for(self.method_, named=True)
        others = [rule for rule in rules if self._exports_decision(self._trials_of(rule)[-1])]
        named = " or ".join(f"decode={rule!r}" for rule in (self.usual_rule, *others))
        what = f"it decides by {decision.rule!r}, which reads an energy or samples"
        remedy = f"set {named} (--decode on the command line)"
        raise SettingError(
            f"cannot export {type(self).__name__}: {what}; {remedy}, or serve lossnet"
        )

    def _exports_decision(self: Any, decision: Decision) -> bool:
        """Whether numpy can decide so: a rule of a net's outputs alone."""
        return decision.rule in (self.usual_rule, "expected", "known") and not decision.weight


def _descends(model: Any) -> str:
    """Why a model that does not predict with a net alone cannot be exported, and what can."""
    method = f"{model.method_.name!r}"
    if model.refine is not None:
        what = f"refine={model.refine!r} predicts by descending on the energy"
        return f"cannot export {type(model).__name__}: {what}; set refine=None to export its net"
    what = f"the method {method} predicts with its loss-net, by inference on the energy"
    remedy = "train with a method whose task-net predicts, such as seal-nce or cross-entropy"
    if "task" in model.method_.nets:
        remedy += ", or call set_params(refine=NetOutput()) (lossnet.proposals) to export its "
        remedy += "task-net alone"
    return f"cannot export {type(model).__name__}: {what}; {remedy}"
