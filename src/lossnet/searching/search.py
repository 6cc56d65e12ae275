"""The search itself: trials one after another, pruned on validation data, by one worker or more."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from lossnet.checks import check_int, describe
from lossnet.errors import SettingError, TrainingError
from lossnet.plain_text import counted
from lossnet.ranges import Dimension, Drawn
from lossnet.searching.results import SearchResult, TrialRow, write_trials
from lossnet.searching.rows import Data, data_of
from lossnet.searching.space import space_of, start_of, with_values
from lossnet.searching.storage import explained, need_optuna
from lossnet.searching.study import Study
from lossnet.searching.trial import Trial
from lossnet.searching.workers import Worker
from lossnet.tasks.method_checks import check_given
from lossnet.training import Callback
from lossnet.training.progress import format_duration

#: Seconds between looks at the trials of other workers.
PAUSE = 1.0
TRIALS_FILE = "trials.csv"
#: How often a trial is run again whose process has ended.
RETRIES = 10


@dataclass
class Search:
    """A search that is prepared: everything is checked, nothing has run.

    Args:
        model: the estimator, with the settings before the search.
        data: what to train and validate on.
        space: what is tried of each parameter.
        folder: the search's folder, None to keep nothing.
        storage: the URL of a database that workers of several machines share.
        name: of the study in its storage.
        retries: how often a trial is run again whose process has ended.
        say: prints a line of progress.
    """

    model: Any
    data: Data
    space: dict[str, Drawn]
    folder: Path | None = None
    storage: str | None = None
    name: str = "search"
    retries: int = RETRIES
    say: Callable[[str], None] = field(default=lambda line: None)

    def run(self, trials: int, budget: float | None = None) -> SearchResult:
        """Run trials until there are so many, or for so many seconds.

        Trials of other workers are waited for: if one is killed, its trial is run here.
        """
        ends = math.inf if budget is None else time.monotonic() + budget
        need_optuna()
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        with explained(self.folder, self.storage), Worker(self.folder) as worker:
            own = self.identity(), self.space, start_of(self.model, self.space)
            given = {"seed": self.model._seed(), "worker": worker}
            study = Study(self.folder, self.storage, self.name, *own, **given)
            try:
                self._work(study, trials, ends)
                return SearchResult(self.metric, self.space, study.rows(), study.importances())
            finally:
                study.close()

    def _work(self, study: Study, trials: int, ends: float) -> None:
        """Run trials, and wait for those of others, until none is left or the time is over."""
        waited = False
        while True:
            with ExitStack() as turn:
                turn.enter_context(study.turn())
                for line in study.recover(self.retries):
                    self.say(line)
                self._write(study)
                over = time.monotonic() >= ends
                number = None if over else study.next_number(trials)
                if number is not None:
                    trial = Trial(self._tried, study, turn.close, ends, first=number == 0)
                    study.run(number, trial)
                    if trial.unusable is not None:
                        raise trial.unusable
                    self._report(study.rows(), number, trials)
                    continue
                others = study.running()
            if over or not others:
                return
            if not waited:
                self.say(f"waiting for {counted(others, 'trial')} of other workers")
            waited = True
            time.sleep(PAUSE)

    @property
    def metric(self) -> str:
        """Name of the validation metric."""
        return str(self.model._metric_name())

    def identity(self) -> dict[str, Any]:
        """What the result depends on, besides the number of trials, as JSON."""
        free = {"verbose", "device", "random_state", "method"}
        params = {k: describe(v) for k, v in self.model.resolved_params().items() if k not in free}
        return {
            "task": type(self.model).__name__,
            "method": str(self.model.get_params(deep=False)["method"]),
            "data": self.data.checksums,
            "metric": self.metric,
            "seed": self.model._seed(),
            "settings": params,
            "space": {name: str(drawn) for name, drawn in self.space.items()},
        }

    def fitted(self, values: Mapping[str, Any], *callbacks: Callback) -> Any:
        """An estimator with these values, trained; the same each time."""
        model = with_values(self.model, values)
        given = {"validation_data": self.data.validation, **self.data.fit_params}
        given["callbacks"] = [*given.get("callbacks", ()), *callbacks]
        with warnings.catch_warnings():
            if callbacks:  # hints on how to train are of no use in a search
                warnings.simplefilter("ignore")
            model.fit(*self.data.inputs, **given)
        return model

    def _tried(self, values: Mapping[str, Any], callback: Callback) -> float:
        """The validation metric of an estimator with these values, as it decides."""
        model = self.fitted(values, callback)
        given = self.data.validation
        inputs = given if isinstance(given, tuple) else (given,)
        return float(model._decided_score(model._scored(inputs)))

    def _write(self, study: Study) -> None:
        if self.folder is not None:
            write_trials(self.folder / TRIALS_FILE, self.space, study.rows())

    def _report(self, rows: list[TrialRow], number: int, trials: int) -> None:
        (row,) = (row for row in rows if row.number == number)
        best = SearchResult(self.metric, self.space, rows).best
        shown = row.state if row.value is None else f"{100 * row.value:.2f}"
        shown += f" ({row.error})" if row.error else ", pruned" if row.state == "pruned" else ""
        if best is not None:
            shown += f"; best {100 * (best.value or 0):.2f} (trial {best.number})"
        took = "" if row.seconds is None else f", {row.seconds:.1f} s"
        self.say(f"[{number + 1}/{trials}] {self.metric} {shown}{took}{_left(rows, trials)}")


def _left(rows: list[TrialRow], trials: int) -> str:
    """The time that is left for one worker; empty where there is none."""
    took = [row.seconds for row in rows if row.seconds is not None]
    if not took or len(took) >= trials:
        return ""
    return f"; about {format_duration(fmean(took) * (trials - len(took)))} left"


def search(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    validation_data: Any = None,
    trials: int = 50,
    space: Mapping[str, Dimension] | None = None,
    budget: float | None = None,
    out: str | Path | None = None,
    storage: str | None = None,
    name: str = "search",
    retries: int = RETRIES,
    fit_params: Mapping[str, Any] | None = None,
    verbose: int = 0,
) -> SearchResult:
    """Search better settings of an estimator on validation data, and train it with the best.

    The first trial has the settings of ``model``; parameters that it was given stay as they are.
    Needs the extra ``lossnet[search]``.

    Args:
        model: an estimator, which is not changed; its ``random_state`` must be an integer.
        X: inputs, or data that holds inputs and truth.
        y: the truth.
        validation_data: as in ``fit``; None holds out ``validation_fraction`` of the rows, the
            same in every trial.
        trials: how many settings to try.
        space: ``Range``, ``Around`` or ``Choice`` of :mod:`lossnet.searching` by the parameter's
            name, in place of those that method and estimator declare or in addition to them.
        budget: seconds after which no more is tried.
        out: a folder for the study, to continue it or to share it with other processes.
        storage: the URL of a database that processes on several machines share.
        name: of the study in that database.
        retries: how often a trial is run again whose process has ended; then it has failed.
        fit_params: further arguments of ``fit``.
        verbose: 1 prints a line for each trial.
    """
    check_int("trials", trials)
    check_int("retries", retries, least=0)
    check_budget(budget)
    say = print if verbose else lambda line: None
    data = data_of(model, (X,) if y is None else (X, y), validation_data, fit_params or {})
    folder = None if out is None else Path(out)
    where: dict[str, Any] = {"folder": folder, "storage": storage, "name": name}
    found = prepare(model, data, space, **where, retries=retries, say=say)
    result = found.run(trials, budget)
    best = require_best(result)
    return replace(result, model=found.fitted(best.values))


def prepare(
    model: Any,
    data: Data,
    changes: Mapping[str, Dimension] | None = None,
    *,
    fixed: Collection[str] = (),
    **options: Any,
) -> Search:
    """A search of the estimator's settings, everything checked; see :class:`Search`."""
    need_optuna()
    if not isinstance(model.random_state, int):
        rule = "random_state must be an integer, so that a search can continue"
        raise SettingError(f"{rule}, got {model.random_state!r}")
    method = model._check_settings()
    given = {name: data.fit_params.get(name) is not None for name in ("unlabelled", "reward")}
    check_given(method, **given)
    return Search(model, data, space_of(model, changes, fixed=fixed), **options)


def require_best(result: SearchResult) -> TrialRow:
    """The best trial, or an error that says why there is none."""
    if (best := result.best) is not None:
        return best
    errors = [row.error for row in result.trials if row.error]
    if errors:
        raise TrainingError(f"no trial is complete; the last one failed: {errors[-1]}")
    raise TrainingError("no trial was completed in the time; raise the budget")


def check_budget(budget: float | None) -> None:
    """Raise unless this is a number of seconds, or None."""
    if budget is not None and not (isinstance(budget, int | float) and 0 < budget < math.inf):
        raise SettingError(f"budget must be a number of seconds above 0, got {budget!r}")
