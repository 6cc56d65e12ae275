"""Decisions: the best output for a metric, given probabilities or weighted candidates."""

from lossnet.decisions.distribution import Joint, Weighted
from lossnet.decisions.prefixes import best_f, best_jaccard
from lossnet.decisions.risk import minimum_risk, of_rows
from lossnet.decisions.samples import best_f_of_samples
from lossnet.decisions.search import enumerated, local_search
from lossnet.decisions.temperature import fit_temperature, temper
from lossnet.decisions.weights import marginals, most_probable, self_normalised

__all__ = [
    "Joint",
    "Weighted",
    "best_f",
    "best_f_of_samples",
    "best_jaccard",
    "enumerated",
    "fit_temperature",
    "local_search",
    "marginals",
    "minimum_risk",
    "most_probable",
    "of_rows",
    "self_normalised",
    "temper",
]
