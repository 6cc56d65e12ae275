"""The papers' figures: what they need, and the models that they are drawn from."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lossnet.errors import DataError, unknown
from lossnet.papers.data_sets import DATA_SETS
from lossnet.papers.settings import Kind, configuration, estimator_of
from lossnet.papers.table import Column, Figure, Row
from lossnet.tasks.parts import Parts

_SEAL = ("bibtex", "cal500", "genbase", "delicious", "expr_fun", "spo_fun")

FIGURES = (
    Figure(
        "seal-figure2",
        "paper 000, Figure 2",
        "the global energy's gradient for one label as another goes from 0 to 1",
        ("expr_fun", "spo_fun", "cal500", "genbase", "bibtex"),
        "label_gradients:draw",
        usual=("expr_fun",),
    ),
    Figure(
        "seal-iclr-figures3-5",
        "paper 001, Figures 3 to 5",
        "validation F1 by steps: the task-net, refined by the energy, from random points, and the "
        "energy network alone",
        _SEAL,
        "gbi_training:draw",
        usual=("cal500", "genbase", "spo_fun"),
    ),
    Figure(
        "infnet-figure3",
        "paper 003, Figure 3",
        "losses and gradient norms with 1, 5 and 50 inference steps",
        ("twitter_pos",),
        "nets_and_energies:inference_steps",
    ),
    Figure(
        "alen-figures2-4",
        "paper 004, Figures 2 to 4",
        "horses refined by the energy; F1 by refinement step and by epoch, ALEN and DVN",
        ("horses", "bibtex-official", "bookmarks-official"),
        "nets_and_energies:alen",
        usual=("horses", "bibtex-official"),
    ),
)


@dataclass
class Studio:
    """Where figures are drawn: data, models and the folder for pictures.

    Args:
        root: the data folder.
        out: the folder for pictures; fitted models are kept in it and not fitted again.
        data: the data sets to draw.
        kind: how models are run; a method without a preset runs by default.
        say: prints a line of progress.
    """

    root: Path
    out: Path
    data: Sequence[str]
    kind: Kind
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self._loaded: dict[str, tuple[Parts[Any], str]] = {}

    def parts(self, data: str) -> Parts[Any]:
        """The parts of a data set, read once."""
        if data not in self._loaded:
            self._loaded[data] = DATA_SETS[data].load(self.root)
        return self._loaded[data][0]

    def unfitted(self, data: str, method: str, **params: Any) -> Any:
        """The estimator of a method on a data set."""
        preset = "paper:pos" if data == "twitter_pos" else f"paper:{data.partition('-')[0]}"
        row, column = Row(method, method, params=params), Column(data, data, "", preset)
        model = estimator_of(row, column, self.kind, self.root)
        return model or estimator_of(row, column, Kind("default"), self.root)

    def key(self, data: str, model: Any) -> str:
        """A name for what comes of a model on a data set: other settings, another name."""
        self.parts(data)
        known = [self._loaded[data][1], configuration(model)]
        text = json.dumps(known, sort_keys=True).encode()
        return f"{data}-{model.method}-{hashlib.sha256(text).hexdigest()[:8]}"

    def fitted(self, data: str, model: Any) -> Any:
        """The model, from the folder where it is there, else fitted now and kept."""
        folder, parts = self.out / "models" / self.key(data, model), self.parts(data)
        if folder.exists():
            return type(model).load(folder)
        self.say(f"fitting {model.method} on {data}")
        model.fit(parts.train, validation_data=parts.validation)
        model.save(folder)
        return model


def draw(figure: Figure, studio: Studio) -> list[Path]:
    """Draw a figure; the pictures."""
    for name in studio.data:
        if name not in figure.data:
            raise unknown(f"data set of {figure.name}", name, figure.data)
        if needs := DATA_SETS[name].needs(studio.root):
            raise DataError(f"{figure.name} needs data: {name}: {needs}")
    module, _, name = figure.draw.partition(":")
    function = getattr(importlib.import_module(f"lossnet.papers.{module}"), name)
    found: list[Path] = function(studio)
    return found
