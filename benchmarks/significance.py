"""How often ``lossnet compare`` is wrong about a difference, and how often it finds one:

    OMP_NUM_THREADS=1 python benchmarks/significance.py --comparisons 200

Scores are simulated: examples differ in difficulty, seeds in luck, and every run errs in its own
way. "Called different" counts comparisons of a method with itself under other seeds. "Found" counts
comparisons with a method that is better by one deviation of the paired difference, the standard
deviation over seeds of the difference of two runs. The limits are 16 of 200 and, with 10 seeds and
one method, 70 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lossnet.comparison.significance import differences

#: Scores by seed.
Runs = dict[int, np.ndarray]
#: Of comparisons of a method with itself, the most that may be called different.
CALLED = 16 / 200
#: Of true differences with ten seeds, the least to be found.
FOUND = 0.7


@dataclass(frozen=True)
class World:
    """Runs to draw: the score of example i under seed s is q_i + a_s + e_si, or its sign.

    Args:
        seeds: number of seeds.
        examples: number of examples.
        seed: deviation of a_s, where those of q_i and e_si are 1.
        graded: whether scores are the sums; otherwise 1 where the sum is above 0, else 0.
        shared: correlation of a_s between the two methods under one seed.
        alike: correlation of a_s among the seeds of one method: not independent, so no test is
            right; it shows what that does.
        methods: number of methods that are compared with the baseline.
        limited: whether the limits apply.
    """

    seeds: int
    examples: int = 300
    seed: float = 0.1
    graded: bool = True
    shared: float = 0.0
    alike: float = 0.0
    methods: int = 1
    limited: bool = True

    def runs(
        self, draw: np.random.Generator, gain: float = 0.0
    ) -> dict[str, dict[int, np.ndarray]]:
        """Scores by method and seed, the baseline's first; the others are better by ``gain``."""
        difficulty = draw.normal(0.5, 1.0, self.examples)
        common = draw.normal(size=self.seeds)
        found = {}
        for k in range(self.methods + 1):
            own = draw.normal(size=self.seeds)
            luck = math.sqrt(self.shared) * common + math.sqrt(1 - self.shared) * own
            luck = math.sqrt(self.alike) * draw.normal() + math.sqrt(1 - self.alike) * luck
            sums = difficulty + self.seed * luck[:, None]
            sums = sums + draw.normal(size=(self.seeds, self.examples)) + gain * (k > 0)
            scores = sums if self.graded else (sums > 0).astype(float)
            found[f"method {k}"] = dict(enumerate(scores))
        return found

    def gain(self, draw: np.random.Generator) -> float:
        """What raises the mean score by one deviation of the paired difference."""
        pairs = World(2000, self.examples, self.seed, self.graded, self.shared).runs(draw)
        first, second = (np.stack(list(scores.values())).mean(1) for scores in pairs.values())
        deviation = float((second - first).std(ddof=1))
        if self.graded:
            return deviation
        total = 2.0 + self.seed**2
        slope = math.exp(-(0.5**2) / (2 * total)) / math.sqrt(2 * math.pi * total)
        return deviation / slope


WORLDS = {
    "1 seed, no seed effect": World(1, seed=0.0),
    "1 seed, examples only": World(1, limited=False),
    "2 seeds": World(2),
    "3 seeds": World(3),
    "5 seeds": World(5),
    "10 seeds": World(10),
    "10 seeds, right or wrong": World(10, graded=False),
    "10 seeds, 30 examples": World(10, 30),
    "10 seeds, no seed effect": World(10, seed=0.0),
    "10 seeds, large seed effect": World(10, seed=1.0),
    "3 seeds, right or wrong": World(3, graded=False),
    "3 seeds, large seed effect": World(3, seed=1.0),
    "10 paired seeds that correlate": World(10, shared=0.8),
    "5 methods, 10 seeds": World(10, methods=5),
    "seeds not independent (0.3)": World(10, alike=0.3, limited=False),
}


def rates(world: World, comparisons: int, draw: np.random.Generator) -> tuple[float, float]:
    """Share of comparisons that call equal methods different, and that find a true difference.

    Of several methods: that call any of them different, and that find a given one.
    """
    gain = world.gain(draw)
    called = found = 0
    for _ in range(comparisons):
        same = differences(world.runs(draw), "method 0")
        called += any(one.real for one in same.values())
        better = differences(world.runs(draw, gain), "method 0")["method 1"]
        found += better.real and better.mean > 0
    return called / comparisons, found / comparisons


def measure(comparisons: int, seed: int) -> Iterator[tuple[str, float, float, str]]:
    """Each world's name, its rates, and which limit they miss; may be empty."""
    draw = np.random.default_rng(seed)
    for name, world in WORLDS.items():
        called, found = rates(world, comparisons, draw)
        missed = []
        if world.limited and called > CALLED:
            missed.append(f"called different above {CALLED:.0%}")
        if world.limited and world.seeds >= 10 and world.methods == 1 and found < FOUND:
            missed.append(f"found below {FOUND:.0%}")
        yield name, called, found, ", ".join(missed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rates; 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{'':32s} {'called different':>16s} {'found':>7s}")
    missed = False
    for name, called, found, limit in measure(given.comparisons, given.seed):
        missed |= bool(limit)
        print(f"{name:32s} {called:16.1%} {found:7.1%}  {limit}".rstrip())
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
