"""Flags of libraries that PyTorch computes with: kept for programs that set them, and most without effect here.

`fp32_precision` is what libraries go by that have none of their own: "tf32" lets products of float32 round on a GPU.
"""

import sys as _sys
from types import ModuleType as _ModuleType

from . import _flags
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

    fp32_precision = _flags.precision("generic")


fp32_precision: str
_module = _sys.modules[__name__]
_module.__class__ = _Backends


def set_flags(_fp32_precision="none"):
    """Sets the precision; returns what it was, in a tuple.

    >>> import adjoint as torch
    >>> torch.backends.set_flags("none")
    ('none',)
    """
    return _flags.set_all(_module, fp32_precision=_fp32_precision)


def flags(fp32_precision="none"):
    """A context in which the precision is this one.

    >>> import adjoint as torch
    >>> with torch.backends.flags("ieee"):
    ...     torch.backends.cudnn.conv.fp32_precision
    'ieee'
    """
    return _flags.within(_module, fp32_precision=fp32_precision)


def disable_global_flags():
    """Flags are set by the contexts flags() of their modules alone from now on; to set one itself is an error."""
    _flags.freeze()


def flags_frozen():
    """Whether disable_global_flags() was called.

    >>> import adjoint as torch
    >>> torch.backends.flags_frozen()
    False
    """
    return _flags.frozen()
