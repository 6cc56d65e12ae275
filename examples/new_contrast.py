"""A custom loss for the loss-net in one file: pairwise logistic ranking of truth and samples."""

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from lossnet import Compare, Judge, Method, MultiLabelClassifier, Phase, Update
from lossnet.contrasts import Compared
from lossnet.proposals import Samples
from lossnet.tasks.multilabel import load_splits
from lossnet.terms import CrossEntropy, EnergyTerm, Weighted
from lossnet.testing import check_contrast


@dataclass(frozen=True)
class PairwiseLogistic:
    """Mean over k of log(1 + exp(E(x, y) - E(x, y_k)))."""

    requires: ClassVar[frozenset[str]] = frozenset({"target"})

    def __call__(self, compared: Compared) -> Tensor:
        return F.softplus(compared.e_target - compared.e).mean(0)

    def link(self, e: Tensor) -> Tensor:
        return e


contrast = PairwiseLogistic()
check_contrast(contrast)
method = Method(
    "pairwise",
    (
        Phase(
            (
                Update("energy", Compare(contrast, Samples(20)), steps=2),
                Update(
                    "task",
                    Judge((Weighted(1.0, EnergyTerm(contrast)), Weighted(1.0, CrossEntropy()))),
                ),
            )
        ),
    ),
)
splits = load_splits("digits-attributes")
clf = MultiLabelClassifier(method, hidden=(64,), max_epochs=10, random_state=0)
clf.fit(splits.train.X, splits.train.Y)
print("test exact match:", round(clf.score(splits.test.X, splits.test.Y), 3))
