"""The template of the estimators: one fit, prediction and storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lossnet.checks import check_int, describe
from lossnet.errors import DataError, SettingError, errors_name
from lossnet.proposals import GBI, Proposal
from lossnet.recipes.parts import following_unlabelled
from lossnet.streams import stream_seed
from lossnet.tasks.calibration import Calibrates
from lossnet.tasks.deciding import DecidingEstimator
from lossnet.tasks.exports import Exports
from lossnet.tasks.method_checks import check_given
from lossnet.tasks.resuming import Resumes
from lossnet.tasks.structure import MeasuresStructure
from lossnet.tasks.weights import check_row_weights
from lossnet.training import Callback, Trainer
from lossnet.training.weights import WeightedRows


class StructuredEstimator(MeasuresStructure, Calibrates, Exports, Resumes, DecidingEstimator):
    """One ``fit``, prediction, refinement and storage for every task.

    A subclass with a ``fit`` of its own calls :meth:`_fit`.
    """

    # Fitting ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        validation_data: Any = None,
        unlabelled: Any = None,
        sample_weight: Any = None,
        checkpoint: str | Path | None = None,
        resume_from_checkpoint: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Train on inputs and their truth, or on the task's data; where it fails, nothing changes.

        Args:
            X: inputs, or data that holds inputs and truth.
            y: the truth.
            validation_data: a pair ``(X, y)``, or data, for early stopping in place of a split.
            unlabelled: further inputs without their truth: the task-net follows the loss-net on
                them too, ``unlabelled_weight`` times; some methods have their own use for them.
            sample_weight: how much each row counts in the losses, ``(n,)``, at least 0; a batch's
                loss is Σ w l / Σ w. Rows of weight 0 are left out. None: all alike. Validation
                counts all its rows alike.
            checkpoint: a file that is written during training, to resume from.
            resume_from_checkpoint: continue from ``checkpoint``, which must exist.
            callbacks: called as training proceeds, in this order; see :class:`lossnet.Callback`.
        """
        given = {"validation_data": validation_data, "unlabelled": unlabelled}
        given |= {"sample_weight": sample_weight, "checkpoint": checkpoint, "callbacks": callbacks}
        return self._fit((X, y), **given, resuming=resume_from_checkpoint)

    def _fit(
        self,
        inputs: tuple[Any, ...],
        *,
        validation_data: Any,
        unlabelled: Any,
        checkpoint: str | Path | None,
        resuming: bool,
        reward: Any = None,
        sample_weight: Any = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Train on inputs that :meth:`_data` takes; on failure the estimator stays as it was."""
        with self._all_or_nothing():
            self._forget()
            method = self._check_settings()
            self._check_course(checkpoint, resuming, callbacks)
            if unlabelled is not None:
                method = following_unlabelled(method, self.unlabelled_weight)
            check_given(method, unlabelled=unlabelled is not None, reward=reward is not None)
            data = self._labelled(inputs, "the training data")
            weight = check_row_weights(sample_weight, len(data))
            seed = self._seed()
            self._learn_classes(data, reward)
            data, weight = self._counted(data, weight)
            data, validation, rows = self._split(data, validation_data, seed)
            weight = weight if weight is None or rows is None else weight[rows]
            spare = None if unlabelled is None else self._unlabelled_data(unlabelled)
            self._check_processes(data, validation, spare)
            self.method_ = method
            self._learn(data, validation, spare, seed)
            self._check_decode(method)  # the classes may rule out what the settings allowed
            entries = self._entry_weights(data)
            self._fit_beforehand(data, seed, weight=weight, entries=entries)
            self.nets_ = self._build_nets(method.nets, seed)
            train, weights = self._source(data, training=True), None
            if weight is not None or entries is not None:
                train = weights = WeightedRows(train, weight, entries)
            held = None if validation is None else self._source(validation)
            extra = None if spare is None else self._source(spare, training=True, reward=reward)
            self._try_nets(train)
            score = None if validation is None else partial(self._validated, validation, held)
            trainer = Trainer(
                *self._prepared(),
                self._output()[1],
                train,
                score=score,
                validation=held,
                unlabelled=extra,
                batch_size=int(self.batch_size),
                max_epochs=int(self.max_epochs),
                patience=int(self.patience),
                accumulate=int(self.accumulate),
                precision=self.precision,
                seed=seed,
                callbacks=list(callbacks),
            )
            self._add_callbacks(trainer, checkpoint, resuming, (data, validation, spare, weights))
            self.refine_steps_ = self.refined_as_ = self.temperature_ = None
            self.history_ = self._run(trainer, data, callbacks)
            for net in self.nets_.values():
                net.eval().requires_grad_(False)
            self._finish(validation)
            self._choose_decision(validation)
        return self

    def _labelled(self, inputs: tuple[Any, ...], what: str) -> Any:
        data = self._data(*inputs)
        if not data.labelled:
            raise DataError(f"{what} has no {self.labels_noun}, which training and evaluation need")
        return data

    def _counted(
        self, data: Any, weight: np.ndarray | None = None, what: str = "the training data"
    ) -> tuple[Any, np.ndarray | None]:
        """The rows that count, with their weights: above 0, and something of the truth is known."""
        counts = self._known_rows(data)
        if weight is not None:
            counts = weight > 0 if counts is None else counts & (weight > 0)
        if counts is None or counts.all():
            return data, weight
        if not counts.any():
            weighted = "" if weight is None else " and a weight above 0"
            raise DataError(f"{what} has no row with known {self.labels_noun}{weighted}; give one")
        return data.subset(counts.nonzero()[0]), None if weight is None else weight[counts]

    def _split(self, data: Any, given: Any, seed: int) -> tuple[Any, Any, Any]:
        """Training and validation data, and the numbers of the training rows, None for all.

        Validation data is None where too few rows are asked for.
        """
        if given is not None:
            return data, self._counted(self._validation(given), None, "validation_data")[0], None
        wanted = round(self.validation_fraction * len(data))
        if wanted < 1 or len(data) - wanted < 1:
            return data, None, None
        rest, held = self._cut(data, wanted / len(data), stream_seed(seed, "validation"))
        return data.subset(rest), data.subset(held) if len(held) else None, rest

    def _validation(self, given: Any) -> Any:
        """``validation_data`` as the task's data: inputs and truth, or such data."""
        several, (least, most) = isinstance(given, tuple | list), self.inputs_taken
        single = hasattr(given, "labelled") or isinstance(given, str | Path)
        if (several and not least <= len(given) <= most) or not (several or single):
            got = type(given).__name__ + (f" of length {len(given)}" if several else "")
            rule = f"{self.inputs_noun} and their {self.labels_noun}, or a data set"
            raise DataError(f"validation_data must be {rule}, got a {got}")
        with errors_name("validation_data"):
            data = self._labelled(tuple(given) if several else (given,), "validation_data")
            return self._check_fits(data)

    def _unlabelled_data(self, given: Any) -> Any:
        with errors_name("unlabelled"):
            return self._check_fits(self._data(given).without_labels())

    def _validated(self, data: Any, source: Any, by: Proposal) -> float:
        return self._measure(data, self._outputs(by, data, source=source))

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was, fitted or not, where the block fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _forget(self) -> None:
        """Remove what an earlier fit learnt: the attributes whose names end in an underscore."""
        for name in [name for name in self.__dict__ if name.endswith("_")]:
            del self.__dict__[name]

    # Predicting ------------------------------------------------------------------------------

    def _descent(self, steps: int) -> GBI:
        """What predicts, if that is a descent on the energy, with this number of steps."""
        check_int("steps", steps, least=0)
        proposal = self._proposal()
        if not isinstance(proposal, GBI):
            why = f"{self.method_.name!r} predicts without descending on the energy"
            raise SettingError(f"{why}; set refine='net', or use a method such as alen or dvn")
        return replace(proposal, steps=steps)

    def _unseen(self, *inputs: Any) -> Any:
        """Data for the fitted model."""
        check_is_fitted(self, "nets_")
        return self._check_fits(self._data(*inputs))

    def _scored(self, inputs: tuple[Any, ...]) -> Any:
        """Labelled data for the fitted model, rows of which something is known."""
        check_is_fitted(self, "nets_")
        data = self._check_fits(self._labelled(inputs, "the data to score"))
        return self._counted(data, None, "the data to score")[0]

    def predict_proba(self, X: Any) -> Any:
        """What the nets give for every input: probabilities, or relaxed outputs of a descent."""
        data = self._unseen(X)
        return self._calibrated(self._outputs(self._proposal(), data))

    def predict(self, X: Any) -> Any:
        """The predictions for inputs."""
        return self._predicted(self._unseen(X))

    def _predicted(self, data: Any) -> Any:
        """Predictions as users have them."""
        return self._decode(self._decided(self._decision(), data))

    def tune_decision(self, X: Any, *truth: Any) -> Self:
        """Choose ``decision_`` again on other data, as ``decode`` and ``metric`` determine.

        Args:
            X: inputs and, after them, their truth, as in :meth:`score`; or data that holds both.
            truth: see above.
        """
        self._choose_decision(self._scored((X, *truth)))
        return self

    def refinement_path(self, X: Any, *, steps: int = 30) -> Any:
        """What :meth:`predict_proba` gives after 0, 1, ... steps, ``(steps + 1, n, ...)``.

        For methods that predict by descending on the energy, or with ``refine``.
        """
        data = self._unseen(X)
        return self._calibrated(self._path(self._descent(steps), data))

    def tune_refinement(self, X: Any, y: Any = None, *, most: int = 30) -> Self:
        """Choose how many steps predictions descend on the energy, 0 to ``most``.

        For methods that predict so, or with ``refine``. The fewest steps of the best metric on
        this data are kept in ``refine_steps_``.
        """
        data = self._scored((X, y))
        scores = [self._measure(data, outputs) for outputs in self._path(self._descent(most), data)]
        self.refine_steps_, self.refined_as_ = int(np.argmax(scores)), describe(self.refine)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """The metric on inputs and their truth."""
        return self._decided_score(self._scored((X, y)))

    # Storage ---------------------------------------------------------------------------------

    def save(self, path: str | Path, *, keep_energy: bool = True) -> Path:
        """Write the fitted model to a folder: config, weights and label names; no pickle.

        A folder that holds a model is replaced; it holds the old or the new model at any moment.

        Args:
            path: the folder.
            keep_energy: keep the nets that predictions do not need, to refine with later.
        """
        from lossnet.tasks.storage import save

        check_is_fitted(self, "nets_")
        return save(self, path, keep_energy=keep_energy)

    @classmethod
    def load(cls, path: str | Path, **replace: Any) -> Self:
        """Read a model that :meth:`save` wrote.

        Args:
            path: the folder.
            replace: parameters in place of the stored ones, ``device`` or ``refine`` for
                instance; those that are objects of your own (``task_net``, ``energy_net``, a
                ``Method``) are not stored and must be given.
        """
        from lossnet.tasks.storage import load

        return load(cls, path, replace)
