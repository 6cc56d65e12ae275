"""Rules of schemes against every tag sequence of a length."""

from itertools import pairwise, product

import pytest

from lossnet.tasks.sequence.decoding import tag_rules
from lossnet.tasks.sequence.tags import from_spans, spans

TAGS = {
    "IOB2": ["B-A", "B-B", "I-A", "I-B", "O"],
    "BIOES": ["B-A", "E-A", "I-A", "I-B", "O", "S-A", "S-B"],
}


def allowed(numbers, rules) -> bool:
    steps = all(rules.follows[a, b] for a, b in pairwise(numbers))
    return bool(steps and rules.begins[numbers[0]] and rules.ends[numbers[-1]])


@pytest.mark.parametrize("scheme", TAGS)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_allows_just_the_sequences_that_spans_are_written_as(scheme, length) -> None:
    names = TAGS[scheme]
    rules = tag_rules(names, scheme)
    count = 0
    for numbers in product(range(len(names)), repeat=length):
        tags = [names[number] for number in numbers]
        whole = from_spans(spans(tags, scheme), length, scheme) == tags
        assert allowed(numbers, rules) == whole, tags
        count += whole
    assert 0 < count < len(names) ** length


@pytest.mark.parametrize("scheme", ["IOB1", "plain", None])
def test_other_schemes_have_no_rules(scheme) -> None:
    assert tag_rules(["I-A", "O"], scheme) is None
