"""What a search of settings gains on test data over the defaults.

    OMP_NUM_THREADS=1 python benchmarks/search.py run --data cal500 yeast --searches 3 --trials 30
    python benchmarks/search.py table

Each search has a seed of its own, for the settings that are drawn and for all training. Its best
settings on validation rows and the defaults are trained with that seed and measured on the test
part, by the metric that was searched for, example F1. A search that was interrupted continues: its
trials are kept in the folder ``--studies`` until its result is in the store. Data is found at
``../shared/data/mlc`` or ``$LOSSNET_DATA/mlc``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from label_decisions import parts
from runs import main
from scipy.stats import t as student

from lossnet import MultiLabelClassifier, search
from lossnet.reports import find, has, record, summarise
from lossnet.searching import space_of
from lossnet.tasks.multilabel import get_metric

SETS = ("cal500", "yeast", "emotions", "scene", "medical", "enron", "bibtex", "digits")
METHODS = ("seal-nce", "auto", "cross-entropy")
METRIC = "example-f1"


def run(arguments: argparse.Namespace) -> None:
    """Search and record what the store lacks."""
    wanted = [
        (name, method, seed)
        for seed in range(arguments.searches)
        for method in arguments.methods
        for name in arguments.data
    ]
    for name, method, seed in wanted:
        data = parts(name)
        checksum = data.train.checksum()
        model = MultiLabelClassifier(method, metric=METRIC, random_state=seed)
        space = {key: str(drawn) for key, drawn in space_of(model).items()}
        configuration = {"trials": arguments.trials, "metric": METRIC, "space": space}
        configuration |= {"method_params": model.resolved_method_params()}
        key: dict[str, Any] = {"data": f"search-{name}", "method": method, "seed": seed}
        key |= {"configuration": configuration}
        if has(arguments.results, **key, data_checksum=checksum):
            continue
        study = Path(arguments.studies) / f"{name}-{method}-{seed}"
        found = search(
            model,
            data.train,
            validation_data=data.validation,
            trials=arguments.trials,
            out=study,
            verbose=1,
        )
        plain = model.fit(data.train, validation_data=data.validation)
        metrics = {"start": _test(plain, data), "best": _test(found.model, data)}
        assert found.best is not None
        assert found.start is not None
        metrics |= {"validation start": found.start.value, "validation best": found.best.value}
        metrics |= {"pruned": float(sum(row.state == "pruned" for row in found.trials))}
        record(
            arguments.results,
            command=" ".join(["python", *sys.argv]),
            data_checksum=checksum,
            metrics=metrics,
            seconds=sum(row.seconds or 0.0 for row in found.trials),
            tags=["search"],
            **key,
        )
        shutil.rmtree(study)
        print(name, method, seed, {k: round(v, 4) for k, v in metrics.items()}, flush=True)


def _test(model: Any, data: Any) -> float:
    return float(get_metric(METRIC)(data.test.Y, model.predict(data.test)))


def table(arguments: argparse.Namespace) -> None:
    """Gains on validation and test data, with a t interval of the mean over searches."""
    heads = ["data", "method", "trials", "searches", "default, test", "searched, test"]
    heads += ["gain on test", "95 % interval", "gain on validation", "minutes a search"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in SETS:
        for method in METHODS:
            runs = find(arguments.results, data=f"search-{name}", method=method)
            for trials in sorted({run.configuration["trials"] for run in runs}):
                own = [run for run in runs if run.configuration["trials"] == trials]
                print(f"| {name} | {method} | {trials} | {' | '.join(_cells(own))} |")


def _cells(runs: list[Any]) -> list[str]:
    values = {key: [100 * run.metrics[key] for run in runs] for key in runs[0].metrics}
    gains = [after - before for before, after in zip(values["start"], values["best"], strict=True)]
    shown = [summarise(values[key], percent=False) for key in ("start", "best")]
    pairs = zip(values["validation start"], values["validation best"], strict=True)
    validation = summarise([after - before for before, after in pairs], percent=False)
    minutes = f"{fmean(run.seconds for run in runs) / 60:.0f}"
    interval = "–"
    if len(gains) > 1:
        half = student.ppf(0.975, len(gains) - 1) * stdev(gains) / len(gains) ** 0.5
        interval = f"{fmean(gains) - half:+.1f} to {fmean(gains) + half:+.1f}"
    return [str(len(runs)), *shown, f"{fmean(gains):+.1f}", interval, validation, minutes]


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        data={"nargs": "+", "choices": SETS, "default": ["cal500", "yeast"]},
        methods={"nargs": "+", "choices": METHODS, "default": ["seal-nce"]},
        searches={"type": int, "default": 3},
        trials={"type": int, "default": 30},
        studies={"default": str(Path(tempfile.gettempdir()) / "lossnet-search")},
    )
