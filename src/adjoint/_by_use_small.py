"""Small functions that torch has under a leading underscore and that programs call: other forms of public ones."""

from . import _C
from .nn import functional as _functional
from .ops.checks import takes_tensors
from .ops.checks import tensor as _tensor

_op = _C.op_object
# Transforms by kind: complex to complex, real to complex and back.
_fft_c2c, _fft_r2c, _fft_c2r = _op("_fft_c2c"), _op("_fft_r2c"), _op("_fft_c2r")


def _weight_norm(v, g, dim=0):
    """g v / |v|: a direction and its length, for each slice along a dimension, or for all where it is -1.

    >>> import adjoint as torch
    >>> torch._weight_norm(torch.tensor([[3.0, 4.0]]), torch.tensor([[10.0]]))
    tensor([[6., 8.]])
    """
    return _weight_norm_interface(v, g, dim)[0]


def _weight_norm_interface(v, g, dim=0):
    """_weight_norm(), and the lengths.

    >>> import adjoint as torch
    >>> torch._weight_norm_interface(torch.tensor([[3.0, 4.0]]), torch.tensor([[10.0]]))[1]
    tensor([[5.]])
    """
    _tensor("_weight_norm", v=v, g=g)
    others = [d for d in range(v.ndim) if d != dim]
    lengths = _op("vector_norm")(v) if dim == -1 else _op("vector_norm")(v, 2, others, True)
    return v * (g / lengths), lengths


@takes_tensors("input")
def _shape_as_tensor(input):
    """The sizes, as a tensor.

    >>> import adjoint as torch
    >>> torch._shape_as_tensor(torch.zeros(2, 3))
    tensor([2, 3])
    """
    return _C.tensor(list(input.shape), dtype=_C.int64)


def _unique(input, sorted=True, return_inverse=False):
    """unique(), and an empty tensor for the places where they are not asked for.

    >>> import adjoint as torch
    >>> torch._unique(torch.tensor([2, 1, 2]))
    (tensor([1, 2]), tensor([], dtype=torch.int64))
    """
    return _unique2(input, sorted, return_inverse)[:2]


@takes_tensors("input")
def _unique2(input, sorted=True, return_inverse=False, return_counts=False):
    """unique(), with empty tensors for what is not asked for.

    >>> import adjoint as torch
    >>> torch._unique2(torch.tensor([2, 1, 2]), return_counts=True)[2]
    tensor([1, 2])
    """
    values, places, counts = _op("unique")(input, sorted, True, True)
    none = _C.empty(0, dtype=_C.int64, device=input.device)
    return values, places if return_inverse else none, counts if return_counts else none.clone()


def _stack(tensors, dim=0):
    """stack().

    >>> import adjoint as torch
    >>> torch._stack([torch.zeros(2), torch.ones(2)]).shape
    torch.Size([2, 2])
    """
    return _op("stack")(tensors, dim)


def _conj(input):
    """conj().

    >>> import adjoint as torch
    >>> torch._conj(torch.tensor(1j))
    tensor(-0.-1.j)
    """
    return _op("conj")(input)


def _conj_physical(input):
    """conj_physical().

    >>> import adjoint as torch
    >>> torch._conj_physical(torch.tensor(1j))
    tensor(0.-1.j)
    """
    return _op("conj_physical")(input)


def _of_bools(name, input):
    if input.dtype != _C.bool:
        raise RuntimeError(f"{name}: expected a tensor of bools; got {input.dtype}; compare it with something")


@takes_tensors("input")
def _is_all_true(input):
    """Whether all of some bools are set.

    >>> import adjoint as torch
    >>> torch._is_all_true(torch.tensor([True, False]))
    tensor(False)
    """
    _of_bools("_is_all_true", input)
    return input.all()


@takes_tensors("input")
def _is_any_true(input):
    """Whether any of some bools is set.

    >>> import adjoint as torch
    >>> torch._is_any_true(torch.tensor([True, False]))
    tensor(True)
    """
    _of_bools("_is_any_true", input)
    return input.any()


@takes_tensors("like")
def _dim_arange(like, dim):
    """The indices along a dimension.

    >>> import adjoint as torch
    >>> torch._dim_arange(torch.zeros(2, 3), 1)
    tensor([0, 1, 2])
    """
    return _C.arange(like.size(dim), dtype=_C.int64, device=like.device)


def _euclidean_dist(x1, x2):
    """The distances of the rows of two matrices.

    >>> import adjoint as torch
    >>> torch._euclidean_dist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    return _op("cdist")(x1, x2)


@takes_tensors("input", "mask")
def _masked_softmax(input, mask, dim=None, mask_type=None):
    """softmax() of what a mask does not hide, 0 for the rest; nan where all is hidden.

    >>> import adjoint as torch
    >>> torch._masked_softmax(torch.zeros(3), torch.tensor([True, False, False]), 0)
    tensor([0.0000, 0.5000, 0.5000])
    """
    if mask.dtype != _C.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    return _op("softmax")(input.masked_fill(mask, -float("inf")), -1 if dim is None else dim)


@takes_tensors("input")
def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """Raises where a number is zero.

    >>> import adjoint as torch
    >>> torch._assert_async(torch.tensor(1))
    """
    if input.numel() == 1 and _C._refuse_zeros_later(input, assert_msg):
        return
    if not bool(input):
        raise RuntimeError(assert_msg)


def _add_relu(input, other, *, alpha=1, out=None):
    """relu(input + alpha * other).

    >>> import adjoint as torch
    >>> torch._add_relu(torch.tensor([1.0, -3.0]), torch.tensor([1.0, 1.0]))
    tensor([2., 0.])
    """
    result = _op("relu")(_op("add")(input, other, alpha=alpha))
    return result if out is None else out.resize_(result.shape).copy_(result)


@takes_tensors("input")
def _add_relu_(input, other, *, alpha=1):
    """In-place version of _add_relu().

    >>> import adjoint as torch
    >>> torch._add_relu_(torch.tensor([1.0, -3.0]), torch.tensor([1.0, 1.0]))
    tensor([2., 0.])
    """
    return input.add_(other, alpha=alpha).relu_()


def _addmm_activation(input, mat1, mat2, *, beta=1, alpha=1, use_gelu=False):
    """addmm(), then relu() or gelu().

    >>> import adjoint as torch
    >>> torch._addmm_activation(torch.tensor([-5.0, 0.0]), torch.eye(2), torch.eye(2))
    tensor([[0., 0.],
            [0., 1.]])
    """
    if not use_gelu and beta == 1 and alpha == 1:
        return _op("_addmm_relu")(input, mat1, mat2)
    product = _op("addmm")(input, mat1, mat2, beta=beta, alpha=alpha)
    return _functional.gelu(product) if use_gelu else _op("relu")(product)


def _adaptive_avg_pool2d(input, output_size):
    """nn.functional.adaptive_avg_pool2d().

    >>> import adjoint as torch
    >>> torch._adaptive_avg_pool2d(torch.ones(1, 2, 2), (1, 1))
    tensor([[[1.]]])
    """
    return _functional.adaptive_avg_pool2d(input, output_size)


def _adaptive_avg_pool3d(input, output_size):
    """nn.functional.adaptive_avg_pool3d().

    >>> import adjoint as torch
    >>> torch._adaptive_avg_pool3d(torch.ones(1, 2, 2, 2), (1, 1, 1))
    tensor([[[[1.]]]])
    """
    return _functional.adaptive_avg_pool3d(input, output_size)


def _logcumsumexp(input, dim, *, out=None):
    """logcumsumexp().

    >>> import adjoint as torch
    >>> torch._logcumsumexp(torch.zeros(2), 0)
    tensor([0.0000, 0.6931])
    """
    return _op("logcumsumexp")(input, dim, out=out)


def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *_flags
):  # benchmark, deterministic, cudnn_enabled, allow_tf32: of CUDA
    """convolution(), with flags that mean nothing on a CPU.

    >>> import adjoint as torch
    >>> x, w = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    >>> torch._convolution(x, w, None, [1], [0], [1], False, [0], 1, False, False, False, False)
    tensor([[[2., 2.]]])
    """
    return _op("convolution")(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@takes_tensors("input", "values")
def _index_put_impl_(input, indices, values, accumulate=False, unsafe=False):
    """index_put_(); indices are always looked at.

    >>> import adjoint as torch
    >>> torch._index_put_impl_(torch.zeros(2), [torch.tensor([1])], torch.tensor(3.0))
    tensor([0., 3.])
    """
    return input.index_put_(tuple(indices), values, accumulate)


@takes_tensors("input", "lengths")
def _pack_padded_sequence(input, lengths, batch_first):
    """nn.utils.rnn.pack_padded_sequence(), of lengths that decrease: the data and the sizes of the batches.

    >>> import adjoint as torch
    >>> torch._pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), False)
    (tensor([1, 2, 3]), tensor([2, 1]))
    """
    from .nn.utils import rnn

    packed = rnn.pack_padded_sequence(input, lengths, batch_first)
    return packed.data, packed.batch_sizes


@takes_tensors("data", "batch_sizes")
def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    """nn.utils.rnn.pad_packed_sequence(); a total length that is not positive is that of the longest.

    >>> import adjoint as torch
    >>> torch._pad_packed_sequence(torch.tensor([1, 2, 3]), torch.tensor([2, 1]), False, 0, -1)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    from .nn.utils import rnn

    packed = rnn.PackedSequence(data, batch_sizes)
    total = total_length if total_length > 0 else None
    return rnn.pad_packed_sequence(packed, batch_first, padding_value, total)


def _cast(name, dtype):
    def function(input, non_blocking=False):
        _tensor(name, input=input)
        return input.to(dtype, non_blocking)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The tensor as one of {dtype}."
    return function


_cast_Byte = _cast("_cast_Byte", _C.uint8)
_cast_Char = _cast("_cast_Char", _C.int8)
_cast_Double = _cast("_cast_Double", _C.float64)
_cast_Float = _cast("_cast_Float", _C.float32)
_cast_Half = _cast("_cast_Half", _C.float16)
_cast_Int = _cast("_cast_Int", _C.int32)
_cast_Long = _cast("_cast_Long", _C.int64)
_cast_Short = _cast("_cast_Short", _C.int16)
