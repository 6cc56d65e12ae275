"""Small sentences with roles that the tests share."""

from __future__ import annotations

import numpy as np

from lossnet.tasks.roles import RoleData

#: Two sentences of PropBank's form: one with two predicates, one without any.
GOLD = """\
d.xml\t0\t0\tI\tPRP\t(TOP(S(NP*)\t-\t-\t(ARG0*)\t(ARG0*)
d.xml\t0\t1\twant\tVBP\t(VP*\twant\twant.01\t(V*)\t*
d.xml\t0\t2\tto\tTO\t(S(VP*\t-\t-\t(ARG1*\t*
d.xml\t0\t3\tgive\tVB\t(VP*\tgive\tgive.08\t*\t(V*
d.xml\t0\t4\tup\tRP\t*))))))\t-\t-\t*)\t*)

d.xml\t1\t0\tOh\tUH\t(TOP(INTJ*)\t-\t-
d.xml\t1\t1\t.\t.\t*)\t-\t-

d.xml\t2\t0\tDogs\tNNS\t(TOP(S(NP*)\t-\t-\t(ARG0*)
d.xml\t2\t1\tbark\tVBP\t(VP*)))\tbark\tbark.01\t(V*)

"""
LINES = """\
2 the dog barks ||| B-ARG0 I-ARG0 B-V
1 I want to give up ||| B-ARG0 B-V B-ARG1 I-ARG1 I-ARG1
3 I want to give up ||| B-ARG0 O O B-V I-V
"""
_PEOPLE = [["the", "dog"], ["a", "cat"], ["Ann"], ["Bob", "and", "Eve"]]
_VERBS = [["sees"], ["likes"], ["gives", "up"]]


def small_roles(count: int = 24, seed: int = 0) -> RoleData:
    """Predicates that someone does to someone."""
    rng = np.random.default_rng(seed)
    words, predicates, tags = [], [], []
    for _ in range(count):
        who, whom = (_PEOPLE[rng.integers(4)] for _ in range(2))
        verb = _VERBS[rng.integers(3)]
        words.append([*who, *verb, *whom, "."])
        predicates.append(len(who))
        tags.append([*_span("ARG0", who), *_span("V", verb), *_span("ARG1", whom), "O"])
    return RoleData.of(words, predicates, tags)


def _span(role: str, words: list[str]) -> list[str]:
    return [f"B-{role}", *[f"I-{role}"] * (len(words) - 1)]
