"""Training: one loop, its steps, checkpoints and progress."""

from lossnet.training.callback import Callback, check_callbacks
from lossnet.training.checkpoint import Checkpoint, resume, save_checkpoint
from lossnet.training.convergence import Convergence
from lossnet.training.history_file import HistoryFile, write_history
from lossnet.training.loop import Trainer
from lossnet.training.predict import predict
from lossnet.training.processes import join
from lossnet.training.progress import (
    Duration,
    Progress,
    ProgressLines,
    reporters,
    show_progress,
)
from lossnet.training.source import Arrays, Source
from lossnet.training.step import build_optimiser, step
from lossnet.training.tensorboard import TensorBoard
from lossnet.training.time_limit import Stopwatch, TimeLimit

__all__ = [
    "Arrays",
    "Callback",
    "Checkpoint",
    "Convergence",
    "Duration",
    "HistoryFile",
    "Progress",
    "ProgressLines",
    "Source",
    "Stopwatch",
    "TensorBoard",
    "TimeLimit",
    "Trainer",
    "build_optimiser",
    "check_callbacks",
    "join",
    "predict",
    "reporters",
    "resume",
    "save_checkpoint",
    "show_progress",
    "step",
    "write_history",
]
