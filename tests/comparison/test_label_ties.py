"""Labels tied together by the energy, by training rows and by their hierarchy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from lossnet.comparison.label_ties import changes, kinship, kinship_auc
from lossnet.energies import LabelEnergy

#: 0 is above 1 and 2, 2 above 3; 4 is above 5; 6 stands alone.
PARENTS = {1: [0], 2: [0], 3: [2], 5: [4]}


def test_kinship_of_a_small_forest() -> None:
    found = kinship(PARENTS, 7)
    branch = [0, 0, 0, 0, 1, 1, 2]
    for i in range(7):
        for k in range(7):
            direct = k in PARENTS.get(i, ()) or i in PARENTS.get(k, ())
            expected = 1 if direct else -1 if branch[i] != branch[k] else 0
            assert found[i, k] == expected, (i, k)


def test_a_root_of_all_labels_makes_no_relatives() -> None:
    rooted = {label: PARENTS.get(label) or [7] for label in range(7)}
    found = kinship(rooted, 8)
    assert (found[:7, :7] == kinship(PARENTS, 7)).all()
    assert (found[7, :7] != -1).all()


def test_auc_agrees_with_scikit_learn() -> None:
    draw = np.random.default_rng(0)
    kin = kinship(PARENTS, 7)
    strength = draw.integers(0, 4, (7, 7)) + kin  # with ties
    known = draw.random((7, 7)) < 0.8
    pairs = known & (kin != 0)
    expected = roc_auc_score(kin[pairs] > 0, strength[pairs])
    assert kinship_auc(strength, kin, known) == pytest.approx(expected, abs=1e-12)


def test_auc_needs_both_kinds_of_pairs() -> None:
    assert kinship_auc(np.ones((2, 2)), kinship({1: [0]}, 2), np.ones((2, 2), dtype=bool)) is None


def test_an_energy_that_ties_parent_and_child_has_auc_one() -> None:
    energy = LabelEnergy(in_features=3, labels=7, global_hidden=len(PARENTS))
    with torch.no_grad():
        # Softplus is convex: a unit with negative weight that sees two labels favours both at once.
        energy.global_weight.fill_(0.0)
        for unit, (child, above) in enumerate(PARENTS.items()):
            energy.global_weight[[child, *above], unit] = 2.0
        energy.global_readout.fill_(-1.0)
    kin = kinship(PARENTS, 7)
    known = ~np.eye(7, dtype=bool)
    assert kinship_auc(-changes(energy, 7), kin, known) == 1.0
