"""Kernels for quantized numbers: there are none."""

engine = "none"
supported_engines = ["none"]
