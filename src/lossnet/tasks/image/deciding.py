"""Decisions of :class:`~lossnet.ImageSegmenter`: which pixels to take for the highest IoU.

With independent pixels of probabilities p, the k most probable ones have an expected IoU of about

    E|A and Y| / E|A or Y| = Σ_{i ≤ k} p_i / (k + Σ_{i > k} p_i),

which is never above the exact one of :func:`~lossnet.decisions.best_jaccard` and close to it where
pixels are many. Of all images together (``"global-iou"``) a pixel is taken where p exceeds
J / (1 + J), J being the IoU that is reached: a threshold, to be chosen on validation data.

A class of several wins by being the most probable one whatever their temperature, so with more
than two classes argmax stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch

from lossnet.decisions import temper
from lossnet.exporting.runtime.pixels import best_ratio
from lossnet.method import Method
from lossnet.tasks.decision import Decision, tempered_trials
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.image.metrics import foreground_counts, image_ious

#: Of a threshold for all images: with IoUs from 0 to 1 it lies between 0 and 1/2.
THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.35, 0.45, 0.5, 0.4)


class PixelDecisions(StructuredEstimator):
    """The rules that masks are decided by."""

    rule_needs: ClassVar[Mapping[str, str]] = {
        "expected": "two classes, the metric mean-iou or global-iou, and a method that predicts "
        "with the task-net alone",
        "samples": "labels or tags; for images see refine",
        "mode": "labels or tags; for images see refine",
    }
    classes_: list[str]

    def _discrete(self, outputs: np.ndarray) -> np.ndarray:
        """The class of every pixel, ``(n, H, W)``."""
        found = outputs >= 0.5 if len(self.classes_) == 2 else outputs.argmax(-1)
        classes: np.ndarray = found.astype(np.int64)
        return classes

    def _rules_for(self, method: Method, *, named: bool) -> list[str]:
        two = len(getattr(self, "classes_", (0, 1))) == 2  # unknown before fit
        suits = self.metric in ("mean-iou", "global-iou")
        return ["expected"] if two and suits and method.task_net_predicts else []

    def _trials_of(self, rule: str) -> list[Decision]:
        if self.metric == "global-iou":
            return [Decision(rule, offset=float(np.log(1 / t - 1))) for t in THRESHOLDS]
        return tempered_trials(rule)

    def _decide(self, decision: Decision, data: Any) -> np.ndarray:
        p = self._once("outputs", lambda: self._outputs(self._proposal(), data))
        raw = torch.as_tensor(p)
        p = temper(raw, decision.temperature, offset=decision.offset).numpy()
        taken = p >= 0.5 if self.metric == "global-iou" else best_ratio(p)
        found: np.ndarray = taken.astype(np.int64)
        return found

    def _statistics(self, data: Any, discrete: np.ndarray) -> np.ndarray:
        if self.metric == "global-iou":
            return foreground_counts(data.masks, discrete)
        return image_ious(data.masks, discrete)[:, None]

    def _metric_of(self, means: np.ndarray) -> float:
        if self.metric == "global-iou":
            return float(means[0] / means[1]) if means[1] else 1.0
        return float(means[0])
