"""Changing the element type of a tensor, and the many ways to ask for it."""

import functools

from .. import _C
from .batching import formatted
from .checks import boolean
from .language import composite, op, to_device, to_dtype

op("to_dtype(input, dtype, copy=False, memory_format=None)", native="to_dtype", node="ToCopyBackward0", linear="input",
   public=False, shown="to",
   input=lambda g, input_meta: to_dtype(g, input_meta.dtype),
   batch=formatted)  # fmt: skip
op("to_device(input, device, dtype, memory_format=None)",
   forward=lambda input, device, dtype, memory_format:
       _C.empty_like(input, dtype=dtype, device=device, memory_format=memory_format).copy_(input),
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
    if len(args) == 1 and not kwargs and type(args[0]) is _C.dtype:
        return args[0], None, None, None
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
        raise RuntimeError("Cannot access accelerator device when none is available; use device='cpu'")
    return given.get("dtype"), device, given.get("copy"), given.get("memory_format")


def _check_move(source, device):
    """Refuses devices that are not there, and the way from the meta device back."""
    kind = _C.device(device).type
    if kind in (source, "meta"):
        return
    if source == "meta" and kind == "cpu":
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Make a new one by torch.empty_like(tensor, device='cpu'), or use "
            "Module.to_empty() for a module"
        )
    _C.empty(0, device=kind)  # raises: it is not there


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
    dtype, device, copy, memory_format = parse_to(args, kwargs)
    if device is not None:
        _check_move(input.device.type, device)
    dtype = input.dtype if dtype is None else dtype
    if device is not None and _C.device(device).type != input.device.type:
        return to_device(input, device, dtype, memory_format)
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
    return input.to(other.dtype)


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
}


def type_(input, dtype=None, non_blocking=False):
    """The name of the tensor's type, or the tensor in another type.

    >>> import adjoint as torch
    >>> torch.tensor([1.0]).type()
    'torch.FloatTensor'
    """
    boolean("type", non_blocking=non_blocking)
    if dtype is None:
        return ("torch." if input.layout is _C.strided else "torch.sparse.") + next(
            name for name, known in TYPE_NAMES.items() if known == input.dtype
        )
    if isinstance(dtype, str):
        place, _, short = dtype.rpartition(".")
        if short not in TYPE_NAMES or place not in ("torch", "torch.cuda"):
            raise ValueError(f"invalid type: '{dtype}'")
        if place == "torch.cuda":
            _C.empty(0, device="cuda")  # raises
        dtype = TYPE_NAMES[short]
    elif isinstance(dtype, type):
        dtype = _dtype_of(dtype)
    return input.to(dtype)


def _dtype_of(kind):
    """The element type of torch.FloatTensor, of its relatives and of torch.Tensor."""
    if kind is _C.Tensor:
        return _C.get_default_dtype()
    if not isinstance(getattr(kind, "dtype", None), _C.dtype):
        raise ValueError(f"invalid type: '{kind.__name__}'; give a dtype or a tensor type")
    if kind.is_cuda:
        _C.empty(0, device="cuda")  # raises
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
    """The tensor on a GPU, which raises: there is none.

    >>> import adjoint as torch
    >>> torch.tensor(1.0).cuda()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with CUDA enabled; this build computes on the cpu only: use device='cpu'
    """
    return input.to("cuda")


@composite(function_=False)
def xpu(input, device=None, non_blocking=False, memory_format=None):
    """The tensor on an Intel GPU, which raises: there is none.

    >>> import adjoint as torch
    >>> torch.tensor(1.0).xpu()
    Traceback (most recent call last):
    AssertionError: Torch not compiled with XPU enabled; this build computes on the cpu only: use device='cpu'
    """
    return input.to("xpu")
