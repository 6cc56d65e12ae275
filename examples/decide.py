"""Each metric has its own best decision: an experiment on labels whose distribution is known.

    python examples/decide.py

One model with a learned loss is trained; then the same nets decide for three metrics in turn, by
every rule. The Bayes values are the best that any prediction can reach.
"""

from __future__ import annotations

from lossnet import MultiLabelClassifier
from lossnet.errors import SettingError
from lossnet.tasks.multilabel import Ising, get_metric, ising

SIZES = {"labels": 8, "features": 10, "coupling": 3.0, "seed": 0}
#: Metrics, and which rules to decide by.
METRICS = ("subset-accuracy", "example-f1", "hamming")
RULES = ("threshold", "expected", "samples", "mode")


def main() -> None:
    parts = ising(**SIZES, n_train=2000, n_validation=600, n_test=4000)
    model = MultiLabelClassifier(
        "seal-static-nce",
        metric="subset-accuracy",
        hidden=(64,),
        dropout=0.2,
        batch_size=64,
        max_epochs=20,
        random_state=0,
    )
    model.fit(parts.train, validation_data=parts.validation)
    print("metrics of the test rows, in percent")
    print(f"{'rule':<12}" + "".join(f"{metric:>18}" for metric in METRICS))
    for rule in RULES:
        values = [decided(model, parts, rule, metric) for metric in METRICS]
        print(f"{rule:<12}" + "".join(f"{value:>18}" for value in values))
    best = [Ising(**SIZES).bayes_value(parts.test.X, metric).mean() for metric in METRICS]
    print(f"{'Bayes':<12}" + "".join(f"{100 * value:>18.1f}" for value in best))
    print(model.structure_gain(parts.test))


def decided(model, parts, rule: str, metric: str) -> str:
    """The metric on test rows when a rule decides for it; a dash where it does not."""
    model.set_params(metric=metric, decode=rule)
    try:
        model.tune_threshold(parts.validation)
    except SettingError:  # the rule does not serve the metric
        return "-"
    return f"{100 * get_metric(metric)(parts.test.Y, model.predict(parts.test.X)):.1f}"


if __name__ == "__main__":
    main()
