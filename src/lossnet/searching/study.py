"""A study: trials that several workers claim, run and finish, kept in Optuna's storage.

A trial has a number that does not depend on interruptions: one that is run again after its worker
was killed keeps its number, its settings are drawn again from the same seed, and so a search with
one worker ends the same, however often it is killed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lossnet.errors import SettingError
from lossnet.plain_text import counted
from lossnet.ranges import Drawn, Range
from lossnet.searching.results import STATES, TrialRow
from lossnet.searching.storage import (
    GRACE,
    close_storage,
    need_optuna,
    open_storage,
    quiet,
    server_turn,
)
from lossnet.searching.workers import Worker
from lossnet.streams import stream_seed

#: Random trials before those that follow the better ones, and complete ones before any is pruned.
RANDOM, UNPRUNED = 8, 5
#: The attributes of trials, and of the study.
NUMBER, WORKER, ERROR, EPOCHS, SECONDS = "number", "worker", "error", "epochs", "seconds"
IDENTITY = "lossnet"


class Study:
    """The trials of one search.

    Args:
        folder: the search's folder, None for a study in memory.
        url: a database that workers of several machines share; None keeps it in the folder.
        name: of the study in its storage.
        identity: what the search depends on, as JSON; a study of another one is an error.
        space: what is tried of each parameter.
        start: values of the first trial.
        seed: of the values that are drawn.
        worker: who runs trials here.
    """

    def __init__(
        self,
        folder: Path | None,
        url: str | None,
        name: str,
        identity: Mapping[str, Any],
        space: Mapping[str, Drawn],
        start: Mapping[str, Any],
        *,
        seed: int,
        worker: Worker,
    ) -> None:
        optuna = need_optuna()
        self._states, self.Pruned = optuna.trial.TrialState, optuna.TrialPruned
        self.space, self.seed, self.worker = space, seed, worker
        self._url, self._local, self._optuna = url, url is None, optuna
        self._claimed: int | None = None
        pruner = optuna.pruners.MedianPruner(UNPRUNED, n_min_trials=3)
        options = {"study_name": name, "direction": "maximize", "load_if_exists": True}
        with self.turn(), ExitStack() as opened:
            self._storage = open_storage(folder, url)
            opened.callback(self.close)
            self._study = optuna.create_study(storage=self._storage, pruner=pruner, **options)
            self._begin(identity, start, name if url else str(folder))
            opened.pop_all()

    def _begin(self, identity: Mapping[str, Any], start: Mapping[str, Any], where: str) -> None:
        """Make a new study that of this search; check that an old one is."""
        stored = self._study.user_attrs.get(IDENTITY)
        if stored is None and not self._study.trials:
            self._study.set_user_attr(IDENTITY, dict(identity))
        else:
            _check_same(stored, identity, where)
        if not self._study.trials:
            first = {key: self._coded(key, value) for key, value in start.items()}
            self._study.enqueue_trial(first)

    def close(self) -> None:
        """Close the storage."""
        close_storage(self._storage)

    # Claiming --------------------------------------------------------------------------------

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep all other workers of this study waiting."""
        with self.worker.turn(), server_turn(self._url):
            yield

    def recover(self, retries: int) -> list[str]:
        """Give trials of workers that are gone back to those that run; in the worker's turn.

        A trial whose process has ended more than ``retries`` times is recorded as failed. The
        answer says in words what was found.
        """
        dead = self.worker.dead()
        self._end_lost(dead)
        runs: dict[int, list[Any]] = {}
        for number, trial in self._numbered(self._study.get_trials(deepcopy=False)):
            runs.setdefault(number, []).append(trial)
        said = [self._again(number, every, retries) for number, every in runs.items()]
        for name in dead:
            self.worker.forget(name)
        return [text for text in said if text]

    def _end_lost(self, dead: Collection[str]) -> None:
        """Let trials fail that no worker is at any more."""
        with quiet():
            self._optuna.storages.fail_stale_trials(self._study)
        late = datetime.now() - timedelta(seconds=GRACE)
        for trial in self._study.get_trials(deepcopy=False, states=(self._states.RUNNING,)):
            owner = trial.user_attrs.get(WORKER)
            # Killed before it could say whose it is: here, where workers take turns, it is so.
            lost = owner is None and (self._local or trial.datetime_start < late)
            if owner in dead or lost:
                self._study.tell(trial.number, state=self._states.FAIL, skip_if_finished=True)

    def _again(self, number: int, runs: list[Any], retries: int) -> str:
        """Have a trial run again that ended without a result, or give it up; what was done."""
        last = runs[-1]
        if last.state != self._states.FAIL or ERROR in last.user_attrs:
            return ""
        # One that ended with its process did not come to write down its epochs.
        killed = sum(EPOCHS not in run.user_attrs for run in runs)
        own: dict[str, Any] = {
            "user_attrs": {NUMBER: number},
            "system_attrs": {k: v for k, v in last.system_attrs.items() if k == "fixed_params"},
        }
        if killed <= retries:
            again = self._optuna.trial.create_trial(state=self._states.WAITING, **own)
            self._study.add_trial(again)
            often = f", {counted(killed, 'time')} now" if killed > 1 else ""
            return f"trial {number} is run again: its process ended{often}" if killed else ""
        error = f"its process ended {counted(killed, 'time')}; it may run out of memory"
        own["user_attrs"][ERROR] = error
        values = {"params": last.params, "distributions": last.distributions}
        self._study.add_trial(
            self._optuna.trial.create_trial(state=self._states.FAIL, **values, **own)
        )
        return f"trial {number} is given up: {error}"

    def next_number(self, trials: int) -> int | None:
        """The number of the trial to run next, of so many; None where none is left."""
        found = self._study.get_trials(deepcopy=False)
        numbered = list(self._numbered(found))
        waiting = [number for number, trial in numbered if trial.state == self._states.WAITING]
        if waiting:
            return waiting[0]
        count = len({number for number, _ in numbered})
        return count if count < trials else None

    def running(self) -> int:
        """How many trials workers are at."""
        return len(self._study.get_trials(deepcopy=False, states=(self._states.RUNNING,)))

    def run(self, number: int, objective: Any) -> None:
        """Claim the trial of that number and run ``objective(trial)`` in it.

        A failure is recorded; where the objective has set no ``ERROR``, the trial is run again.
        """
        seed = stream_seed(self.seed, f"trial {number}") % 2**32
        # One sampler a trial: what it draws depends on the seed and on finished trials alone.
        options = {"n_startup_trials": RANDOM, "multivariate": True}
        self._study.sampler = self._optuna.samplers.TPESampler(seed=seed, **options)
        self._claimed = None
        try:
            with quiet():
                self._study.optimize(objective, n_trials=1, catch=(Exception,))
        except (ValueError, self._optuna.exceptions.UpdateFinishedTrialError):
            # This machine slept, say: another worker took the trial for lost, and runs it again.
            if self._claimed is None or not self._states_of()[self._claimed].is_finished():
                raise

    def draw(self, trial: Any) -> dict[str, Any]:
        """The values of a claimed trial, which is this worker's from now on."""
        trial.set_user_attr(WORKER, self.worker.name)
        self._claimed, found = trial.number, {}
        for name, drawn in self.space.items():
            if isinstance(drawn, Range):
                suggest = trial.suggest_int if drawn.integers else trial.suggest_float
                found[name] = suggest(name, drawn.low, drawn.high, log=drawn.log)
            else:
                texts = [json.dumps(value) for value in drawn.values]
                found[name] = json.loads(trial.suggest_categorical(name, texts))
        return found

    # Reading ---------------------------------------------------------------------------------

    def rows(self) -> list[TrialRow]:
        """The trials in order of their numbers, each as it was last run."""
        trials = self._study.get_trials(deepcopy=False)
        latest = dict(self._numbered(trials))
        return [self._row(number, latest[number]) for number in sorted(latest)]

    def importances(self) -> dict[str, float]:
        """What share each parameter has in the differences between complete trials."""
        complete = [row for row in self.rows() if row.state == "complete"]
        if len(complete) < UNPRUNED or len({row.value for row in complete}) < 2:
            return {}
        with quiet():
            evaluator = self._optuna.importance.FanovaImportanceEvaluator(seed=0)
            found = self._optuna.importance.get_param_importances(self._study, evaluator=evaluator)
        return {name: float(found.get(name, 0.0)) for name in self.space}

    def _states_of(self) -> dict[int, Any]:
        """The states of the trials by Optuna's numbers."""
        return {trial.number: trial.state for trial in self._study.get_trials(deepcopy=False)}

    def _numbered(self, trials: Any) -> list[tuple[int, Any]]:
        """Every trial with its number, which one that is run again has from the first."""
        found, again = [], 0
        for trial in sorted(trials, key=lambda trial: trial.number):
            repeats = NUMBER in trial.user_attrs
            found.append((trial.user_attrs[NUMBER] if repeats else trial.number - again, trial))
            again += repeats
        return found

    def _row(self, number: int, trial: Any) -> TrialRow:
        states = self._states
        names = (states.COMPLETE, states.PRUNED, states.FAIL, states.RUNNING, states.WAITING)
        state = dict(zip(names, STATES, strict=True))[trial.state]
        value = trial.value if state == "complete" else None
        if state == "pruned":
            value = max(trial.intermediate_values.values(), default=None)
        attributes = trial.user_attrs
        own = {name: self._value(name, coded) for name, coded in trial.params.items()}
        times = attributes.get(EPOCHS), attributes.get(SECONDS)
        return TrialRow(number, state, value, own, *times, attributes.get(ERROR, ""))

    def _coded(self, name: str, value: Any) -> Any:
        """A value as Optuna keeps it: choices as JSON."""
        return value if isinstance(self.space[name], Range) else json.dumps(value)

    def _value(self, name: str, coded: Any) -> Any:
        return coded if isinstance(self.space.get(name), Range) else json.loads(coded)


#: How a search differs from the one in its place, by what is different.
_DIFFERENT = {
    "task": "of another task, {}",
    "method": "of another method, {}",
    "data": "on other data",
    "metric": "for another metric, {}",
    "seed": "with another seed, {}",
    "settings": "with other settings ({})",
    "space": "with another space ({})",
}


def _check_same(stored: Any, identity: Mapping[str, Any], where: str) -> None:
    """Raise where the study is of another search."""
    if not isinstance(stored, Mapping):
        raise SettingError(f"{where} holds a study that lossnet search did not write")
    for key, value in json.loads(json.dumps(identity)).items():
        found = stored.get(key)
        if found == value:
            continue
        if isinstance(found, Mapping) and isinstance(value, Mapping):
            names = {*found, *value}
            names = {name for name in names if found.get(name) != value.get(name)}
            found = f"different: {', '.join(sorted(names))}"
        what = f"{where} holds a search {_DIFFERENT[key].format(found)}"
        raise SettingError(f"{what}; choose another folder, or another --name in a shared storage")
