"""Made-up news with several labels each, for examples and tests without a download."""

from __future__ import annotations

import random
from typing import TypedDict

_TOPICS = {
    "wheat": "wheat flour winter protein bread",
    "corn": "corn maize feed ethanol acre",
    "crude": "crude barrel oil refinery opec",
    "gas": "gas pipeline heating cubic lng",
    "gold": "gold ounce mine bullion reef",
    "interest": "interest loan discount lending mortgage",
    "money": "dollar yen intervention currency exchange",
}
#: A topic's label implies these.
_ABOVE = {
    "wheat": "grain",
    "corn": "grain",
    "crude": "energy",
    "gas": "energy",
    "interest": "money",
}
_COMMON = "the said year market prices analysts week company report expected rose fell new output"


class News(TypedDict):
    """A text and its labels, as in a line of a JSONL file."""

    text: str
    labels: list[str]


def tiny_news(rows: int = 400, seed: int = 0) -> list[News]:
    """News of one or two topics: 12 words, a quarter of them the topics' own.

    >>> sorted(tiny_news(1)[0])
    ['labels', 'text']
    """
    rng = random.Random(seed)
    made: list[News] = []
    for _ in range(rows):
        topics = rng.sample(sorted(_TOPICS), rng.choice((1, 1, 2)))
        mentioned = [rng.choice(topics) for _ in range(4)] + [rng.choice(sorted(_TOPICS))]
        words = [rng.choice(_TOPICS[topic].split()) for topic in mentioned]
        words += rng.choices(_COMMON.split(), k=5)
        rng.shuffle(words)
        labels = {*topics, *(_ABOVE[topic] for topic in topics if topic in _ABOVE)}
        made.append({"text": " ".join(words), "labels": sorted(labels)})
    return made
