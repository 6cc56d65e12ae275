"""Tasks: one folder for each kind of output, found through :mod:`lossnet.tasks.registry`."""

from functools import partial

from lossnet._lazy import submodule

__getattr__ = partial(submodule, __name__)
