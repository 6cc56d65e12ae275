"""Tasks: one folder for each kind of output, found through :mod:`lossnet.tasks.registry`."""
