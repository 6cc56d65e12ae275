"""Recorded results, tables of them, and pictures; matplotlib is loaded only to draw."""

from lossnet.reports.store import DamagedResultWarning, Run, find, has, path_of, record
from lossnet.reports.tables import summarise, table

__all__ = [
    "DamagedResultWarning",
    "Run",
    "find",
    "has",
    "path_of",
    "record",
    "summarise",
    "table",
]
