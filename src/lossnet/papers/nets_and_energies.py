"""Figures of papers 003 and 004: how nets and energies train together, and refinement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lossnet.papers.figures import Studio
from lossnet.reports import draw_inference_training, draw_refinement, draw_training_speed

#: Epochs of the runs that show how inference steps and energy steps balance.
BALANCE_EPOCHS = 8
#: Steps that an output is refined by, and images whose refinement is drawn.
STEPS, IMAGES = 30, 6


def inference_steps(studio: Studio) -> list[Path]:
    """Paper 003's Figure 3: losses and gradient norms with 1, 5 and 50 inference steps."""
    found = []
    for data in studio.data:
        histories = {}
        for k in (1, 5, 50):
            model = studio.unfitted(data, "infnet-plus", net_steps=k)
            model.set_params(max_epochs=BALANCE_EPOCHS, patience=BALANCE_EPOCHS)
            histories[f"k = {k}"] = studio.fitted(data, model).history_
        path = studio.out / f"infnet-figure3-{data}.png"
        found.append(draw_inference_training(histories, path, title=f"infnet-plus on {data}"))
    return found


def alen(studio: Studio) -> list[Path]:
    """Paper 004's Figure 2 on images, its Figures 3 and 4 on labels."""
    found = []
    for data in studio.data:
        found += _horses(studio, data) if data == "horses" else _labels(studio, data)
    return found


def _labels(studio: Studio, data: str) -> list[Path]:
    """F1 on test rows by refinement step, and on validation rows by epoch, ALEN and DVN."""
    from lossnet.tasks.multilabel import refinement_curve

    models = {m: studio.fitted(data, studio.unfitted(data, m)) for m in ("alen", "dvn")}
    test: Any = studio.parts(data).test
    curves = {
        name: list(refinement_curve(model, test.X, test.Y, steps=STEPS))
        for name, model in models.items()
    }
    histories = {name: model.history_ for name, model in models.items()}
    steps, epochs = (studio.out / f"alen-figure{number}-{data}.png" for number in (3, 4))
    return [
        draw_refinement(curves, steps, title=f"{data}, test rows"),
        draw_training_speed(histories, epochs, metric="validation F1", title=data),
    ]


def _horses(studio: Studio, data: str) -> list[Path]:
    """Masks of ALEN's net and refined, next to cross-entropy's; and some as they are refined."""
    from lossnet.proposals import NetOutput
    from lossnet.tasks.image import draw_refinement_frames, draw_segmentation

    parts: Any = studio.parts(data)
    plain = studio.fitted(data, studio.unfitted(data, "cross-entropy")).set_params(average=6)
    model = studio.fitted(data, studio.unfitted(data, "alen"))
    model.set_params(average=1).tune_refinement(parts.validation, most=STEPS)
    few = parts.test.subset(range(IMAGES))
    path = model.refinement_path(few, steps=STEPS)
    found = {"cross-entropy": plain.predict(parts.test)}
    refined = model.set_params(average=6).predict(parts.test)
    found["alen's net"] = model.set_params(refine=NetOutput()).predict(parts.test)
    found["alen, refined"] = refined
    masks, frames = (studio.out / f"alen-figure2-{data}{end}.png" for end in ("", "-steps"))
    test, classes = parts.test, len(model.classes_)
    draw_segmentation(test.images, test.masks, found, masks, worst=4, best=4, classes=classes)
    draw_refinement_frames(few.images, few.masks, path, frames, classes=classes)
    return [masks, frames]
