"""NumPy's functions of tensors: what `Tensor.__array_function__` does.

Of tensors without gradients they give what they give of torch's: NumPy's own code runs, on the tensors' memory. Where
that would have to leave a gradient behind, which torch refuses, the functions here compute with tensors instead. So do
reductions and a few more, which torch refuses in any case. Ufuncs (`np.sin`) are left to NumPy: who takes them over
answers for `np.float64(2) * x`, too, and cannot tell that from `np.multiply`, whose result has another type in torch.
"""

import inspect
import threading

import numpy as np

from . import _C, array_api
from ._C import Tensor
from .array_api._types import is_number, torch

REFUSAL = "Can't call numpy() on Tensor that requires grad."
_inside = threading.local()


def dispatch(function, types, args, kwargs):
    """The result of a NumPy function of tensors; NotImplemented where another type has the say."""
    found = list(_tensors((args, kwargs)))
    run = getattr(function, "_implementation", None)
    if run is None or not found or not all(issubclass(one, Tensor | np.ndarray) for one in types):
        return NotImplemented  # without a tensor among the arguments, one came by `like=`
    name = f"{function.__module__}.{function.__name__}"
    ours = FUNCTIONS.get(name)
    if getattr(_inside, "running", False):
        return run(*args, **kwargs)
    if name in ALWAYS:
        return _with_tensors(name, ours, args, kwargs)
    if not (_C.is_grad_enabled() and any(x.requires_grad for x in found)):
        return run(*args, **kwargs)
    _inside.running = True
    try:
        return run(*args, **kwargs)
    except RuntimeError as error:
        if not str(error).startswith(REFUSAL):
            raise
    finally:
        _inside.running = False
    if ours is None:
        raise RuntimeError(
            f"{REFUSAL} Use tensor.detach().numpy() instead. {name.replace('numpy', 'np', 1)}() has no form that keeps "
            "gradients: write it with functions of torch, or detach what needs none."
        )
    return _with_tensors(name, ours, args, kwargs)


def _tensors(value):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _with_tensors(name, ours, args, kwargs):
    given = {key: value for key, value in kwargs.items() if value is not np._NoValue and not _is_default(key, value)}
    args = [None if value is np._NoValue else value for value in args]
    try:
        inspect.signature(ours).bind(*args, **given)
    except TypeError as error:
        shown = name.replace("numpy", "np", 1)
        raise TypeError(
            f"{shown}(): of tensors, {error}; expected {ours.__name__}{inspect.signature(ours)}; convert them with "
            "tensor.detach().numpy() where no gradient is needed"
        ) from None
    return ours(*args, **given)


def _is_default(key, value):
    """Options that say nothing: NumPy's own functions hand them on."""
    return (key in ("out", "dtype", "where", "initial") and value is None) or (key == "where" and value is True)


def _tensor(value):
    return value if isinstance(value, Tensor) else array_api.asarray(np.array(value))


def _all(values):
    """Tensors of the type that NumPy promotes to, from tensors, arrays, lists and numbers."""
    return _of_one_type([_tensor(value) for value in values])


def _of_one_type(values):
    """Tensors of the type that NumPy promotes to; numbers among them take the type of the others."""
    types = [value.dtype if isinstance(value, Tensor) else value for value in values]
    try:
        dtype = _type(
            np.result_type(*(str(one).removeprefix("torch.") if isinstance(one, _C.dtype) else one for one in types))
        )
    except TypeError:  # bfloat16, of which NumPy knows nothing
        dtype = array_api.result_type(*types)
    return [_C.tensor(one, dtype=dtype) if is_number(one) else one.to(dtype) for one in values]


def operands(a, b):
    """A tensor and an array as tensors of the type that NumPy promotes to; called by operators."""
    return tuple(_all((a, b)))


FUNCTIONS = {}
ALWAYS = {"numpy.sum", "numpy.prod", "numpy.mean", "numpy.std", "numpy.var", "numpy.max", "numpy.min"}
ALWAYS |= {"numpy.amax", "numpy.amin", "numpy.any", "numpy.all", "numpy.flip", "numpy.moveaxis"}


def numpys(*names):
    """Enters a function under its names in NumPy."""

    def enter(function):
        FUNCTIONS.update((f"numpy.{name}", function) for name in names)
        return function

    return enter


@numpys("sum")
def sum(a, axis=None, dtype=None, *, keepdims=False):
    return array_api.sum(_tensor(a), axis=axis, dtype=_type(dtype), keepdims=keepdims)


@numpys("prod")
def prod(a, axis=None, dtype=None, *, keepdims=False):
    return array_api.prod(_tensor(a), axis=axis, dtype=_type(dtype), keepdims=keepdims)


@numpys("mean")
def mean(a, axis=None, *, keepdims=False):
    return array_api.mean(_tensor(a), axis=axis, keepdims=keepdims)


@numpys("std")
def std(a, axis=None, *, ddof=0, correction=None, keepdims=False):
    correction = ddof if correction is None else correction
    return array_api.std(_tensor(a), axis=axis, correction=correction, keepdims=keepdims)


@numpys("var")
def var(a, axis=None, *, ddof=0, correction=None, keepdims=False):
    correction = ddof if correction is None else correction
    return array_api.var(_tensor(a), axis=axis, correction=correction, keepdims=keepdims)


@numpys("max", "amax")
def max(a, axis=None, *, keepdims=False):
    return array_api.max(_tensor(a), axis=axis, keepdims=keepdims)


@numpys("min", "amin")
def min(a, axis=None, *, keepdims=False):
    return array_api.min(_tensor(a), axis=axis, keepdims=keepdims)


@numpys("any")
def any_(a, axis=None, *, keepdims=False):
    return array_api.any(_tensor(a), axis=axis, keepdims=keepdims)


@numpys("all")
def all_(a, axis=None, *, keepdims=False):
    return array_api.all(_tensor(a), axis=axis, keepdims=keepdims)


def _type(dtype):
    """The type that NumPy's stands for."""
    return None if dtype is None else dtype if isinstance(dtype, _C.dtype) else _C.from_numpy(np.empty(0, dtype)).dtype


# ---- joined and rearranged


@numpys("concatenate", "concat")
def concatenate(arrays, axis=0):
    return array_api.concat(_all(arrays), axis=axis)


@numpys("stack")
def stack(arrays, axis=0):
    return torch.stack(_all(arrays), axis)


@numpys("vstack")
def vstack(tup):
    return torch.vstack(_all(tup))


@numpys("hstack")
def hstack(tup):
    return torch.hstack(_all(tup))


@numpys("dstack")
def dstack(tup):
    return torch.dstack(_all(tup))


@numpys("column_stack")
def column_stack(tup):
    return torch.column_stack(_all(tup))


@numpys("append")
def append(arr, values, axis=None):
    return array_api.concat([_tensor(arr), _tensor(values)], axis=axis)


@numpys("where")
def where(condition, x=None, y=None):
    if x is None or y is None:
        return array_api.nonzero(_tensor(condition))
    return torch.where(
        _tensor(condition) != 0, *_of_one_type([one if is_number(one) else _tensor(one) for one in (x, y)])
    )


@numpys("broadcast_to")
def broadcast_to(array, shape):
    return array_api.broadcast_to(_tensor(array), (shape,) if isinstance(shape, int) else shape)


@numpys("broadcast_arrays")
def broadcast_arrays(*args):
    return tuple(torch.broadcast_tensors(*map(_tensor, args)))


@numpys("meshgrid")
def meshgrid(*xi, indexing="xy"):
    return array_api.meshgrid(*(_tensor(x).reshape(-1) for x in xi), indexing=indexing)


@numpys("atleast_1d")
def atleast_1d(*arys):
    return torch.atleast_1d(*map(_tensor, arys))


@numpys("atleast_2d")
def atleast_2d(*arys):
    return torch.atleast_2d(*map(_tensor, arys))


@numpys("atleast_3d")
def atleast_3d(*arys):
    return torch.atleast_3d(*map(_tensor, arys))


@numpys("expand_dims")
def expand_dims(a, axis):
    a = _tensor(a)
    axes = (axis,) if isinstance(axis, int) else axis
    for place in sorted(one % (a.ndim + len(axes)) for one in axes):
        a = a.unsqueeze(place)
    return a


@numpys("moveaxis")
def moveaxis(a, source, destination):
    return torch.moveaxis(_tensor(a), source, destination)


@numpys("flip")
def flip(m, axis=None):
    return array_api.flip(_tensor(m), axis=axis)


@numpys("roll")
def roll(a, shift, axis=None):
    return array_api.roll(_tensor(a), shift, axis=axis)


@numpys("repeat")
def repeat(a, repeats, axis=None):
    return array_api.repeat(_tensor(a), repeats if isinstance(repeats, int) else _tensor(repeats), axis=axis)


@numpys("tile")
def tile(A, reps):
    return array_api.tile(_tensor(A), (reps,) if isinstance(reps, int) else reps)


@numpys("take")
def take(a, indices, axis=None):
    a = _tensor(a)
    return array_api.take(a.reshape(-1) if axis is None else a, _tensor(indices), axis=axis or 0)


@numpys("take_along_axis")
def take_along_axis(arr, indices, axis=-1):
    return array_api.take_along_axis(_tensor(arr), _tensor(indices), axis=axis)


@numpys("sort")
def sort(a, axis=-1):
    a = _tensor(a)
    return array_api.sort(a.reshape(-1) if axis is None else a, axis=-1 if axis is None else axis)


@numpys("tril")
def tril(m, k=0):
    return torch.tril(_tensor(m), k)


@numpys("triu")
def triu(m, k=0):
    return torch.triu(_tensor(m), k)


@numpys("diag")
def diag(v, k=0):
    return torch.diag(_tensor(v), k)


@numpys("diagonal", "linalg.diagonal")
def diagonal(a, offset=0, axis1=0, axis2=1):
    return torch.diagonal(_tensor(a), offset, axis1, axis2)


# ---- sums and products


@numpys("cumsum")
def cumsum(a, axis=None):
    a = _tensor(a)
    return torch.cumsum(a.reshape(-1) if axis is None else a, axis or 0)


@numpys("cumprod")
def cumprod(a, axis=None):
    a = _tensor(a)
    return torch.cumprod(a.reshape(-1) if axis is None else a, axis or 0)


@numpys("diff")
def diff(a, n=1, axis=-1):
    return array_api.diff(_tensor(a), n=n, axis=axis)


@numpys("trapezoid")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return torch.trapezoid(_tensor(y), dx=dx, dim=axis) if x is None else torch.trapezoid(*_all((y, x)), dim=axis)


@numpys("trace")
def trace(a, offset=0, axis1=0, axis2=1):
    return diagonal(a, offset, axis1, axis2).sum(-1)


@numpys("dot")
def dot(a, b):
    a, b = _all((a, b))
    if not a.ndim or not b.ndim:
        return a * b
    return torch.tensordot(a, b, ([-1], [b.ndim - 2 if b.ndim > 1 else 0]))


@numpys("inner")
def inner(a, b):
    a, b = _all((a, b))
    return torch.inner(a, b)


@numpys("vdot")
def vdot(a, b):
    a, b = (x.reshape(-1) for x in _all((a, b)))
    return array_api.vecdot(a, b)


@numpys("outer")
def outer(a, b):
    return torch.outer(*(x.reshape(-1) for x in _all((a, b))))


@numpys("kron")
def kron(a, b):
    return torch.kron(*_all((a, b)))


@numpys("tensordot", "linalg.tensordot")
def tensordot(a, b, axes=2):
    if not isinstance(axes, int):
        axes = tuple([side] if isinstance(side, int) else list(side) for side in axes)
    return torch.tensordot(*_all((a, b)), axes)


@numpys("einsum")
def einsum(subscripts, *operands):
    return torch.einsum(subscripts, *_all(operands))


@numpys("linalg.matmul")
def matmul(x1, x2):
    return torch.matmul(*_all((x1, x2)))


# ---- linear algebra and transforms


@numpys("linalg.norm")
def norm(x, ord=None, axis=None, keepdims=False):
    return torch.linalg.norm(_tensor(x), ord, axis, keepdims)


@numpys("linalg.solve")
def solve(a, b):
    return array_api.linalg.solve(*_all((a, b)))


@numpys("linalg.svd")
def svd(a, full_matrices=True, compute_uv=True):
    return torch.linalg.svd(_tensor(a), full_matrices) if compute_uv else torch.linalg.svdvals(_tensor(a))


@numpys("linalg.qr")
def qr(a, mode="reduced"):
    return torch.linalg.qr(_tensor(a), mode)


@numpys("linalg.matrix_power")
def matrix_power(a, n):
    return torch.linalg.matrix_power(_tensor(a), n)


@numpys("linalg.cholesky")
def cholesky(a, /, *, upper=False):
    return torch.linalg.cholesky(_tensor(a), upper=upper)


@numpys("linalg.pinv")
def pinv(a, rcond=None, *, rtol=None):
    return torch.linalg.pinv(_tensor(a), rtol=rcond if rtol is None else rtol)


@numpys("linalg.eigh")
def eigh(a, UPLO="L"):
    return torch.linalg.eigh(_tensor(a), UPLO)


@numpys("linalg.eigvalsh")
def eigvalsh(a, UPLO="L"):
    return torch.linalg.eigvalsh(_tensor(a), UPLO)


def _of_matrices(name):
    def function(a):
        return getattr(torch.linalg, name)(_tensor(a))

    function.__name__ = name
    numpys(f"linalg.{name}")(function)


def _transform(name):
    def function(a, n=None, axis=-1, norm=None):
        return getattr(torch.fft, name)(_tensor(a), n, axis, norm)

    function.__name__ = name
    numpys(f"fft.{name}")(function)


def _transform_of_many(name):
    def function(a, s=None, axes=None, norm=None):
        return getattr(torch.fft, name)(_tensor(a), s, axes, norm)

    function.__name__ = name
    numpys(f"fft.{name}")(function)


for _name in ("inv", "det", "slogdet", "eig", "eigvals"):
    _of_matrices(_name)
for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _transform(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _transform_of_many(_name)
