"""Arrays of other libraries in the memory of a GPU: __cuda_array_interface__, both ways."""

from .. import _C

_TYPES = dict(
    zip(
        (
            *(_C.float16, _C.float32, _C.float64, _C.complex64, _C.complex128, _C.int8, _C.int16, _C.int32, _C.int64),
            *(_C.bool, _C.uint8, _C.uint16, _C.uint32, _C.uint64, _C.bfloat16),
        ),
        ["<f2", "<f4", "<f8", "<c8", "<c16", "|i1", "<i2", "<i4", "<i8", "|b1", "|u1", "<u2", "<u4", "<u8", "<V2"],
        strict=True,
    )
)
_NAMES = {text: dtype for dtype, text in _TYPES.items() if dtype is not _C.bfloat16}


def described(tensor):
    """What Tensor.__cuda_array_interface__ gives."""
    if not tensor.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {tensor.type()} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    if tensor.layout is not _C.strided:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on sparse type: {tensor.type()} Use Tensor.to_dense() to convert to a "
            "dense tensor first."
        )
    if tensor.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    if tensor.dtype not in _TYPES:
        raise TypeError(f"__cuda_array_interface__ has no name for {tensor.dtype}; convert the tensor first")
    size = tensor.element_size()
    return {
        "typestr": _TYPES[tensor.dtype],
        "shape": tuple(tensor.shape),
        "strides": None if tensor.is_contiguous() else tuple(stride * size for stride in tensor.stride()),
        "data": (tensor.data_ptr() if tensor.numel() else 0, False),
        "version": 2,
    }


def imported(source):
    """A tensor on the memory that an object describes; it keeps the object."""
    facts = source.__cuda_array_interface__
    kind = facts["typestr"]
    dtype = _NAMES.get(kind) or _NAMES.get(kind.replace("<", "|")) or _NAMES.get(kind.replace("=", "<"))
    if dtype is None:
        raise TypeError(f"__cuda_array_interface__: there is no type for {kind!r}; convert the array first")
    if facts.get("mask") is not None:
        raise NotImplementedError("__cuda_array_interface__: masked arrays are not supported; fill them first")
    shape = tuple(facts["shape"])
    strides = facts.get("strides")
    if strides is not None:
        if any(stride % dtype.itemsize for stride in strides):
            raise ValueError("given array strides not a multiple of the element byte size. Make a copy of the array")
        strides = tuple(stride // dtype.itemsize for stride in strides)
    stream = facts.get("stream")
    if stream == 0:
        raise ValueError("__cuda_array_interface__: stream 0 is ambiguous; the default stream is 1")
    return _C._cuda_from_pointer(facts["data"][0], shape, strides, dtype, 0 if stream is None else stream, source)
