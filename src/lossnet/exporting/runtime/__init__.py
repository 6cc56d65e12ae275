"""The files of an exported folder: they run without lossnet, and import each other alone.

Each is copied as it is, so they need numpy and either onnxruntime or torch, nothing else.
"""
