"""Flags of libraries that PyTorch computes with: kept for programs that set them, and most without effect here.

`fp32_precision` is what libraries go by that have none of their own: "tf32" lets products of float32 round on a GPU.
"""

import sys as _sys
from types import ModuleType as _ModuleType

from . import _precision
from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
from . import cusparselt as cusparselt
from . import kleidiai as kleidiai
from . import mha as mha
from . import miopen as miopen
from . import mkl as mkl
from . import mkldnn as mkldnn
from . import mps as mps
from . import nnpack as nnpack
from . import openmp as openmp
from . import opt_einsum as opt_einsum
from . import quantized as quantized
from . import xnnpack as xnnpack


class _Backends(_ModuleType):
    """The module, whose precision the libraries are told."""

    fp32_precision = _precision.on_module("generic")


fp32_precision: str
_sys.modules[__name__].__class__ = _Backends
