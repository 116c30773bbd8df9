"""Changing the element type of a tensor, and the many ways to ask for it."""

import functools

from .. import _C
from .batching import formatted
from .checks import boolean
from .language import composite, op, to_device, to_dtype

op("to_dtype(input, dtype, copy=False, memory_format=None)", stored="all",
   native="to_dtype", node="ToCopyBackward0", linear="input",
   public=False, shown="to",
   input=lambda g, input_meta: to_dtype(g, input_meta.dtype),
   batch=formatted)  # fmt: skip
op("to_device(input, device, dtype, memory_format=None, non_blocking=False)", stored="all",
   forward=lambda input, device, dtype, memory_format, non_blocking:
       _C.empty_like(input, dtype=dtype, device=device, memory_format=memory_format).copy_(input, non_blocking),
   node="ToCopyBackward0", linear="input", crosses=True, public=False,
   input=lambda g, input_meta: to_dtype(g, input_meta.dtype),
   batch=formatted)  # fmt: skip


_WAYS_TO = {
    "tensor": ("tensor", "non_blocking", "copy"),
    "dtype": ("dtype", "non_blocking", "copy"),
    "device": ("device", "dtype", "non_blocking", "copy"),
}


@functools.cache
def _types_to():
    """The types of the arguments of to(), by their names."""
    return {
        "tensor": _C.Tensor,
        "dtype": _C.dtype | type | None,
        "device": str | bytes | _C.device | int | None,
        "non_blocking": bool,
        "copy": bool,
        "memory_format": _C.memory_format | None,
    }


def parse_to(args, kwargs):
    """(dtype, device, copy, memory format) of to(device, dtype), to(dtype) or to(tensor); None where not given."""
    return _parsed(args, kwargs)[:4]


def _parsed(args, kwargs):
    """The same, and whether copies from pinned memory need not be waited for."""
    if len(args) == 1 and not kwargs and type(args[0]) is _C.dtype:
        return args[0], None, None, None, False
    first = args[0] if args else None
    way = "tensor" if isinstance(first, _C.Tensor) else "dtype" if isinstance(first, _C.dtype | type) else "device"
    given, types = {**dict(zip(_WAYS_TO[way], args, strict=False)), **kwargs}, _types_to()
    if len(given) != len(args) + len(kwargs) or not all(
        name in types and isinstance(value, types[name]) for name, value in given.items()
    ):
        kinds = [type(arg).__name__ for arg in args] + [f"{key}={type(arg).__name__}" for key, arg in kwargs.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of: "
            "(device, dtype, non_blocking, copy), (dtype, non_blocking, copy) or (tensor, non_blocking, copy), and "
            "memory_format by its name"
        )
    if "tensor" in given:
        given |= {"dtype": given["tensor"].dtype, "device": given["tensor"].device}
    device = given.get("device")
    if isinstance(device, int):
        device = _C.device(device)
    return given.get("dtype"), device, given.get("copy"), given.get("memory_format"), given.get("non_blocking", False)


def _check_move(source, device):
    """Refuses devices that are not there, and the way from the meta device back."""
    kind = _C.device(device).type
    if kind in (source, "meta"):
        return
    if source == "meta" and kind in ("cpu", "cuda"):
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Make a new one by torch.empty_like(tensor, device='cpu'), or use "
            "Module.to_empty() for a module"
        )
    _C.empty(0, device=kind)  # raises: it is not there


def _is_elsewhere(here, device):
    """Whether a device is another one than a tensor's: "cuda" is the current GPU."""
    if here.type != device.type:
        return True
    return here.type == "cuda" and here.index != (_C._cuda_current_device() if device.index is None else device.index)


def _converted(input, dtype, copy, memory_format):
    """to_dtype() as programs ask for it: they are told what goes. Rules take real parts without a word."""
    if input.is_complex() and not input.is_meta:
        _C._warn_if_imaginary_part_goes(input.dtype, dtype)
    return to_dtype(input, dtype, copy, memory_format)


def _lies_in(input, memory_format):
    """Whether to() leaves the order of elements: torch goes by the strides alone, with gaps between them or not."""
    if memory_format is None or memory_format is _C.preserve_format:
        return True
    if not _C._channels_last(input):
        return memory_format is _C.contiguous_format
    return memory_format is (_C.channels_last if input.ndim == 4 else _C.channels_last_3d)


@composite(function_=False)
def to(input, *args, **kwargs):
    """The tensor in another type or on another device; itself when nothing changes.

    >>> import adjoint as torch
    >>> torch.tensor([1, 2]).to(torch.float32)
    tensor([1., 2.])
    """
    dtype, device, copy, memory_format, non_blocking = _parsed(args, kwargs)
    if device is not None:
        _check_move(input.device.type, device)
    dtype = input.dtype if dtype is None else dtype
    if device is not None and _is_elsewhere(input.device, _C.device(device)):
        return to_device(input, device, dtype, memory_format, non_blocking)
    if not copy and dtype == input.dtype and _lies_in(input, memory_format):
        return input
    return _converted(input, dtype, bool(copy), memory_format)


@composite(function_=False)
def type_as(input, other):
    """The tensor in the type of another.

    >>> import adjoint as torch
    >>> torch.tensor([1]).type_as(torch.tensor(2.0))
    tensor([1.])
    """
    return input.to(other.device, other.dtype) if input.device != other.device else input.to(other.dtype)


TYPE_NAMES = {
    "FloatTensor": _C.float32,
    "DoubleTensor": _C.float64,
    "HalfTensor": _C.float16,
    "BFloat16Tensor": _C.bfloat16,
    "LongTensor": _C.int64,
    "IntTensor": _C.int32,
    "ShortTensor": _C.int16,
    "CharTensor": _C.int8,
    "ByteTensor": _C.uint8,
    "BoolTensor": _C.bool,
    "ComplexFloatTensor": _C.complex64,
    "ComplexDoubleTensor": _C.complex128,
    "ComplexHalfTensor": _C.complex32,
    "UInt16Tensor": _C.uint16,
    "UInt32Tensor": _C.uint32,
    "UInt64Tensor": _C.uint64,
    "Float8_e4m3fnTensor": _C.float8_e4m3fn,
    "Float8_e4m3fnuzTensor": _C.float8_e4m3fnuz,
    "Float8_e5m2Tensor": _C.float8_e5m2,
    "Float8_e5m2fnuzTensor": _C.float8_e5m2fnuz,
    "Float8_e8m0fnuTensor": _C.float8_e8m0fnu,
}


def type_(input, dtype=None, non_blocking=False):
    """The name of the tensor's type, or the tensor in another type.

    >>> import adjoint as torch
    >>> torch.tensor([1.0]).type()
    'torch.FloatTensor'
    """
    boolean("type", non_blocking=non_blocking)
    if dtype is None:
        place = ("cuda." if input.is_cuda else "") + ("" if input.layout is _C.strided else "sparse.")
        return f"torch.{place}" + next(name for name, known in TYPE_NAMES.items() if known == input.dtype)
    if isinstance(dtype, str):
        place, _, short = dtype.rpartition(".")
        if short not in TYPE_NAMES or place not in ("torch", "torch.cuda"):
            raise ValueError(f"invalid type: '{dtype}'")
        return input.to("cuda" if place == "torch.cuda" else "cpu", TYPE_NAMES[short], non_blocking)
    if isinstance(dtype, type):
        place = getattr(dtype, "is_cuda", None)
        dtype = _dtype_of(dtype)
        if isinstance(place, bool):
            return input.to("cuda" if place else "cpu", dtype, non_blocking)
    return input.to(dtype)


def _dtype_of(kind):
    """The element type of torch.FloatTensor, of its relatives and of torch.Tensor."""
    if kind is _C.Tensor:
        return _C.get_default_dtype()
    if not isinstance(getattr(kind, "dtype", None), _C.dtype):
        raise ValueError(f"invalid type: '{kind.__name__}'; give a dtype or a tensor type")
    return kind.dtype


composite(type_, name="type", function_=False)


def _caster(name, dtype):
    def cast(input, memory_format=None):
        if input.dtype == dtype and _lies_in(input, memory_format):
            return input
        return _converted(input, dtype, False, memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {dtype}."
    composite(cast, name=name, function_=False)


for _name, _dtype in {
    "float": _C.float32,
    "double": _C.float64,
    "half": _C.float16,
    "bfloat16": _C.bfloat16,
    "long": _C.int64,
    "int": _C.int32,
    "short": _C.int16,
    "char": _C.int8,
    "byte": _C.uint8,
    "bool": _C.bool,
    "cfloat": _C.complex64,
    "cdouble": _C.complex128,
    "chalf": _C.complex32,
}.items():
    _caster(_name, _dtype)


@composite(function_=False)
def cpu(input, memory_format=None):
    """The tensor in the memory of the processor: itself.

    >>> import adjoint as torch
    >>> torch.tensor(1.0).cpu()
    tensor(1.)
    """
    return to(input, device="cpu", memory_format=memory_format)


@composite(function_=False)
def cuda(input, device=None, non_blocking=False, memory_format=None):
    """The tensor on a GPU, by default the current one: itself when it is there.

    With `non_blocking` copies from pinned memory are not waited for.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0)
    >>> (x.cuda() if torch.cuda.is_available() else x) * 2 == 2
    tensor(True)
    """
    device = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
    if _C.device(device).type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device; got {device}")
    return to(input, device=_C.device(device), non_blocking=non_blocking, memory_format=memory_format)


@composite(function_=False)
def xpu(input, device=None, non_blocking=False, memory_format=None):
    """The tensor on an Intel GPU, which raises: there is none.

    >>> import adjoint as torch
    >>> torch.tensor(1.0).xpu()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with XPU enabled; this build computes on the cpu and on cuda: use device='cpu'
    """
    return input.to("xpu")
