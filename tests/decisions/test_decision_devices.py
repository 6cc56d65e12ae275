"""Decisions on another device than the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from lossnet import decisions
from lossnet.spaces import Binary, Categorical

sys.path.insert(0, str(Path(__file__).parents[1]))
from pretend_device import pretend_device


def decide(device: torch.device | str) -> list[torch.Tensor]:
    """Every decision on one device, moved to the CPU."""
    draw = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 4, generator=draw).to(device)
    tags = torch.randn(6, 2, 3, generator=draw).to(device)
    y = (torch.rand(9, 6, 4, generator=draw) < 0.4).to(device)
    log_w = torch.randn(9, 6, generator=draw).to(device)
    w, size = decisions.self_normalised(log_w)
    chosen = decisions.minimum_risk(y, y, w, lambda t, p: (t & p).sum(-1).to(w.dtype))
    by_rows = decisions.of_rows(lambda t, p: float((t & p).sum()))
    every, log_p = decisions.enumerated(
        Binary(), (6, 4), lambda y: Binary().log_prob(logits, y), device=device
    )
    space = Categorical()
    found = [
        w,
        size,
        decisions.marginals(y, w),
        decisions.most_probable(y, log_w),
        decisions.best_f(decisions.temper(torch.sigmoid(logits), 2.0)),
        decisions.best_jaccard(torch.sigmoid(logits)),
        decisions.best_f_of_samples(y, w),
        chosen,
        decisions.minimum_risk(y, y, w, by_rows),
        decisions.best_f_of_samples(every, log_p.exp()),
        decisions.local_search(lambda y: Binary().log_prob(logits, y), y[0]),
        decisions.local_search(lambda y: space.log_prob(tags, y), space.decode(-tags), space=space),
    ]
    return [one.cpu() for one in found]


def test_every_decision_stays_on_its_device() -> None:
    with pretend_device() as device:
        there = decide(device)
    for own, other in zip(decide("cpu"), there, strict=True):
        torch.testing.assert_close(own, other)
