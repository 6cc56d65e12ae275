"""What estimators around models of other libraries have in common."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NoReturn

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state

from lossnet.checks import check_int
from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.recipes import residual
from lossnet.tasks.bases import seeded
from lossnet.tasks.decision import Decision
from lossnet.tasks.estimator import StructuredEstimator


class FittedWrapper(MetaEstimatorMixin, BaseEstimator):
    """What every fitted one has."""

    model_: Any


@dataclass(eq=False, repr=False)
class WrappingEstimator(FittedWrapper):
    """A base whose probabilities are the inputs of an inner estimator, ``model_``.

    A subclass says what may be a base, how the inner estimator is made, and implements ``fit``.
    """

    base: Any
    _: KW_ONLY
    folds: int = 4
    metric: Any = None
    method: Method | None = None
    decode: str = "auto"
    decode_samples: int = 200
    batch_size: int = 32
    max_epochs: int = 100
    patience: int = 10
    device: Any = "cpu"
    random_state: Any = None
    verbose: int = 0

    #: Parameters of decisions, which the inner estimator has by the same name; they may change
    #: after ``fit``.
    deciding: ClassVar[tuple[str, ...]] = ("metric", "decode", "decode_samples")
    #: Parameters of training that the inner estimator has by the same name.
    training: ClassVar[tuple[str, ...]] = (
        "batch_size",
        "max_epochs",
        "patience",
        "device",
        "verbose",
    )
    #: What errors call the bases.
    nouns: ClassVar[str] = "models"

    def _bases(self) -> list[Any]:
        """The bases as given, checked."""
        raise NotImplementedError

    def _default_method(self) -> Method:
        """How the energy is trained where ``method`` is None."""
        return residual()

    def _model(self, method: Method, **params: Any) -> StructuredEstimator:
        """The inner estimator, unfitted."""
        raise NotImplementedError

    def _check_settings(self) -> tuple[list[Any], Any, int]:
        """Unfitted bases, the inner estimator and the seed; an error before any fit."""
        bases = self._bases()
        check_int("folds", self.folds, least=2)
        if not (self.method is None or isinstance(self.method, Method)):
            rule = "method must be a lossnet.Method whose task-net is given, as residual(), or None"
            raise SettingError(f"{rule}, got {self.method!r}")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        same = *self.deciding, *self.training
        params = {name: getattr(self, name) for name in same}
        method = self._default_method() if self.method is None else self.method
        model = self._model(method, random_state=seed, **params)
        model._check_settings()
        return seeded(bases, None if self.random_state is None else seed), model, seed

    def _decides_as_set(self) -> None:
        """Let the fitted inner estimator decide as the parameters say now."""
        self.model_.set_params(**{name: getattr(self, name) for name in self.deciding})

    @property
    def decision_(self) -> Decision:
        """How predictions are decided, and what was measured of it on held-out rows."""
        found: Decision = self.model_.decision_
        return found

    def save(self, path: Any) -> NoReturn:
        """Refused: a model folder holds no foreign objects."""
        name = type(self).__name__
        what = f"{name} holds {self.nouns} of other libraries, which a model folder cannot store"
        raise SettingError(f"{what}; use joblib.dump(model, {str(path)!r}) and joblib.load")

    def export(self, path: Any, format: str = "onnx", *, overwrite: bool = False) -> NoReturn:
        """Refused: what other libraries fitted cannot be exported with the rest."""
        what = f"{type(self).__name__} holds {self.nouns} of other libraries"
        remedy = "train one of lossnet's own estimators in its place"
        raise SettingError(f"{what}, which cannot be exported to {path}; {remedy}, and export it")
