"""An exported model: its facts, its arrays, and the net, which onnxruntime or torch runs."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FACTS = "facts.json"
ARRAYS = "arrays.npz"
_KINDS = {"float32": "biuf", "int64": "biu", "bool": "b"}


class ModelError(ValueError):
    """A folder, or an input, that cannot be used."""


class Net:
    """The net: arrays by name in, arrays by name out.

    Args:
        path: ``model.onnx`` or ``model.pt2``.
        inputs: name, dtype and shape of each input, None for an axis of any length.
        outputs: names of the outputs.
    """

    def __init__(
        self, path: Path, inputs: Sequence[Mapping[str, Any]], outputs: Sequence[str]
    ) -> None:
        self.inputs, self.outputs = inputs, list(outputs)
        self._run = (_by_onnxruntime if path.suffix == ".onnx" else _by_torch)(path)

    def __call__(self, **arrays: Array) -> dict[str, Array]:
        """Outputs by name."""
        given = {one["name"]: _checked(arrays[one["name"]], one) for one in self.inputs}
        return dict(zip(self.outputs, self._run(given), strict=True))


def _checked(array: Any, like: Mapping[str, Any]) -> Array:
    """The array in the input's dtype, or an error where it is of another kind or shape."""
    array, name, shape = np.asarray(array), like["name"], like["shape"]
    if array.dtype.kind not in _KINDS[like["dtype"]]:
        raise ModelError(f"{name} has dtype {array.dtype}; expected {like['dtype']}")
    fits = array.ndim == len(shape)
    fits = fits and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits:
        expected = " x ".join("any" if side is None else str(side) for side in shape)
        raise ModelError(f"{name} has shape {array.shape}; expected {expected}")
    return np.ascontiguousarray(array, dtype=like["dtype"])


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        remedy = "run pip install -r requirements.txt in the model's folder"
        raise ModelError(f"{package} cannot be imported ({error}); {remedy}") from error


def _by_onnxruntime(path: Path) -> Any:
    onnxruntime = _needed("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _threads()
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return lambda arrays: session.run(None, arrays)


def _threads() -> int:
    """What ``OMP_NUM_THREADS`` says; 0 leaves it to onnxruntime."""
    number = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return int(number) if number.isdecimal() else 0


def _by_torch(path: Path) -> Any:
    torch = _needed("torch")
    importlib.import_module(".lstm", __package__)  # an operator that the program may have
    module = torch.export.load(path).module()

    def run(arrays: Mapping[str, Array]) -> list[Array]:
        with torch.inference_mode():
            found = module(*(torch.from_numpy(array) for array in arrays.values()))
        return [one.numpy() for one in found]

    return run


class Model:
    """What every exported model has; a subclass is one kind of output."""

    def __init__(self, facts: Mapping[str, Any], arrays: Mapping[str, Array], net: Net) -> None:
        self.facts, self.arrays, self.net = facts, arrays, net

    def read(self, path: Path) -> Any:
        """Inputs of a file."""
        raise NotImplementedError

    def predict(self, inputs: Any) -> Any:
        """Predictions, as the estimator's ``predict`` gives them."""
        raise NotImplementedError

    def predict_proba(self, inputs: Any) -> Any:
        """Probabilities, as the estimator's ``predict_proba`` gives them."""
        raise NotImplementedError

    def lines(self, inputs: Any, *, proba: bool) -> Iterator[dict[str, Any]]:
        """The predictions as JSON, an object for each input."""
        raise NotImplementedError

    def write(self, inputs: Any, out: Path | None, *, proba: bool) -> None:
        """Write the predictions as JSON lines to a file, or print them."""
        rows = enumerate(self.lines(inputs, proba=proba))
        text = "".join(json.dumps({"row": k, **row}, ensure_ascii=False) + "\n" for k, row in rows)
        if out is None:
            sys.stdout.write(text)
        else:
            out.write_text(text, encoding="utf-8")


def load(folder: str | Path) -> Any:
    """The model in an exported folder, a :class:`Model`; an error where the folder is damaged."""
    folder = Path(folder)
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder} holds no exported model: {FACTS}: {error}") from error
    for name, expected in facts["files"].items():
        path = folder / name
        if not path.is_file():
            raise ModelError(f"{path} is missing; export the model again")
        if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            raise ModelError(f"{path} is damaged: its checksum is not the one in {FACTS}")
    net = Net(folder / facts["net"], facts["inputs"], facts["outputs"])
    module, _, name = facts["model"].partition(":")
    kind = getattr(importlib.import_module(f".{module}", __package__), name)
    return kind(facts["facts"], stored(folder / ARRAYS), net)


def stored(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, or that of an .npy file as ``""``."""
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return {"": found}
        with found:
            return {name: found[name] for name in found.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelError(f"{path} holds no arrays of numbers: {error}") from error


def text_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 text file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is not UTF-8 text: {error}") from error
    return text.removesuffix("\n").split("\n") if text else []


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON lines file, each with the place that errors name."""
    for number, line in enumerate(text_lines(path), start=1):
        place = f"{path}, line {number}"
        try:
            found = json.loads(line)
        except ValueError as error:
            raise ModelError(f"{place} is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise ModelError(f"{place}: expected an object, got {str(found)[:40]!r}")
        yield place, found


def tempered(p: Array, temperature: float, *, coupled: bool = False, offset: float = 0.0) -> Array:
    """Probabilities with their logits divided by a temperature, in float64.

    sigmoid((logit(p) + offset) / T) or, where ``coupled``, softmax(log(p) / T) over the last axis.
    """
    p, least = p.astype(np.float64), 1e-12
    if coupled:
        return softmax(np.log(np.maximum(p, least)) / temperature)
    p = p.clip(least, 1.0 - least)
    found: Array = 1.0 / (1.0 + np.exp(-(np.log(p / (1.0 - p)) + offset) / temperature))
    return found


def softmax(logits: Array) -> Array:
    """Probabilities over the last axis."""
    found: Array = np.exp(logits - logits.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)
