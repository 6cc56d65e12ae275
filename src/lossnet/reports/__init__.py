"""Recorded results, tables of them, and pictures; matplotlib is loaded only to draw."""

from lossnet.reports.curves import draw_refinement, draw_training_speed
from lossnet.reports.history import draw_history
from lossnet.reports.inference import InferenceGap, inference_gap, refinement_curve
from lossnet.reports.inference_training import draw_inference_training
from lossnet.reports.page import MissingMatplotlibError
from lossnet.reports.pictures import draw_completions, draw_demo, draw_label_sets
from lossnet.reports.segmentation import draw_refinement_frames, draw_segmentation
from lossnet.reports.store import DamagedResultWarning, Run, find, has, path_of, record
from lossnet.reports.tables import summarise, table

__all__ = [
    "DamagedResultWarning",
    "InferenceGap",
    "MissingMatplotlibError",
    "Run",
    "draw_completions",
    "draw_demo",
    "draw_history",
    "draw_inference_training",
    "draw_label_sets",
    "draw_refinement",
    "draw_refinement_frames",
    "draw_segmentation",
    "draw_training_speed",
    "find",
    "has",
    "inference_gap",
    "path_of",
    "record",
    "refinement_curve",
    "summarise",
    "table",
]
