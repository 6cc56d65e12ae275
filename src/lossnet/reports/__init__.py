"""Recorded results, tables of them, and pictures; matplotlib is loaded only to draw."""

from lossnet.reports.curves import draw_refinement, draw_training_speed
from lossnet.reports.history import draw_history
from lossnet.reports.inference_training import draw_inference_training
from lossnet.reports.store import DamagedResultWarning, Run, find, get, has, path_of, record
from lossnet.reports.tables import summarise, table

__all__ = [
    "DamagedResultWarning",
    "Run",
    "draw_history",
    "draw_inference_training",
    "draw_refinement",
    "draw_training_speed",
    "find",
    "get",
    "has",
    "path_of",
    "record",
    "summarise",
    "table",
]
