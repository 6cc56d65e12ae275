"""Image segmentation on real data.

    python benchmarks/images.py run --data horses --seeds 3   # every row of the table
    python benchmarks/images.py run --data faces --seeds 1 --rows cross-entropy seal-regression alen
    python benchmarks/images.py table --data horses faces     # what the store holds
    python benchmarks/images.py cost                          # a step of each method
    python benchmarks/images.py pictures --out pictures       # three rows, drawn

``run`` fits every row of :data:`ROWS` on the training images, early stopping on the validation part
without averaged crops, and records metrics of the test part with 36 averaged crops. Runs that are
in the store are not done again. With ``--models DIR`` fitted models are kept there, and
``pictures`` draws those in place of fitting anew. Data is found at ``../shared/data`` or
``$LOSSNET_DATA``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from lossnet import Batch, Context, ImageSegmenter
from lossnet.proposals import GBI, NetOutput
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.image import (
    ImageData,
    draw_refinement_frames,
    draw_segmentation,
    evaluate_masks,
    load_image_splits,
)
from lossnet.tasks.parts import Parts
from lossnet.training.step import build_optimiser, parameters_of, step

ROOT = Path(os.environ.get("LOSSNET_DATA", Path(__file__).parents[2] / "shared" / "data"))

#: File of each data set and the names of its classes.
DATA: dict[str, tuple[str, list[str]]] = {
    "horses": ("image/weizmann_horses/weizmann_horse_32x32.npz", ["background", "horse"]),
    "faces": ("image/lfw_parts/lfw_parts_32.npz", ["background", "face", "hair"]),
}

#: The same for every row, with the papers' FCN where a row names no other task-net; horses are few,
#: so an epoch has several crops of each.
SETTINGS: dict[str, dict[str, Any]] = {
    "horses": {
        "width": 64,
        "energy_width": 32,
        "crops": 4,
        "batch_size": 16,
        "max_epochs": 80,
        "patience": 30,
    },
    "faces": {
        "width": 32,
        "energy_width": 32,
        "crops": 1,
        "batch_size": 16,
        "max_epochs": 20,
        "patience": 20,
    },
}

#: What keeps costly methods affordable here: fewer epochs than cross-entropy has, and where they
#: sample, fewer samples than the 10 to 20 of their defaults.
SHORT: dict[str, Any] = {"max_epochs": 40}
FEW: dict[str, Any] = {"energy_steps": 1}

#: DVN's inference by Adam on the energy, as in the public code of SEAL.
ADAM: dict[str, Any] = {
    "inference": {"steps": 20, "lr": 0.05, "adam": True, "keep": "best", "on": "energy"},
    "others": "adversarial",
}

#: ALEN as in its paper, both nets from the first epoch.
TOGETHER: dict[str, Any] = {"share": 1.0}

#: Rows of the table: a method, its parameters, the segmenter's, and the most seeds.
ROWS: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "cross-entropy": ("cross-entropy", {}, {}, 3),
    "cross-entropy, U-Net": ("cross-entropy", {}, {"task_net": "unet"}, 1),
    "dvn": ("dvn", {}, SHORT, 1),
    "dvn, Adam": ("dvn", ADAM, SHORT, 1),
    "dvn, score map": ("dvn", {}, {"energy_net": "score-map", **SHORT}, 1),
    "seal-regression": ("seal-regression", {}, {}, 3),
    "seal-regression-s": (
        "seal-regression-s",
        {"candidates": {"kind": "samples", "k": 4}, **FEW},
        SHORT,
        3,
    ),
    "seal-regression-s, correlated": (
        "seal-regression-s",
        {"candidates": {"kind": "correlated", "k": 4}, **FEW},
        SHORT,
        3,
    ),
    "seal-nce": ("seal-nce", {"samples": 4, **FEW}, SHORT, 3),
    "seal-ranking": ("seal-ranking", {"samples": 4, **FEW}, SHORT, 3),
    "seal-ranking, correlated": (
        "seal-ranking",
        {"samples": 4, "radius": 2.0, **FEW},
        SHORT,
        3,
    ),
    "alen": ("alen", TOGETHER, SHORT, 3),
    "alen, FCN energy": ("alen", TOGETHER, {"energy_net": "score-map", **SHORT}, 1),
    "alen, U-Net": ("alen", TOGETHER, {"task_net": "unet", **SHORT}, 1),
    "aen": ("aen", {}, SHORT, 1),
    "infnet-plus": ("infnet-plus", {}, SHORT, 1),
    "implicit-dvn": ("implicit-dvn", {}, SHORT, 1),
}
#: Rows whose net alone is a row of its own, and the most steps its output is refined by.
REFINED = ("alen", "alen, FCN energy", "alen, U-Net", "aen")
MOST_STEPS = 30


def model_of(name: str, row: str, seed: int) -> tuple[ImageSegmenter, dict[str, Any]]:
    """The segmenter of a row, and everything it is made of but data and seed."""
    method, params, own, _ = ROWS[row]
    settings = {**SETTINGS[name], **own}
    settings["max_epochs"] = min(settings["max_epochs"], SETTINGS[name]["max_epochs"])
    model = ImageSegmenter(
        method,
        method_params=params or None,
        classes=DATA[name][1],
        random_state=seed,
        average=1,  # while training; 6 in measured
        decode="argmax",
        **{"task_net": "fcn", **settings},
    )
    return model, {**settings, "method_params": model.resolved_method_params()}


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            splits = load_image_splits(ROOT / DATA[name][0])
            for row in arguments.rows:
                if seed < ROWS[row][3] or arguments.all_seeds:
                    one(arguments, name, row, seed, splits)


def one(
    arguments: argparse.Namespace, name: str, row: str, seed: int, splits: Parts[ImageData]
) -> None:
    """One fit, unless the store holds it."""
    model, configuration = model_of(name, row, seed)
    key = {"data": name, "method": row, "seed": seed, "configuration": configuration}
    checksum = splits.train.checksum()
    if has(arguments.results, **key, data_checksum=checksum):
        return
    assert splits.validation is not None
    began = time.perf_counter()
    model.fit(splits.train, validation_data=splits.validation)
    seconds = time.perf_counter() - began
    if arguments.models:
        model.save(Path(arguments.models) / f"{name}-{row}-{seed}")
    steps = {}
    if row in REFINED:
        model.tune_refinement(splits.validation, most=MOST_STEPS)
        steps = {"refinement steps": float(model.refine_steps_ or 0)}
    rows = {row: measured(model, splits) | steps}
    if row in REFINED:
        # One fit, two rows: refined by as many steps as serve validation, and the net alone.
        rows[f"{row}-net"] = measured(model.set_params(refine=NetOutput()), splits)
    for method, metrics in rows.items():
        record(
            arguments.results,
            command=" ".join(["python", *sys.argv]),
            data_checksum=checksum,
            metrics=metrics,
            seconds=seconds,
            tags=["final"],
            **(key | {"method": method}),
        )
        shown = {k: round(100 * v, 2) for k, v in metrics.items() if "iou" in k or "acc" in k}
        print(name, method, seed, f"{seconds:.0f} s", shown, flush=True)


def measured(model: ImageSegmenter, splits: Parts[ImageData]) -> dict[str, float]:
    """Metrics of the validation and of the test part, crops averaged in both."""
    found: dict[str, float] = {"epochs": float(len(model.history_))}
    model.set_params(average=6)
    for prefix, data in (("validation ", splits.validation), ("", splits.test)):
        assert data is not None
        assert data.masks is not None
        classes = model.classes_
        scores = evaluate_masks(data.masks, model.predict(data), len(classes), names=classes)
        found |= {f"{prefix}{key}": value for key, value in scores.items()}
    return found


def table(arguments: argparse.Namespace) -> None:
    """Mean ± deviation over seeds."""
    for name in arguments.data:
        runs = find(arguments.results, data=name, tags="final")
        if not runs:
            continue
        columns = ["mean-iou", "global-iou", "pixel-accuracy"]
        if len(DATA[name][1]) > 2:
            columns += [f"iou of {label}" for label in DATA[name][1]]
        print(f"\n### {name}\n")
        print("| method | n | " + " | ".join(columns) + " | seconds |")
        print("|---" * (3 + len(columns)) + "|")
        for row in [label for base in ROWS for label in (base, f"{base}-net")]:
            members = [one for one in runs if one.method == row]
            if members:
                cells = [summarise([one.metrics.get(key) for one in members]) for key in columns]
                seconds = summarise([one.seconds for one in members], percent=False, digits=0)
                print(f"| {row} | {len(members)} | " + " | ".join([*cells, seconds]) + " |")


def cost(arguments: argparse.Namespace) -> None:
    """Milliseconds of a step of each method, of a refinement step and of a forward pass."""
    x = torch.randn(16, 3, 24, 24)
    y = (torch.rand(16, 24, 24) < 0.3).float()
    found: dict[str, float] = {}
    rows = {
        "cross-entropy": ("cross-entropy", {}),
        "seal-regression": ("seal-regression", {}),
        "seal-regression, loss-net as wide": ("seal-regression", {"energy_width": None}),
        "alen": ("alen", {}),
    }
    for label, (row, own) in rows.items():
        found[label] = min(_step_seconds(_unfitted(row, **own), x, y) for _ in range(3))
    model = _unfitted("alen")
    context = Context(model.nets_, Batch(x, y), model._output()[1])
    with torch.no_grad():
        found["forward pass"] = _seconds(lambda: model.nets_["task"](x))
    descents = [GBI(n, 1.0, step="normalised", adam=False, start=NetOutput()) for n in (1, 11)]
    times = [_seconds(lambda d=descent: d(context)) for descent in descents]  # type: ignore[misc]
    found["refinement step"] = (times[1] - times[0]) / 10
    for name, seconds in found.items():
        base = found["forward pass" if name == "refinement step" else "cross-entropy"]
        print(f"{name:36}{1e3 * seconds:8.1f} ms{seconds / base:8.2f}")


def _unfitted(row: str, **own: Any) -> ImageSegmenter:
    """A segmenter with new nets for 24 x 24 crops of horses."""
    model, _ = model_of("horses", row, 0)
    model.set_params(**own)
    model.method_, model.classes_ = model._assembled(), DATA["horses"][1]
    model.channels_, model.crop_ = 3, (24, 24)
    model.nets_ = model._build_nets(model.method_.nets)
    return model


def _step_seconds(model: ImageSegmenter, x: torch.Tensor, y: torch.Tensor) -> float:
    """Seconds of all updates on one batch."""
    phase = model.method_.phases[0]
    parts = []
    for update in phase.updates:
        parameters = parameters_of(update, model.nets_)
        parts.append((update, build_optimiser(parameters, update.optimiser), parameters))

    def batch() -> None:
        context = Context(
            model.nets_,
            Batch(x, y),
            model._output()[1],
            generator=torch.Generator().manual_seed(0),
            training=phase.trained,
        )
        for update, optimiser, parameters in parts:
            for _ in range(update.steps):
                step(update, context, optimiser, parameters)

    return _seconds(batch)


def _seconds(call: Any, times: int = 5) -> float:
    """Seconds of one thread's work: the machine may be busy with other things."""
    call()
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) / times


def pictures(arguments: argparse.Namespace) -> None:
    """Cross-entropy, seal-regression and ALEN on each data set, drawn side by side."""
    for name in arguments.data:
        splits = load_image_splits(ROOT / DATA[name][0])
        test, classes = splits.test, len(DATA[name][1])
        assert test is not None
        assert test.masks is not None
        found = {}
        for row in ("cross-entropy", "seal-regression"):
            found[row] = fitted(arguments, name, row, splits).set_params(average=6).predict(test)
        model = fitted(arguments, name, "alen", splits).set_params(average=6)
        assert splits.validation is not None
        model.tune_refinement(splits.validation, most=MOST_STEPS)
        refined = model.predict(test)
        path = model.refinement_path(test.subset(range(6)), steps=MOST_STEPS)
        found["alen's net"] = model.set_params(refine=NetOutput()).predict(test)
        found["alen, refined"] = refined
        folder = Path(arguments.out)
        draw_segmentation(
            test.images,
            test.masks,
            found,
            folder / f"{name}.png",
            classes=classes,
            worst=4,
            best=4,
        )
        few = test.subset(range(6))
        assert few.masks is not None
        draw_refinement_frames(
            few.images, few.masks, path, folder / f"{name}-refinement.png", classes=classes
        )


def fitted(
    arguments: argparse.Namespace, name: str, row: str, splits: Parts[ImageData]
) -> ImageSegmenter:
    """The row's model of the chosen seed, from the folder of models where it is there."""
    if arguments.models:
        kept = Path(arguments.models) / f"{name}-{row}-{arguments.seed}"
        if kept.exists():
            return ImageSegmenter.load(kept)
    model, _ = model_of(name, row, arguments.seed)
    return model.fit(splits.train, validation_data=splits.validation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table", "cost", "pictures"])
    parser.add_argument("--data", nargs="+", default=["horses"], choices=list(DATA))
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--all-seeds", action="store_true", help="rows of one seed have all too")
    parser.add_argument("--seed", type=int, default=0, help="of the models that are drawn")
    parser.add_argument("--models", help="folder of fitted models, kept or drawn")
    parser.add_argument("--out", default="pictures", help="folder of the pictures")
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    {"run": run, "table": table, "cost": cost, "pictures": pictures}[arguments.what](arguments)


if __name__ == "__main__":
    main()
