"""Structured prediction with a learned loss."""

__version__ = "0.1.0"
