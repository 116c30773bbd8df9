"""Functions that torch has under a leading underscore, or in torch.ops.aten alone, and that programs call all the same.

Most are the parts that its own layers are made of. They are functions of public ops, and have their gradients.
"""

import math

from . import _C
from .nn import functional as _functional
from .ops.checks import boolean_or_none, holds, takes_tensors
from .ops.checks import tensor as _tensor

_op = _C.op_object


def _with_out(name, function, out, args, demands="exact", words=None):
    """A function of these arguments, written into `out` where it is given."""
    return function(*args) if out is None else _C._call_out(name, function, args, {}, out, demands, words, (), ())


# ---- Softmax


def _whole(name, half_to_float):
    if half_to_float:
        raise RuntimeError(f"{name} with half to float conversion is not supported on CPU")


@takes_tensors("input")
def _softmax(input, dim, half_to_float, *, out=None):
    """softmax() as layers call it.

    >>> import adjoint as torch
    >>> torch._softmax(torch.zeros(2), 0, False)
    tensor([0.5000, 0.5000])
    """
    _whole("softmax", half_to_float)
    return _op("softmax")(input, dim, out=out)


@takes_tensors("input")
def _log_softmax(input, dim, half_to_float, *, out=None):
    """log_softmax() as layers call it.

    >>> import adjoint as torch
    >>> torch._log_softmax(torch.zeros(2), 0, False)
    tensor([-0.6931, -0.6931])
    """
    _whole("log_softmax", half_to_float)
    return _op("log_softmax")(input, dim, out=out)


def _softmax_gradient(name, grad_output, output, dim, input_dtype):
    _tensor(name, grad_output=grad_output, output=output)
    if output.dtype != grad_output.dtype or (input_dtype != output.dtype and input_dtype.itemsize == 2):
        other = output.dtype if output.dtype != grad_output.dtype else input_dtype
        kinds = [_C.empty(0, dtype=kind).type().removeprefix("torch.") for kind in (grad_output.dtype, other)]
        expected, found = (kind.removesuffix("Tensor") for kind in kinds)
        raise RuntimeError(f"expected scalar type {expected} but found {found}; convert one with .to(dtype)")
    if output.shape != grad_output.shape:
        raise RuntimeError(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but "
            f"{list(grad_output.shape)} does not equal {list(output.shape)} (while checking arguments for "
            f"{name.strip('_').removesuffix('_data')})"
        )
    return _op(name)(grad_output, output, dim)


def _softmax_backward_data(grad_output, output, dim, input_dtype, *, grad_input=None):
    """The gradient of softmax() by its input, from that of its result and the result.

    >>> import adjoint as torch
    >>> y = torch.tensor([0.25, 0.75])
    >>> torch._softmax_backward_data(torch.tensor([1.0, 0.0]), y, 0, torch.float32)
    tensor([ 0.1875, -0.1875])
    """
    given = ("_softmax_backward_data", grad_output, output, dim, input_dtype)
    return _with_out("_softmax_backward_data", _softmax_gradient, grad_input, given)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype, *, out=None):
    """The gradient of log_softmax() by its input, from that of its result and the result.

    >>> import adjoint as torch
    >>> y = torch.tensor([0.25, 0.75]).log()
    >>> torch._log_softmax_backward_data(torch.tensor([1.0, 0.0]), y, 0, torch.float32)
    tensor([ 0.7500, -0.7500])
    """
    given = ("_log_softmax_backward_data", grad_output, output, dim, input_dtype)
    return _with_out("_log_softmax_backward_data", _softmax_gradient, out, given)


@takes_tensors("input")
def _safe_softmax(input, dim, dtype=None):
    """softmax(), and 0 for rows that hold nothing but -inf: those of a mask that leaves nothing to see.

    >>> import adjoint as torch
    >>> torch._safe_softmax(torch.tensor([[0.0, 0.0], [-torch.inf, -torch.inf]]), 1)
    tensor([[0.5000, 0.5000],
            [0.0000, 0.0000]])
    """
    nothing = (input == -math.inf).all(dim, keepdim=True)
    return _op("softmax")(input.masked_fill(nothing, 0), dim, dtype).masked_fill(nothing, 0)


# ---- Dropout


def native_dropout(input, p, train):
    """dropout(), and which elements were kept.

    >>> import adjoint as torch
    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    _tensor("native_dropout", input=input)
    boolean_or_none("native_dropout", train=train)
    if input.numel() == 0:
        return input, _op("empty_like")(input)
    if train is False:
        return input.clone(), _op("ones_like")(input, dtype=_C.bool)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p:g}")
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.type()[6:].removesuffix('Tensor')}; "
            "convert the input with .float()"
        )
    kept = _op("bernoulli")(_op("empty_like")(input.detach()), 1 - p)
    return input * (kept / (1 - p) if p < 1 else kept), kept.bool()


@takes_tensors("grad_output", "mask")
def native_dropout_backward(grad_output, mask, scale):
    """The gradient of native_dropout() by its input.

    >>> import adjoint as torch
    >>> torch.ops.aten.native_dropout_backward(torch.ones(2), torch.tensor([True, False]), 2.0)
    tensor([2., 0.])
    """
    return grad_output * mask * float(scale)


# ---- Batch norm


def _native_batch_norm_legit(input, weight, bias, *given, out=None, **named):
    """native_batch_norm(), whose running statistics are there, or are left out of the arguments.

    >>> import adjoint as torch
    >>> torch._native_batch_norm_legit(torch.tensor([[1.0], [3.0]]), None, None, True, 0.1, 0.0)[1]
    tensor([2.])
    """
    if len(given) + len(named) == 3 and not named.keys() & {"running_mean", "running_var"}:
        given = (None, None, *given)
        if not (given[2] if len(given) > 2 else named["training"]):
            raise RuntimeError("Expected running_mean and running_var to be defined; train, or give them")
    return _op("native_batch_norm")(input, weight, bias, *given, **named, out=out)


def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm() by its running statistics.

    >>> import adjoint as torch
    >>> x, mean, var = torch.ones(2, 1), torch.ones(1), torch.ones(1)
    >>> torch._native_batch_norm_legit_no_training(x, None, None, mean, var, 0.1, 0.0)[0]
    tensor([[0.],
            [0.]])
    """
    return _op("native_batch_norm")(input, weight, bias, running_mean, running_var, False, momentum, eps)


@takes_tensors("input")
def _batch_norm_with_update(
    input, weight, bias, running_mean, running_var, momentum, eps, *,
    out=None, save_mean=None, save_invstd=None, reserve=None,
):  # fmt: skip
    """native_batch_norm() in training, and a tensor that is empty on the CPU.

    >>> import adjoint as torch
    >>> x, mean, var = torch.tensor([[1.0], [3.0]]), torch.zeros(1), torch.ones(1)
    >>> torch.ops.aten._batch_norm_with_update(x, None, None, mean, var, 0.5, 0.0)[1], mean
    (tensor([2.]), tensor([1.]))
    """
    given = (input, weight, bias, running_mean, running_var, True, momentum, eps)
    none = _C.empty(0, dtype=_C.uint8, device=input.device)
    if out is None:
        return *_op("native_batch_norm")(*given), none
    written = _op("native_batch_norm")(*given, out=(out, save_mean, save_invstd))
    return *written, reserve.resize_(0)


# ---- Pooling and resampling


def max_pool2d_with_indices_backward(
    grad_output, input, kernel_size, stride, padding, dilation, ceil_mode, indices, *, grad_input=None
):
    """The gradient of max_pool2d() by its input, from that of its result and the places that it found.

    >>> import adjoint as torch
    >>> x, places = torch.zeros(1, 1, 2, 2), torch.tensor([[[[3]]]])
    >>> torch.ops.aten.max_pool2d_with_indices_backward(torch.ones(1, 1, 1, 1), x, 2, 2, 0, 1, False, places)
    tensor([[[[0., 0.],
              [0., 1.]]]])
    """
    name = "max_pool2d_with_indices_backward"
    _tensor(name, grad_output=grad_output, self=input, indices=indices)
    if grad_output.shape != indices.shape:
        raise RuntimeError(
            f"{name}: expected a gradient of the size of the indices; got {list(grad_output.shape)} and "
            f"{list(indices.shape)}; give what max_pool2d() returned"
        )
    if input.ndim not in (3, 4) or grad_output.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: expected an input of 3 or 4 dimensions with the channels of the gradient; got "
            f"{list(input.shape)} and {list(grad_output.shape)}"
        )
    if not holds((indices >= 0) & (indices < input.shape[-1] * input.shape[-2])):
        raise RuntimeError(f"{name}: expected indices of elements of the input's planes, {list(input.shape[-2:])}")
    last = input.ndim == 4 and _C._channels_last(input)
    result = _with_out(name, _op("_max_pool_backward"), grad_input, (grad_output, indices, input.shape[-2:], last))
    if not (input.requires_grad and _C.is_grad_enabled()):
        return result
    # The input has a gradient, of zeros: by values it has no part in the result.
    return _op("where")(_op("ones_like")(input, dtype=_C.bool), result, input)


def _upsample_bilinear2d_aa(input, output_size, align_corners, *given, out=None, **named):
    """interpolate() of images in mode "bilinear", antialiased: scales_h and scales_w, or scale_factors.

    >>> import adjoint as torch
    >>> torch.ops.aten._upsample_bilinear2d_aa(torch.tensor([[[[1.0, 3.0]]]]), [1, 1], False)
    tensor([[[[2.]]]])
    """
    name = "_upsample_bilinear2d_aa"
    _tensor(name, input=input)
    if "scale_factors" in named or (given and isinstance(given[0], tuple | list)) or output_size is None:
        scales = given[0] if given else named.get("scale_factors")
        if (output_size is None) == (scales is None):
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        if scales is not None:
            output_size = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales, strict=True)]
        scales = scales or (None, None)
    else:
        scales = (*given, *named.values()) if given else (named.get("scales_h"), named.get("scales_w"))
        scales = (*scales, None, None)[:2]
    if input.ndim != 4:
        raise RuntimeError(f"It is expected input_size equals to 4, but got size {input.ndim}")
    if len(output_size) != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {len(output_size)}")
    scale_y, scale_x = (None if scale is None else float(scale) for scale in scales)
    arguments = (input, tuple(output_size), "linear-aa", align_corners, scale_x, scale_y, None)
    return _with_out(name, _op("_UpsampleBilinear2DAa"), out, arguments)


# ---- Indexing


@takes_tensors("input")
def _unsafe_index(input, indices):
    """input[indices]: "unsafe" means that torch does not look whether they are in range; they are looked at here.

    >>> import adjoint as torch
    >>> torch._unsafe_index(torch.tensor([1, 2, 3]), [torch.tensor([2, 0])])
    tensor([3, 1])
    """
    return input[_as_key(indices)]


def _as_key(indices):
    return tuple(slice(None) if index is None else index for index in indices)


@takes_tensors("input", "values")
def _unsafe_index_put(input, indices, values, accumulate=False):
    """index_put(), likewise.

    >>> import adjoint as torch
    >>> torch._unsafe_index_put(torch.zeros(2), [torch.tensor([1])], torch.tensor(3.0))
    tensor([0., 3.])
    """
    return _op("index_put")(input, tuple(indices), values, accumulate)


def _in_range(input, indices):
    """Indices with those that lie beside the tensor moved into it: what they find is masked."""
    return tuple(
        index if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, input.shape, strict=False)
    )


@takes_tensors("input", "mask")
def _unsafe_masked_index(input, mask, indices, fill):
    """input[indices] where the mask is set, else `fill`; what is masked may lie anywhere.

    >>> import adjoint as torch
    >>> torch._unsafe_masked_index(torch.tensor([1, 2]), torch.tensor([True, False]), [torch.tensor([1, 9])], 0)
    tensor([2, 0])
    """
    if input.numel() == 0:
        found = input[_as_key(indices)] if mask.numel() == 0 else input.new_zeros(())
        return _op("where")(mask, found, input.new_tensor(fill)) if mask.numel() else found
    found = input[_as_key(_in_range(input, indices))]
    return found.masked_fill(~mask, fill)


@takes_tensors("input", "mask", "values")
def _unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """The values that the mask keeps, added at their indices; what is masked may lie anywhere.

    >>> import adjoint as torch
    >>> place, value = [torch.tensor([1, 9])], torch.tensor([5, 7])
    >>> torch._unsafe_masked_index_put_accumulate(torch.tensor([1, 2]), torch.tensor([True, False]), place, value)
    tensor([1, 7])
    """
    if input.numel() == 0:
        return input.clone()
    return _op("index_put")(input, _in_range(input, indices), values.masked_fill(~mask, 0), True)


# ---- Joining


def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """Each tensor cut into chunks along a dimension, the last padded with zeros; the chunks of all side by side.

    >>> import adjoint as torch
    >>> torch._chunk_cat([torch.tensor([1, 2, 3]), torch.tensor([4])], 0, 2)
    tensor([[1, 2, 4],
            [3, 0, 0]])
    """
    name = "_chunk_cat"
    if not isinstance(tensors, list | tuple) or not all(isinstance(item, _C.Tensor) for item in tensors):
        kind = "Tensor" if isinstance(tensors, _C.Tensor) else type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind}")
    if num_chunks < 1:
        raise RuntimeError(f"{name} expects positive num_chunks; got {num_chunks}")
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty input tensor list")
    if any(item.dtype != tensors[0].dtype for item in tensors):
        raise RuntimeError(f"{name} expects all input tensors with the same dtype; convert them")
    if any(item.numel() == 0 for item in tensors):
        raise RuntimeError(f"{name} expects non-empty tensor; leave empty ones out")
    ranks = {item.ndim for item in tensors}
    if dim < 0 and len(ranks) > 1:
        raise RuntimeError(f"{name} expects non-negative dim when input tensors have different ndims; got {dim}")
    least = min(ranks)
    if not -least <= dim < least:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-least}, {least - 1}], but got {dim})")
    dim %= least
    if any(item.shape[:dim] != tensors[0].shape[:dim] for item in tensors):
        raise RuntimeError(f"{name} expects same sizes of 0,...,dim-1 dimensions for all tensors")

    def joined():
        rows = []
        for item in tensors:
            length = -(-item.shape[dim] // num_chunks)
            missing = length * num_chunks - item.shape[dim]
            padded = _functional.pad(item, (0, 0) * (item.ndim - dim - 1) + (0, missing)) if missing else item
            rows.append(padded.reshape(*item.shape[:dim], num_chunks, -1))
        return _op("cat")(rows, dim + 1)

    return _with_out(name, joined, out, ())


# ---- Products


def _int_mm(input, mat2, *, out=None):
    """The product of matrices of int8, or of uint8 and int8, in int32.

    >>> import adjoint as torch
    >>> torch._int_mm(torch.full((1, 2), 100, dtype=torch.int8), torch.full((2, 1), 100, dtype=torch.int8))
    tensor([[20000]], dtype=torch.int32)
    """
    where = "int_mm_out_cpu"
    _tensor("_int_mm", input=input, mat2=mat2)
    for shown, value in (("self", input), ("mat2", mat2)):
        if value.ndim != 2:
            raise RuntimeError(f"{where}: Expected {shown} to be of dimension 2 but got {value.ndim}")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"{where}: self.size(1) needs to match mat2.size(0) but got {input.shape[1]} and {mat2.shape[0]}"
        )
    if input.dtype not in (_C.int8, _C.uint8):
        raise RuntimeError(f"{where}: Expected self dtype to be int8 or uint8 but got {_c_name(input.dtype)}")
    if mat2.dtype != _C.int8:
        raise RuntimeError(f"{where}: Expected mat2 dtype to be of type int8 but got {_c_name(mat2.dtype)}")
    if out is None:
        return _exact_product(input, mat2)
    if out.dtype != _C.int32:
        raise RuntimeError(f"{where}: Expected result dtype to be of type kInt but got {_c_name(out.dtype)}")
    for i, size in enumerate((input.shape[0], mat2.shape[1])):
        if out.ndim != 2 or out.shape[i] != size:
            raise RuntimeError(
                f"{where}: Expected result.size({i}) to be {size} but got {out.shape[i] if i < out.ndim else 'none'}"
            )
    return out.copy_(_exact_product(input, mat2))


def _exact_product(input, mat2):
    """The product in float32, which has room for all sums of 512 products of 8 bits, of that many columns at a time."""
    mm, most = _op("mm"), 512
    if input.shape[1] <= most:
        return mm(input.float(), mat2.float()).to(_C.int32)
    parts = zip(input.split(most, 1), mat2.split(most, 0), strict=True)
    return sum(mm(left.float(), right.float()).to(_C.int32) for left, right in parts)


_C_NAMES = {"int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char"}
_C_NAMES |= {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}


def _c_name(dtype):
    """A type as C calls it."""
    name = str(dtype).removeprefix("torch.")
    return _C_NAMES.get(name, name)
