"""The reward of citation fields: its formula, its decoding, and what single rules say."""

import itertools

import pytest
import torch
from citation_reward import CitationReward
from citation_reward.layout import Citation
from citation_reward.rules import RULES, joined
from citation_reward.words import FIELDS

from lossnet.errors import SettingError

BOOK, ARTICLE, REPORT, MONOGRAPH, CHAPTER = (
    text.split()
    for text in (
        "C. Rosene and A. B. Li . On the time of hashing . In Proceedings of the Third Workshop "
        "on Keys , pages 12-24 , San Jose , CA , May 1993 .",
        "Horn , B. , & Li , A. (1986) . Robot vision . Acta Optica , 12 (3) , 55-64 .",
        "P. Ko , `` A , or B , '' Technical Report CS-94-1 , Rice University , to appear .",
        "A. Li . Logic . Prentice Hall , Boston , MA , 1990 .",
        "A. Li . Logic . In B. Ko , editor , Reasoning , J. of Logic , vol . 3 , 1990 .",
    )
)


def fields(tokens: list[str]) -> dict[str, str]:
    """The text of every field that the rules find, joined."""
    (tags,) = CitationReward().decode([tokens])
    found: dict[str, str] = {}
    for tag, token in zip(tags, tokens, strict=True):
        found[tag] = f"{found[tag]} {token}" if tag in found else token
    return found


def test_a_paper_in_a_book() -> None:
    assert fields(BOOK) == {
        "author": "C. Rosene and A. B. Li .",
        "title": "On the time of hashing .",
        "booktitle": "In Proceedings of the Third Workshop on Keys ,",
        "pages": "pages 12-24 ,",
        "location": "San Jose , CA ,",
        "date": "May 1993 .",
    }


def test_an_article() -> None:
    assert fields(ARTICLE) == {
        "author": "Horn , B. , & Li , A.",
        "date": "(1986) .",
        "title": "Robot vision .",
        "journal": "Acta Optica ,",
        "volume": "12 (3) ,",
        "pages": "55-64 .",
    }


def test_a_report() -> None:
    assert fields(REPORT) == {
        "author": "P. Ko ,",
        "title": "`` A , or B , ''",
        "tech": "Technical Report CS-94-1 ,",
        "institution": "Rice University ,",
        "note": "to appear .",
    }


def by_loops(tokens: list[str], soft: torch.Tensor, continuity: float) -> float:
    citation, together = Citation.of(tokens), joined(tokens)
    votes = [[0.0] * len(FIELDS) for _ in tokens]
    for rule, weight in RULES.items():
        for start, stop, names in rule(citation):
            for t in range(start, min(stop, len(tokens))):
                for name in names:
                    votes[t][FIELDS.index(name)] += weight
    agreed = most = 0.0
    for t in range(len(tokens)):
        agreed += sum(v * float(p) for v, p in zip(votes[t], soft[t], strict=True))
        most += max(votes[t])
        if together[t]:
            agreed += continuity * float(soft[t] @ soft[t - 1])
            most += continuity
    return agreed / most


@pytest.mark.parametrize("continuity", [0.0, 0.5, 2.0])
def test_the_reward_is_its_formula(continuity) -> None:
    tokens = [BOOK, ARTICLE, REPORT]
    generator = torch.Generator().manual_seed(0)
    soft = torch.rand((3, max(map(len, tokens)), 13), generator=generator).double()
    for row, own in enumerate(tokens):
        soft[row, len(own) :] = 0.0
    soft = soft / soft.sum(-1, keepdim=True).clamp_min(1e-9)
    found = CitationReward(continuity=continuity)(tokens, soft)
    for row, own in enumerate(tokens):
        expected = by_loops(own, soft[row, : len(own)], continuity)
        assert float(found[row]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("tokens", ["A. Li . 1992", "A. , vol 5", "May pp 3"])
def test_decoding_finds_the_highest_reward(tokens) -> None:
    sentence = tokens.split()
    every = list(itertools.product(range(13), repeat=len(sentence)))
    one_hot = torch.eye(13)[torch.tensor(every)]
    reward = CitationReward()
    rewards = reward([sentence] * len(every), one_hot)
    best = torch.eye(13)[[FIELDS.index(tag) for tag in reward.decode([sentence])[0]]]
    assert float(reward([sentence], best[None])[0]) == pytest.approx(float(rewards.max()), abs=1e-6)
    assert 0.0 <= float(rewards.min()) <= float(rewards.max()) <= 1.0 + 1e-6


def test_tags_may_come_in_any_order() -> None:
    other = CitationReward(tags=FIELDS[::-1])
    assert other.decode([BOOK]) == CitationReward().decode([BOOK])
    soft = torch.rand(1, len(BOOK), 13, generator=torch.Generator().manual_seed(1)).softmax(-1)
    torch.testing.assert_close(other([BOOK], soft.flip(-1)), CitationReward()([BOOK], soft))


def test_every_rule_speaks_on_some_citation_and_stays_inside() -> None:
    silent = set(RULES)
    for tokens in [BOOK, ARTICLE, REPORT, MONOGRAPH, CHAPTER, ["Li"], ["."], ["``", "''"]]:
        for rule in RULES:
            for vote in rule(Citation.of(tokens)):
                assert 0 <= vote.start <= vote.stop
                assert set(vote.fields) <= set(FIELDS)
                silent.discard(rule)
    assert not {rule.__doc__ for rule in silent}


def test_bad_settings() -> None:
    with pytest.raises(SettingError, match=r"continuity is -1; give 0 or more"):
        CitationReward(continuity=-1)
    with pytest.raises(SettingError, match=r"differ from a citation's fields in \['chapter'\]"):
        CitationReward(tags=[*FIELDS, "chapter"])
