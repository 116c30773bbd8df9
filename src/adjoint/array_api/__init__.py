"""The array API standard, version 2024.12, of tensors: `xp = x.__array_namespace__()`.

Arrays are plain tensors, and results keep their gradients. What torch's Tensor has under a name of the standard with
another meaning, such as the method `size`, stays torch's: see docs/array_api.md.

>>> import adjoint as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> xp = x.__array_namespace__()
>>> xp.sum(xp.multiply(x, x)).backward()
>>> x.grad
tensor([2., 4.])
"""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from .. import bool as bool
from .. import complex64 as complex64
from .. import complex128 as complex128
from .. import float32 as float32
from .. import float64 as float64
from .. import int8 as int8
from .. import int16 as int16
from .. import int32 as int32
from .. import int64 as int64
from .. import special as special  # no part of the standard yet: SciPy looks for its functions there
from .. import uint8 as uint8
from .. import uint16 as uint16
from .. import uint32 as uint32
from .. import uint64 as uint64
from . import fft as fft
from . import linalg as linalg
from ._arrangement import broadcast_arrays as broadcast_arrays
from ._arrangement import broadcast_to as broadcast_to
from ._arrangement import concat as concat
from ._arrangement import expand_dims as expand_dims
from ._arrangement import flip as flip
from ._arrangement import matrix_transpose as matrix_transpose
from ._arrangement import moveaxis as moveaxis
from ._arrangement import permute_dims as permute_dims
from ._arrangement import repeat as repeat
from ._arrangement import reshape as reshape
from ._arrangement import roll as roll
from ._arrangement import squeeze as squeeze
from ._arrangement import stack as stack
from ._arrangement import tile as tile
from ._arrangement import unstack as unstack
from ._creation import arange as arange
from ._creation import asarray as asarray
from ._creation import empty as empty
from ._creation import empty_like as empty_like
from ._creation import eye as eye
from ._creation import from_dlpack as from_dlpack
from ._creation import full as full
from ._creation import full_like as full_like
from ._creation import linspace as linspace
from ._creation import meshgrid as meshgrid
from ._creation import ones as ones
from ._creation import ones_like as ones_like
from ._creation import tril as tril
from ._creation import triu as triu
from ._creation import zeros as zeros
from ._creation import zeros_like as zeros_like
from ._elementwise import abs as abs
from ._elementwise import acos as acos
from ._elementwise import acosh as acosh
from ._elementwise import add as add
from ._elementwise import asin as asin
from ._elementwise import asinh as asinh
from ._elementwise import atan as atan
from ._elementwise import atan2 as atan2
from ._elementwise import atanh as atanh
from ._elementwise import bitwise_and as bitwise_and
from ._elementwise import bitwise_invert as bitwise_invert
from ._elementwise import bitwise_left_shift as bitwise_left_shift
from ._elementwise import bitwise_or as bitwise_or
from ._elementwise import bitwise_right_shift as bitwise_right_shift
from ._elementwise import bitwise_xor as bitwise_xor
from ._elementwise import ceil as ceil
from ._elementwise import clip as clip
from ._elementwise import conj as conj
from ._elementwise import copysign as copysign
from ._elementwise import cos as cos
from ._elementwise import cosh as cosh
from ._elementwise import divide as divide
from ._elementwise import equal as equal
from ._elementwise import exp as exp
from ._elementwise import expm1 as expm1
from ._elementwise import floor as floor
from ._elementwise import floor_divide as floor_divide
from ._elementwise import greater as greater
from ._elementwise import greater_equal as greater_equal
from ._elementwise import hypot as hypot
from ._elementwise import imag as imag
from ._elementwise import isfinite as isfinite
from ._elementwise import isinf as isinf
from ._elementwise import isnan as isnan
from ._elementwise import less as less
from ._elementwise import less_equal as less_equal
from ._elementwise import log as log
from ._elementwise import log1p as log1p
from ._elementwise import log2 as log2
from ._elementwise import log10 as log10
from ._elementwise import logaddexp as logaddexp
from ._elementwise import logical_and as logical_and
from ._elementwise import logical_not as logical_not
from ._elementwise import logical_or as logical_or
from ._elementwise import logical_xor as logical_xor
from ._elementwise import maximum as maximum
from ._elementwise import minimum as minimum
from ._elementwise import multiply as multiply
from ._elementwise import negative as negative
from ._elementwise import nextafter as nextafter
from ._elementwise import not_equal as not_equal
from ._elementwise import positive as positive
from ._elementwise import pow as pow
from ._elementwise import real as real
from ._elementwise import reciprocal as reciprocal
from ._elementwise import remainder as remainder
from ._elementwise import round as round
from ._elementwise import sign as sign
from ._elementwise import signbit as signbit
from ._elementwise import sin as sin
from ._elementwise import sinh as sinh
from ._elementwise import sqrt as sqrt
from ._elementwise import square as square
from ._elementwise import subtract as subtract
from ._elementwise import tan as tan
from ._elementwise import tanh as tanh
from ._elementwise import trunc as trunc
from ._info import __array_namespace_info__ as __array_namespace_info__
from ._products import matmul as matmul
from ._products import tensordot as tensordot
from ._products import vecdot as vecdot
from ._searching import argmax as argmax
from ._searching import argmin as argmin
from ._searching import argsort as argsort
from ._searching import nonzero as nonzero
from ._searching import searchsorted as searchsorted
from ._searching import sort as sort
from ._searching import take as take
from ._searching import take_along_axis as take_along_axis
from ._searching import unique_all as unique_all
from ._searching import unique_counts as unique_counts
from ._searching import unique_inverse as unique_inverse
from ._searching import unique_values as unique_values
from ._searching import where as where
from ._statistics import all as all
from ._statistics import any as any
from ._statistics import count_nonzero as count_nonzero
from ._statistics import cumulative_prod as cumulative_prod
from ._statistics import cumulative_sum as cumulative_sum
from ._statistics import diff as diff
from ._statistics import max as max
from ._statistics import mean as mean
from ._statistics import min as min
from ._statistics import prod as prod
from ._statistics import std as std
from ._statistics import sum as sum
from ._statistics import var as var
from ._types import astype as astype
from ._types import can_cast as can_cast
from ._types import finfo as finfo
from ._types import iinfo as iinfo
from ._types import isdtype as isdtype
from ._types import result_type as result_type

__array_api_version__ = "2024.12"
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")  # each holds what those before it do
newaxis = None
