"""Recorded results, tables of them, and pictures; matplotlib is loaded only to draw."""

from lossnet.reports.history import draw_history
from lossnet.reports.page import MissingMatplotlibError
from lossnet.reports.pictures import draw_completions, draw_demo, draw_label_sets
from lossnet.reports.store import DamagedResultWarning, Run, find, has, path_of, record
from lossnet.reports.tables import summarise, table

__all__ = [
    "DamagedResultWarning",
    "MissingMatplotlibError",
    "Run",
    "draw_completions",
    "draw_demo",
    "draw_history",
    "draw_label_sets",
    "find",
    "has",
    "path_of",
    "record",
    "summarise",
    "table",
]
