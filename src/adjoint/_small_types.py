"""Names of element types that no tensor here has, which tables of programs mention: quantized and packed numbers."""

from . import _C

globals().update(_C._named_types())
