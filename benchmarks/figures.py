"""The papers' figures on bibtex, official split: ``python benchmarks/figures.py --out figures``.

ALEN compared with DVN: F1 on test rows against the refinement step, and validation F1 against the
training epoch (paper 004, Figures 3 and 4); infnet-plus with 1, 5 and 50 inference steps an energy
step: losses and gradient norms (paper 003, Figure 3), and how its two nets differ (Table 3).
Fitted models are kept in the folder and not fitted again, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from multilabel import OFFICIAL, best_trial, configuration, data

from lossnet import MultiLabelClassifier
from lossnet.reports import draw_inference_training, draw_refinement, draw_training_speed
from lossnet.tasks.multilabel import inference_gap, refinement_curve

#: Epochs of the runs that show how inference steps and energy steps balance.
BALANCE_EPOCHS = 10


def fitted(out: Path, name: str, method: str, settings: dict[str, Any]) -> MultiLabelClassifier:
    """The model of that name, from the folder or fitted now."""
    folder = out / "models" / name
    if folder.exists():
        return MultiLabelClassifier.load(folder)
    splits, _ = data(OFFICIAL)
    assert splits.validation is not None
    model = MultiLabelClassifier(method, random_state=0, verbose=1, **settings)
    model.fit(
        splits.train.X, splits.train.Y, validation_data=(splits.validation.X, splits.validation.Y)
    )
    model.save(folder)
    return model


def alen_against_dvn(arguments: argparse.Namespace, out: Path) -> None:
    """Paper 004's Figures 3 and 4."""
    splits, _ = data(OFFICIAL)
    assert splits.test is not None
    models = {}
    for method in ("alen", "dvn"):
        trial = best_trial(arguments, OFFICIAL, method)
        settings = configuration(method, trial, len(splits.train), 10**9)
        models[method] = fitted(out, method, method, settings)
    curves = {
        name: refinement_curve(model, splits.test.X, splits.test.Y, steps=30)
        for name, model in models.items()
    }
    draw_refinement(curves, out / "refinement.png", title="bibtex, test rows")
    histories = {name: model.history_ for name, model in models.items()}
    draw_training_speed(histories, out / "training.png", metric="validation F1", title="bibtex")
    for name, curve in curves.items():
        print(f"{name}: F1 {100 * curve[6]:.2f} after 6 steps, {100 * curve.max():.2f} at best")


def inference_steps(out: Path) -> None:
    """Paper 003's Figure 3 and Table 3."""
    splits, _ = data(OFFICIAL)
    assert splits.validation is not None
    histories = {}
    for k in (1, 5, 50):
        settings = configuration("infnet-plus", {"net_steps": k}, len(splits.train), BALANCE_EPOCHS)
        model = fitted(out, f"infnet-plus-{k}", "infnet-plus", settings)
        histories[f"k = {k}"] = model.history_
        print(f"k = {k}\n{inference_gap(model, splits.validation.X, splits.validation.Y)}\n")
    draw_inference_training(histories, out / "inference.png", title="infnet-plus on bibtex")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="figures", type=Path)
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    parser.add_argument("--only", choices=["alen", "infnet"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.only != "infnet":
        alen_against_dvn(arguments, arguments.out)
    if arguments.only != "alen":
        inference_steps(arguments.out)


if __name__ == "__main__":
    main()
