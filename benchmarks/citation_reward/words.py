"""Words and patterns that tell the fields of a citation."""

from __future__ import annotations

import re

FIELDS = (
    "author", "booktitle", "date", "editor", "institution", "journal", "location", "note", "pages",
    "publisher", "tech", "title", "volume",
)  # fmt: skip


INITIAL = re.compile(r"[A-Z]\.?")
YEAR = re.compile(r"\(?(1[89]|20)\d\d[a-z]?\)?")
RANGE = re.compile(r"\d+[-–]+\d+")
ISSUE = re.compile(r"\(\d{1,4}\)")
NUMBER = re.compile(r"\d+")
STATE = re.compile(r"[A-Z]{2}\.?")
CODE = re.compile(r"(?=.*\d)(?=.*[A-Z])[\w\\/.-]{4,}|TR[-\d]*")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


MONTHS = _set(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec spring summer fall autumn winter"
)
PARTICLES = _set("de van von der den la le du auf di da et al jr ter")
ABBREVIATED = _set(
    "proc int intl conf symp trans tech vol pp dept univ comm math soc amer ed eds comput sci j "
    "rep no appl stat art intell engng eng res assoc natl rec select areas p syst theor"
)
JOURNAL = _set(
    "journal transactions trans communications comm letters review magazine mag annals bulletin "
    "acta quarterly j j."
)
BOOK = _set(
    "proceedings proc conference conf symposium symp workshop advances lecture lncs "
    "colloquium readings handbook congress"
)
PUBLISHER = _set(
    "press springer springer-verlag verlag kaufmann morgan-kaufmann wiley addison-wesley "
    "prentice-hall prentice elsevier north-holland mcgraw-hill kluwer publishers plenum benjamin "
    "birkhauser freeman publishing dover"
)
TECH = _set("report rep thesis dissertation memo memorandum tr manuscript preprint tech patent")
INSTITUTION = _set(
    "university univ institute department dept dept. laboratory laboratories labs lab school "
    "college universiteit universite universitat division corporation inria center centre"
)
NOTE = _set("appear submitted press preparation unpublished forthcoming reprinted available")
EDITOR = _set("editor editors eds eds. ed ed.")
PLACES = _set(
    "york cambridge boston washington san berlin london paris tokyo amsterdam sydney chicago "
    "seattle philadelphia pittsburgh stanford princeton heidelberg zurich vienna toronto montreal "
    "california massachusetts texas jersey illinois pennsylvania florida oregon colorado australia "
    "japan germany france england uk usa canada italy netherlands switzerland sweden denmark spain "
    "israel austria scotland finland norway china india u.s.a berkeley edinburgh oxford"
)
#: A comma before one of these ends a title.
BEHIND_TITLE = PUBLISHER | BOOK | TECH | JOURNAL | INSTITUTION | {"in", "in:", "ph.", "phd"}
