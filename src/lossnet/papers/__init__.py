"""The papers' tables and figures: their numbers as printed, and what runs them again.

``lossnet reproduce`` runs them. One file per paper holds the tables as data
(:mod:`~lossnet.papers.seal`, :mod:`~lossnet.papers.implicit`, :mod:`~lossnet.papers.infnet`,
:mod:`~lossnet.papers.alen`); nothing in here imports torch before something is fitted.
"""

from __future__ import annotations

from lossnet.errors import unknown
from lossnet.papers import alen, figures, implicit, infnet, seal
from lossnet.papers.table import Figure, Table

PAPERS = (seal, implicit, infnet, alen)
TABLES: dict[str, Table] = {table.name: table for paper in PAPERS for table in paper.TABLES}
FIGURES: dict[str, Figure] = {figure.name: figure for figure in figures.FIGURES}


def entry(name: str) -> Table | Figure:
    """The table or figure of that name."""
    known: dict[str, Table | Figure] = {**TABLES, **FIGURES}
    if name not in known:
        raise unknown("table or figure", name, known)
    return known[name]
