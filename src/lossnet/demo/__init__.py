"""The demonstration: what a learned loss does on two small tasks, in minutes."""

from lossnet.demo.plan import ATTRIBUTES, BASELINE, COMPLETION, REFINED, Entry, Task
from lossnet.demo.run import Outcome, run_task
from lossnet.demo.verdict import verdict

__all__ = [
    "ATTRIBUTES",
    "BASELINE",
    "COMPLETION",
    "REFINED",
    "Entry",
    "Outcome",
    "Task",
    "run_task",
    "verdict",
]
