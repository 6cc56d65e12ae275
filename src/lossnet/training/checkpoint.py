"""Checkpoints: the complete state of training in one file, so that a killed run can continue."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lossnet.errors import DataError, SettingError, TrainingError
from lossnet.files import atomic_write, check_form
from lossnet.training.callback import Callback
from lossnet.training.loop import Trainer

_STATE = {
    "settings": {str: object},
    "phase": int,
    "epoch": int,
    "best": (None, float),
    "epochs_since_best": int,
    "follows": bool,
    "phase_ended": bool,
    "stopped": bool,
    "callbacks": [{"kind": str, "state": {str: object}}],
    "scale": [float],
    "history": [{"phase": str, "epoch": int, "seconds": float}],
}


@dataclass(repr=False)
class Checkpoint(Callback):
    """A callback that writes ``path`` after an epoch, at most every ``seconds``.

    Args:
        path: the file.
        settings: what the run was started with; a resumed run must match it.
        seconds: shortest time between two writes.
    """

    path: str | Path
    settings: Mapping[str, Any]
    _: KW_ONLY
    seconds: float = 10.0
    _last: float = field(default=-float("inf"), init=False)

    def on_epoch(self, trainer: Trainer) -> None:
        """Write, unless the last write is too recent."""
        if time.monotonic() - self._last >= self.seconds:
            try:
                save_checkpoint(self.path, trainer, self.settings)
            except DataError as error:
                raise TrainingError(
                    f"training stopped after epoch {trainer.epoch} of phase "
                    f"{trainer.phase.name!r}: {error}, then resume from the last good checkpoint"
                ) from error
            self._last = time.monotonic()


def save_checkpoint(path: str | Path, trainer: Trainer, settings: Mapping[str, Any]) -> None:
    """Write the trainer's complete state to ``path`` atomically."""
    tensors: dict[str, Tensor] = {
        "random/order": trainer.order.get_state(),
        "random/order beside": trainer.order_unlabelled.get_state(),
        "random/proposals": trainer.generator.get_state(),
    }
    for name, net in trainer.nets.items():
        tensors[f"random/net/{name}"] = trainer.streams.states[name]
        tensors |= {f"net/{name}/{key}": value for key, value in net.state_dict().items()}
    for name, weights in trainer.best_weights.items():
        tensors |= {f"best/{name}/{key}": value for key, value in weights.items()}
    for number, optimiser in enumerate(trainer.optimisers):
        for index, slots in optimiser.state_dict()["slots"].items():
            tensors |= {f"optimiser/{number}/{index}/{key}": v for key, v in slots.items()}
    state = {
        "settings": dict(settings),
        "device": trainer.device.type,
        "phase": trainer.phase_index,
        "epoch": trainer.epoch,
        "best": trainer.best,
        "epochs_since_best": trainer.epochs_since_best,
        "follows": trainer.follows,
        "phase_ended": trainer.phase_ended,
        "stopped": trainer.stopped,
        "callbacks": [_callback_state(callback) for callback in trainer.callbacks],
        "scale": [optimiser.scale for optimiser in trainer.optimisers],
        "history": trainer.history,
    }
    contiguous = {k: v.detach().to("cpu", copy=True).contiguous() for k, v in tensors.items()}
    text = json.dumps(state)
    metadata = {"state": text, "sha256": _checksum(contiguous, text)}
    atomic_write(path, lambda temporary: _save(contiguous, temporary, metadata))


def _callback_state(callback: Callback) -> dict[str, Any]:
    """The state of a callback and the name of its class."""
    kind, state = type(callback).__name__, callback.state_dict()
    try:
        return {"kind": kind, "state": json.loads(json.dumps(state))}
    except (TypeError, ValueError) as error:
        rule = "must hold texts, numbers, lists and dicts only"
        raise SettingError(f"the state_dict of the callback {kind} {rule}: {error}") from error


def _save(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
    try:
        save_file(tensors, path, metadata=metadata)
    except SafetensorError as error:
        # A full disk: "... I/O error: No space left on device (os error 28)".
        found = re.search(r"\(os error (\d+)\)", str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def resume(path: str | Path, trainer: Trainer, settings: Mapping[str, Any]) -> None:
    """Continue from a checkpoint; the file is checked before the trainer is changed."""
    tensors, state = trainer.processes.from_first(lambda: _read(path))
    stored, given = state["settings"], json.loads(json.dumps(dict(settings)))
    if stored != given:
        changed = sorted(key for key in {*stored, *given} if stored.get(key) != given.get(key))
        raise DataError(
            f"{path} was made with other settings (different: {', '.join(changed)}); resume with "
            "the same ones, or start again without resuming"
        )
    try:
        _restore(trainer, tensors, state)
    except (LookupError, RuntimeError, ValueError, TypeError) as error:
        raise DataError(
            f"{path} does not fit this method and its nets ({error}); start again without resuming"
        ) from error


def _restore(trainer: Trainer, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    trainer.phase_index = state["phase"]
    trainer._start_phase()
    trainer.epoch, trainer.best = state["epoch"], state["best"]
    trainer.epochs_since_best = state["epochs_since_best"]
    trainer.history = state["history"]
    trainer._follow(state["follows"])
    trainer.phase_ended, trainer.stopped = state["phase_ended"], state["stopped"]
    states = list(state["callbacks"])
    for callback in trainer.callbacks:  # those of one class in the order they were given in
        kind = type(callback).__name__
        if own := next((one for one in states if one["kind"] == kind), None):
            states.remove(own)
            callback.load_state_dict(own["state"])
    trainer.order.set_state(tensors["random/order"])
    trainer.order_unlabelled.set_state(tensors["random/order beside"])
    # Other devices have other generators: there, candidates and dropout start new streams.
    if state["device"] == trainer.device.type:
        trainer.generator.set_state(tensors["random/proposals"])
        trainer.streams.states.update(_below(tensors, "random/net/"))
    for name, net in trainer.nets.items():
        net.load_state_dict(_below(tensors, f"net/{name}/"))
        if best := _below(tensors, f"best/{name}/"):
            trainer.best_weights[name] = best
    for number, optimiser in enumerate(trainer.optimisers):
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in _below(tensors, f"optimiser/{number}/").items():
            index, slot = key.split("/")
            slots.setdefault(int(index), {})[slot] = value
        optimiser.load_state_dict({"scale": state["scale"][number], "slots": slots})


def _read(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            text, checksum = file.metadata()["state"], file.metadata()["sha256"]
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise DataError(f"there is no checkpoint {path} to resume from") from error
    except (SafetensorError, KeyError, TypeError, OSError) as error:
        raise DataError(f"the checkpoint {path} is damaged ({error}); start again") from error
    if _checksum(tensors, text) != checksum:
        raise DataError(f"the checkpoint {path} is damaged (its checksum is wrong); start again")
    try:
        state = json.loads(text)
        check_form(state, _STATE, f"the checkpoint {path}")
    except (ValueError, RecursionError) as error:
        raise DataError(f"the checkpoint {path} is damaged ({error}); start again") from error
    return tensors, state


def _checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        digest.update(key.encode())
        digest.update(tensors[key].cpu().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
