"""Structure around trees: exact match of a forest with and without the joint of its labels.

    python examples/around_trees.py

Extremely randomised trees give a probability for every attribute of a digit. The wrapper learns
which attributes go together from their out-of-fold probabilities, and decides label sets as a
whole. The picture ``label_sets.png`` counts test digits by how many of their labels are wrong.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from lossnet import StructuredClassifier
from lossnet.tasks.multilabel import contradicts, load_splits

parts = load_splits("digits-attributes")
test = parts.test
clf = StructuredClassifier(ExtraTreesClassifier(100), max_epochs=30, random_state=0)
clf.fit(parts.train.X, parts.train.Y)

predictions = {
    "trees, threshold tuned": (clf.predict_proba(test.X) >= clf.threshold_).astype(int),
    "structured": clf.predict(test.X),
}
print(clf.decision_.words)
for name, predicted in predictions.items():
    right = (predicted == test.Y).all(1).mean()
    impossible = contradicts(predicted).mean()
    print(
        f"test, {name}: exact match {right:.1%}, sets that contradict themselves {impossible:.1%}"
    )
print(clf.structure_gain(test.X, test.Y))

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for shift, (name, predicted) in zip((-0.2, 0.2), predictions.items(), strict=True):
    wrong = np.bincount((predicted != test.Y).sum(1).astype(int), minlength=6)
    axes.bar(np.arange(len(wrong)) + shift, wrong, width=0.4, label=name)
axes.set(xlabel="wrong labels of a digit", ylabel="test digits")
axes.legend()
figure.savefig("label_sets.png", dpi=120)
