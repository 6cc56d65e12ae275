"""Trained models as folders that run without lossnet: by onnxruntime and numpy, or by torch."""

from lossnet.exporting.folder import FORMATS, check_can_write, write
from lossnet.exporting.spec import Exported, Input, runtime_files

__all__ = ["FORMATS", "Exported", "Input", "check_can_write", "runtime_files", "write"]
