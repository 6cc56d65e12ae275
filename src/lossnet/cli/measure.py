"""Metrics of a trained model, at its own threshold and at 0.5."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.data import Splits
    from lossnet.estimators import MultiLabelClassifier

Measured = dict[str, dict[str, float]]

OWN, HALF = "at threshold", "at 0.5"


def measure(model: MultiLabelClassifier, X: Any, Y: Any, threshold: Any = None) -> Measured:
    """Every metric at the model's threshold (or the one given) and at 0.5."""
    from lossnet.metrics import evaluate

    proba = model.predict_proba(X)
    first = OWN if threshold is None else f"at {threshold:g}"
    own = model.threshold_ if threshold is None else threshold
    return {first: evaluate(Y, proba, own), HALF: evaluate(Y, proba, 0.5)}


def measure_parts(model: MultiLabelClassifier, splits: Splits) -> dict[str, Measured]:
    """The metrics on the validation and the test part, where there are any."""
    return {
        part: measure(model, data.X, data.Y) for part, data in splits.parts() if part != "train"
    }


def flat(measured: Measured) -> dict[str, float]:
    """One mapping for the results store: ``example-f1`` and, at 0.5, ``example-f1@0.5``."""
    values = dict(measured[OWN])
    # MAP reads probabilities: no threshold changes it.
    values |= {f"{name}@0.5": v for name, v in measured[HALF].items() if name != "map"}
    return values


def seconds(model: MultiLabelClassifier) -> float:
    """Seconds of training, over all sittings."""
    return float(sum(row["seconds"] for row in model.history_))


def threshold_text(threshold: Any) -> str:
    """The model's threshold in words."""
    if getattr(threshold, "ndim", 0):
        return f"{threshold.min():.3g} to {threshold.max():.3g}, one a label"
    return f"{float(threshold):.3g}"


def record_run(
    folder: str | Path,
    model: MultiLabelClassifier,
    splits: Splits,
    settings: Settings,
    report: dict[str, Measured],
    *,
    command: str,
    tags: tuple[str, ...],
) -> None:
    """Write the run to a results store: test metrics, or validation metrics without a test part."""
    from lossnet.reports import record

    part = "test" if "test" in report else "validation"
    record(
        folder,
        command=command,
        data=splits.name,
        data_checksum=data_checksum(splits),
        method=settings.method,
        seed=settings.seed,
        configuration=configuration(model, part),
        metrics=flat(report[part]),
        seconds=seconds(model),
        tags=tags,
    )


def configuration(model: MultiLabelClassifier, part: str) -> dict[str, Any]:
    """Every setting that could change a result, defaults too, and the part it is measured on."""
    from lossnet.cli.settings import plain_params
    from lossnet.recipes import defaults

    free = ("device", "random_state", "verbose")
    own = {key: value for key, value in plain_params(model).items() if key not in free}
    if isinstance(model.method, str):
        own["method_params"] = {**defaults(model.method), **(model.method_params or {})}
    return {**own, "measured_on": part}


def data_checksum(splits: Splits) -> str:
    """One checksum of all parts."""
    import hashlib

    text = " ".join(f"{part}:{data.checksum()}" for part, data in splits.parts())
    return hashlib.sha256(text.encode()).hexdigest()
