"""Matrix products: of vectors, matrices and batches, with additions, in linear layers, and over chosen dimensions."""

from math import prod

from .. import _C
from . import checks
from .batching import call, lined_up, repeated, rows_of, with_batch
from .language import (
    Tensor,
    _folded_back,
    _matmul_out,
    _relu_gradient,
    _squeezed_row,
    _unsafe_view,
    addcmul,
    addmm,
    bmm,
    bmm_nt,
    bmm_tn,
    composite,
    conj,
    dot,
    linear_biased,
    linear_plain,
    mm,
    mm_conj,
    mm_nt,
    mm_t_conj,
    mm_tn,
    mv,
    mv_t,
    op,
    promote_types,
    relu,
    rule_wants,
    vdot,
)
from .language import bool as bool_type
from .out_words import DOT, TENSORDOT

# The floats of 8 bits that torch multiplies matrices of.
NARROW = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"

# ---- Batch rules; see batching.py


def _check_ranks(name, batched, first, second, ranks):
    given = (first.dim() - batched[0], second.dim() - batched[1])
    if given != ranks:
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {given[0]} and b has dim {given[1]} but "
            f"expected them to have dim {ranks[0]} and dim {ranks[1]}"
        )


@rows_of(0)
def _mm_batch(op, size, batched, input, mat2):
    _check_ranks("mm", batched, input, mat2, (2, 2))
    if not batched[1]:  # many matrices times one are one tall matrix times it
        return mm(input.flatten(0, 1), mat2).unflatten(0, (size, input.shape[1]))
    return bmm(*with_batch(size, batched, (input, mat2)))


@rows_of(0)
def _mm_conj_batch(op, size, batched, input, mat2, turned):
    return _mm_batch(mm, size, batched[:2], input, conj(mat2))


@rows_of(0)
def _mm_nt_batch(op, size, batched, input, mat2, turned):
    return bmm_nt(*with_batch(size, batched[:2], (input, mat2)))


def _mm_tn_batch(op, size, batched, input, mat2, turned):
    return _transposed_times(*with_batch(size, batched[:2], (input, mat2)))


def _transposed_times(input, mat2):
    """input^H mat2, for batches of matrices; of single rows it is an outer product."""
    if input.shape[1] == 1:
        return conj(input).transpose(1, 2) * mat2
    return bmm_tn(input, mat2)


def _mm_t_conj_batch(op, size, batched, input, mat2, turned):
    input, mat2 = with_batch(size, batched[:2], (input, mat2))
    if input.shape[1] == 1:
        return input.transpose(1, 2) * conj(mat2)
    return bmm(input.transpose(1, 2), conj(mat2))


def _folded_batch(op, size, batched, input, mat2):
    """Products of batches of matrices: one batch more."""
    _check_ranks("bmm", batched, input, mat2, (3, 3))
    input, mat2 = with_batch(size, batched, (input, mat2))
    return call(op, input.flatten(0, 1), mat2.flatten(0, 1)).unflatten(0, (size, input.shape[1]))


@rows_of(0)
def _mv_batch(op, size, batched, input, vec):
    _check_ranks("mv", batched, input, vec, (2, 1))
    if not batched[1]:
        return mv(input.flatten(0, 1), vec).unflatten(0, (size, input.shape[1]))
    if not batched[0]:
        return mm(vec, input.t())
    return bmm(input, vec.unsqueeze(2)).squeeze(2)


def _mv_t_batch(op, size, batched, input, vec):
    if not batched[0]:
        return mm_conj(vec, input)
    return bmm_tn(input, with_batch(size, batched, (input, vec))[1].unsqueeze(2)).squeeze(2)


def _dot_batch(op, size, batched, input, other):
    if input.dim() - batched[0] != 1 or other.dim() - batched[1] != 1:
        raise RuntimeError("Got wrong shapes for dot: expected two vectors")
    if input.shape[-1] != other.shape[-1] or input.dtype is not other.dtype:
        return NotImplemented  # which the op refuses
    return ((conj(input) if op is vdot else input) * other).sum(-1)


def _added_batch(product, rank):
    """Of beta * input + alpha * product(first, second), whose result has so many dimensions."""

    def rule(op, size, batched, input, first, second, beta, alpha):
        if input.dim() - batched[0] > rank or not input.dtype == first.dtype == second.dtype:
            return NotImplemented  # which the op refuses
        if batched[1] or batched[2]:
            result = _call_batched(product, size, batched[1:3], first, second)
        else:
            result = repeated(product(first, second), size)
        if not (result.is_floating_point() or result.is_complex()):
            beta, alpha = int(beta), int(alpha)
        result = result if alpha == 1 else result * alpha
        if beta == 0:
            return result
        input = lined_up(input, rank) if batched[0] else input
        return result + (input if beta == 1 else input * beta)

    return rule


def _call_batched(product, size, batched, first, second):
    rules = {mm: _mm_batch, mv: _mv_batch, bmm: _folded_batch}
    return rules[product](product, size, batched, first, second)


@rows_of(0)
def _linear_batch(op, size, batched, input, weight):
    if not batched[1]:
        return linear_plain(input.flatten(0, -2), weight).unflatten(0, input.shape[:-1])
    input = with_batch(size, batched, (input, weight))[0]
    result = bmm(input.reshape(size, prod(input.shape[1:-1]), input.shape[-1]), weight.transpose(1, 2))
    return result.reshape(*input.shape[:-1], weight.shape[1])


@rows_of(1)
def _linear_biased_batch(op, size, batched, bias, input, weight):
    if bias.dtype != input.dtype:
        return NotImplemented  # which the op refuses
    if batched[1] or batched[2]:
        result = _linear_batch(op, size, batched[1:], input, weight)
    else:
        result = linear_plain(input, weight)
        return repeated(result, size) + lined_up(bias, result.dim())
    return result + (lined_up(bias, result.dim() - 1) if batched[0] else bias)


def _addbmm_batch(op, size, batched, input, batch1, batch2, beta, alpha):
    """The sum of products of matrices is that of the matrices side by side with those one below the other."""
    ranks = batch1.dim() - batched[1], batch2.dim() - batched[2]
    if ranks != (3, 3) or batch1.shape[-3] != batch2.shape[-3]:
        return NotImplemented  # which the op refuses
    left, right = batch1.transpose(-3, -2).flatten(-2), batch2.flatten(-3, -2)
    return _added_batch(mm, 2)(op, size, batched, input, left, right, beta, alpha)


def _addmm_relu_batch(op, size, batched, input, mat1, mat2):
    result = _added_batch(mm, 2)(op, size, batched, input, mat1, mat2, 1, 1)
    return result if result is NotImplemented else relu(result)


def _addr_batch(op, size, batched, input, vec1, vec2, beta, alpha):
    if vec1.dim() - batched[1] != 1 or vec2.dim() - batched[2] != 1 or input.dim() - batched[0] > 2:
        return NotImplemented  # which the op refuses
    dtype = _addr_type(input, vec1, vec2, beta, alpha)
    vec1, vec2 = vec1.to(dtype).unsqueeze(-1), vec2.to(dtype).unsqueeze(-2)
    input = lined_up(input, 2) if batched[0] else input
    if dtype == bool_type:
        product = vec1 & vec2 & bool(alpha)
        result = product | input if beta else product
    else:
        product = vec1 * vec2 if alpha == 1 else vec1 * vec2 * alpha
        result = product if beta == 0 else product + (input if beta == 1 else input * beta)
    return result if result.dim() == 3 else repeated(result, size)


# ---- Products. The forms _nt (second operand conjugate-transposed) and _tn (first) need no transposed views. As in
# torch, the gradient of a matrix that lies column by column does so, too: that of w in x @ w.t() is as w is.


def is_turned(matrix):
    """Whether a matrix lies column by column; codegen/calls.py knows it by its name."""
    return matrix.stride() == (1, matrix.shape[0])


op("mm(input, mat2)", loop="addmm_impl_cpu_",
   widened=NARROW, native="mm", autocast="lower", out="exact", linear="input * mat2",
   input=lambda g, mat2, input_meta: mm_nt(g, mat2, is_turned(input_meta)),
   mat2=lambda g, input, mat2_meta: mm_tn(input, g, is_turned(mat2_meta)),
   doc="The product of two matrices.",
   batch=_mm_batch)  # fmt: skip
op("mm_nt(input, mat2, turned=False)", loop="addmm_impl_cpu_", widened=NARROW,
   native="mm_nt", autocast="lower", node="MmBackward0", public=False, linear="input * mat2",
   input=lambda g, mat2: mm(g, mat2),
   mat2=lambda g, input: mm_tn(g, input),
   batch=_mm_nt_batch)  # fmt: skip
op("mm_tn(input, mat2, turned=False)", loop="addmm_impl_cpu_", widened=NARROW,
   native="mm_tn", autocast="lower", node="MmBackward0", public=False, linear="input * mat2",
   input=lambda g, mat2: mm_nt(mat2, g),
   mat2=lambda g, input: mm(input, g),
   batch=_mm_tn_batch)  # fmt: skip

op("bmm(input, mat2)", native="bmm", autocast="lower", out="exact", linear="input * mat2",
   input=lambda g, mat2: bmm_nt(g, mat2),
   mat2=lambda g, input: bmm_tn(input, g),
   doc="The products of two batches of matrices.",
   batch=_folded_batch)  # fmt: skip
op("bmm_nt(input, mat2)", loop="bmm",
   native="bmm_nt", autocast="lower", node="BmmBackward0", public=False, linear="input * mat2",
   input=lambda g, mat2: bmm(g, mat2),
   mat2=lambda g, input: bmm_tn(g, input),
   batch=_folded_batch)  # fmt: skip
op("bmm_tn(input, mat2)", loop="bmm",
   native="bmm_tn", autocast="lower", node="BmmBackward0", public=False, linear="input * mat2",
   input=lambda g, mat2: bmm_nt(mat2, g),
   mat2=lambda g, input: bmm(input, g),
   batch=_folded_batch)  # fmt: skip

op("mv(input, vec)", autocast="none, lower", loop="addmv_impl_cpu", native="mv", out="exact",
   out_words="addmv input tensors must have the same dtype, but got {given}, {expected}, and {expected}",
   linear="input * vec",
   input=lambda g, vec: g.unsqueeze(1) * conj(vec),
   vec=lambda g, input: mv_t(input, g),
   doc="The product of a matrix and a vector.",
   batch=_mv_batch)  # fmt: skip
op("mv_t(input, vec)", loop="addmv_impl_cpu", native="mv_t", node="MvBackward0", public=False, linear="input * vec",
   input=lambda g, vec: vec.unsqueeze(1) * conj(g),
   vec=lambda g, input: mv(input, g),
   batch=_mv_t_batch)  # fmt: skip
op("dot(input, tensor)", autocast="none, promote", native="dot", out="exact", out_words=DOT, linear="input * tensor",
   input=lambda g, tensor: g * conj(tensor),
   tensor=lambda g, input: g * conj(input),
   doc="The sum of the products of two vectors' elements.",
   batch=_dot_batch)  # fmt: skip
op("vdot(input, other)", native="vdot", out="exact", out_words=DOT, linear="input * other",
   input=lambda g, other: conj(g) * other,
   other=lambda g, input: g * input,
   doc="The dot product with the first vector conjugated.",
   batch=_dot_batch)  # fmt: skip

# A product's result in another shape; shares memory that no other tensor is on.
op("_unsafe_view(input, size)", stored="all",
   native="unsafe_view", linear="input", public=False, node="UnsafeViewBackward0",
   input=lambda g, input_meta: g.reshape(input_meta.shape),
   batch="+size")  # fmt: skip
op("_squeezed_row(input, size)", stored="all",
   native="unsafe_view", linear="input", public=False, node="SqueezeBackward4",
   input=lambda g, input_meta: g.reshape(input_meta.shape),
   batch="+size")  # fmt: skip
op("_folded_back(input, size)", stored="all", native="unsafe_view", linear="input", public=False, node="ViewBackward0",
   input=lambda g, input_meta: g.reshape(input_meta.shape),
   batch="+size")  # fmt: skip

# ---- Products added to a tensor


def _times(tensor, factor):
    """A gradient times the conjugate of a number that is usually 1."""
    return tensor if factor == 1 else tensor * conj(factor)


op("addmm(input, mat1, mat2, *, beta=1, alpha=1)", loop="addmm_impl_cpu_", widened=NARROW,
   native="addmm", autocast="lower", inplace=True, out="exact",
   whole=("input",), linear="input + mat1 * mat2",
   input=lambda g, beta: _times(g, beta),
   mat1=lambda g, mat2, alpha, mat1_meta: _times(mm_nt(g, mat2, is_turned(mat1_meta)), alpha),
   mat2=lambda g, mat1, alpha, mat2_meta: _times(mm_tn(mat1, g, is_turned(mat2_meta)), alpha),
   doc="beta * input + alpha * (mat1 @ mat2)",
   batch=_added_batch(mm, 2))  # fmt: skip


def _addmm_relu_gradients(first):
    """The rule of all arguments from this one on: g is cut off once for them."""

    def rule(g, mat1, mat2, out):
        g = _relu_gradient(g, out)
        gradients = (lambda: g, lambda: mm_nt(g, mat2, is_turned(mat1)), lambda: mm_tn(mat1, g, is_turned(mat2)))
        return tuple(gradient() if rule_wants(i) else None for i, gradient in enumerate(gradients[first:]))

    return rule


# What a GPU may compute in one launch.
op("_addmm_relu(input, mat1, mat2)", loop="addmm_impl_cpu_", native="addmm_relu", autocast="lower", public=False,
   shown="_addmm_activation", node="AddmmActivationBackward0",
   input=_addmm_relu_gradients(0),
   mat1=_addmm_relu_gradients(1),
   mat2=_addmm_relu_gradients(2),
   batch=_addmm_relu_batch)  # fmt: skip
op("addmv(input, mat, vec, *, beta=1, alpha=1)", loop="addmv_impl_cpu", native="addmv", inplace=True, out="exact",
   autocast="none, lower",
   whole=("input",), linear="input + mat * vec",
   input=lambda g, beta: _times(g, beta),
   mat=lambda g, vec, alpha: _times(g.unsqueeze(1) * conj(vec), alpha),
   vec=lambda g, mat, alpha: _times(mv_t(mat, g), alpha),
   doc="beta * input + alpha * (mat @ vec)",
   batch=_added_batch(mv, 1))  # fmt: skip
op("baddbmm(input, batch1, batch2, *, beta=1, alpha=1)", native="baddbmm", autocast="lower", inplace=True, out="exact",
   whole=("input",), linear="input + batch1 * batch2",
   input=lambda g, beta: _times(g, beta),
   batch1=lambda g, batch2, alpha: _times(bmm_nt(g, batch2), alpha),
   batch2=lambda g, batch1, alpha: _times(bmm_tn(batch1, g), alpha),
   doc="beta * input + alpha * (batch1 @ batch2)",
   batch=_added_batch(bmm, 3))  # fmt: skip
op("addbmm(input, batch1, batch2, *, beta=1, alpha=1)", native="addbmm", autocast="lower", inplace=True, out="exact",
   out_words="self and mat2 must have the same dtype, but got {given} and {expected}",
   whole=("input",), linear="input + batch1 * batch2",
   input=lambda g, beta: _times(g, beta),
   batch1=lambda g, batch2, alpha: _times(bmm_nt(_for_each(g, batch2), batch2), alpha),
   batch2=lambda g, batch1, alpha: _times(bmm_tn(batch1, _for_each(g, batch1)), alpha),
   doc="beta * input + alpha * the sum of the products of two batches of matrices",
   batch=_addbmm_batch)  # fmt: skip


def _for_each(g, batch):
    return g.unsqueeze(0).expand(batch.shape[0], *g.shape)


def _addr_type(input, vec1, vec2, beta, alpha):
    """The type of the result, for which the factors must be right."""
    dtype = promote_types(input.dtype, promote_types(vec1.dtype, vec2.dtype))
    exact = not (dtype.is_floating_point or dtype.is_complex)
    for label, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and dtype != bool_type:
            raise RuntimeError(f"Boolean {label} only supported for Boolean results. Give a number")
        if isinstance(factor, float | complex) and exact:
            raise RuntimeError(f"For integral input tensors, argument {label} must not be a floating point number.")
        if isinstance(factor, complex) and not dtype.is_complex:
            raise RuntimeError(f"addr: value cannot be converted to type {dtype} without overflow: {label}={factor}")
    return dtype


def _addr(input, vec1, vec2, beta, alpha):
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    dtype = _addr_type(input, vec1, vec2, beta, alpha)
    input, vec1, vec2 = input.to(dtype), vec1.to(dtype), vec2.to(dtype)
    if dtype == bool_type:
        product = outer(vec1, vec2) & bool(alpha)
        input = input.expand(product.shape)
        return product | input if beta else product
    if beta == 1 and input.shape == (*vec1.shape, *vec2.shape):
        return addcmul(input, vec1.unsqueeze(1), vec2, value=alpha)
    return addmm(input, vec1.unsqueeze(1), vec2.unsqueeze(0), beta=beta, alpha=alpha)


op("addr(input, vec1, vec2, *, beta=1, alpha=1)", loop="addr_cpu",
   forward=_addr, autocast="off, lower", inplace=True, out=True,
   whole=("input", "vec1", "vec2"), linear="input + vec1 * vec2",
   input=lambda g, beta: _times(g, beta),
   vec1=lambda g, vec2, alpha: _times(mv(g, conj(vec2)), alpha),
   vec2=lambda g, vec1, alpha: _times(conj(mv_t(g, vec1)), alpha),
   doc="beta * input + alpha * outer(vec1, vec2)",
   batch=_addr_batch)  # fmt: skip


# ---- Any number of dimensions


def _batched(input, other):
    """matmul of batches that broadcast; vectors count as matrices with one row or column."""
    left = input.unsqueeze(0) if input.ndim == 1 else input
    right = other.unsqueeze(1) if other.ndim == 1 else other
    rows, columns = left.shape[-2:-1], right.shape[-1:]
    if left.shape[:-2] == right.shape[:-2]:
        batch = left.shape[:-2]
    else:
        batch = _broadcast(left.shape[:-2], right.shape[:-2])
        left = left.expand(*batch, *left.shape[-2:])
        right = right.expand(*batch, *right.shape[-2:])
    if len(batch) != 1:
        left = left.reshape(prod(batch), *left.shape[-2:])
        right = right.reshape(prod(batch), *right.shape[-2:])
    kept = (rows if input.ndim > 1 else ()) + (columns if other.ndim > 1 else ())
    return _unsafe_view(bmm(left, right), (*batch, *kept))


def _broadcast(a, b):
    ndim = max(len(a), len(b))
    a, b = (1,) * (ndim - len(a)) + tuple(a), (1,) * (ndim - len(b)) + tuple(b)
    for d, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y and x != 1 and y != 1:
            raise RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {d}"
            )
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def _multiply(input, other):
    a, b = input.ndim, other.ndim
    if a == 2 and b == 2:
        return mm(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 2:
        return _squeezed_row(mm(input.unsqueeze(0), other), other.shape[1:])
    if b <= 2:
        # Many matrices times one are one tall matrix times it.
        rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
        return _unsafe_view(_multiply(rows, other), (*input.shape[:-1], *other.shape[1:]))
    return _batched(input, other)


op("_matmul_out(input, other)", forward=_multiply, out="exact", public=False, input=None, other=None)


@composite(autocast="lower")
def matmul(input, other, *, out=None):
    """The matrix product of two tensors: dot product, matrix times vector, or batches of matrices that broadcast.

    >>> import adjoint as torch
    >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        name, position, value = ("other", 2, other) if isinstance(input, Tensor) else ("input", 1, input)
        kind = type(value).__name__
        raise TypeError(f"matmul(): argument '{name}' (position {position}) must be Tensor, not {kind}")
    return _multiply(input, other) if out is None else _matmul_out(input, other, out=out)


composite(matmul, namespace="linalg")


@composite(out=True, whole=("input", "vec2"), alias=("ger",))
def outer(input, vec2):
    """The products of each element of one vector with each of another.

    >>> import adjoint as torch
    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return input.unsqueeze(1) * vec2


@composite(out="exact", out_words=TENSORDOT, whole=("input", "other"))
def inner(input, other):
    """The dot products of the rows of one tensor with the rows of another.

    >>> import adjoint as torch
    >>> torch.inner(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor(11)
    """
    checks.tensor("inner", input=input, other=other)
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.dtype != other.dtype:
        raise RuntimeError(f"both inputs should have same dtype; got {input.dtype} and {other.dtype}")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


# ---- Linear layers. One node each, although torch shows the weight's transpose as a second one.

op("linear_plain(input, weight)", loop="addmm_impl_cpu_",
   widened=NARROW, native="linear_plain", autocast="lower", node="MmBackward0",
   public=False, shown="linear",
   linear="input * weight",
   input=lambda g, weight, input_meta: mm_conj(g, weight, is_turned(input_meta)),
   weight=lambda g, input, weight_meta: mm_t_conj(g, input, is_turned(weight_meta)),
   batch=_linear_batch)  # fmt: skip
op("linear_biased(bias, input, weight)", loop="addmm_impl_cpu_", widened=NARROW,
   native="linear_biased", autocast="lower", node="AddmmBackward0",
   public=False, shown="linear",
   linear="bias + input * weight",
   bias=lambda g: g,
   input=lambda g, weight, input_meta: mm_conj(g, weight, is_turned(input_meta)),
   weight=lambda g, input, weight_meta: mm_t_conj(g, input, is_turned(weight_meta)),
   batch=_linear_biased_batch)  # fmt: skip
# a conj(b) and a^T conj(b), which close the circle of derivatives with a b^T.
op("mm_conj(input, mat2, turned=False)", native="mm_conj", autocast="lower", node="MmBackward0", public=False,
   linear="input * mat2",
   input=lambda g, mat2: linear_plain(g, mat2),
   mat2=lambda g, input: mm_t_conj(input, g),
   batch=_mm_conj_batch)  # fmt: skip
op("mm_t_conj(input, mat2, turned=False)", native="mm_t_conj", autocast="lower", node="MmBackward0", public=False,
   linear="input * mat2",
   input=lambda g, mat2: linear_plain(mat2, g),
   mat2=lambda g, input: mm_conj(input, g),
   batch=_mm_t_conj_batch)  # fmt: skip


def _several_rows(bias):
    """Whether a bias is more, or less, than one row of numbers: torch then adds it to the product."""
    return bias.ndim != 1 and sum(size != 1 for size in bias.shape) != 1


@composite(namespace="nn.functional")
def linear(input, weight, bias=None, *, out=None):
    """input @ weight.T + bias, over the last dimension of the input.

    >>> import adjoint as torch
    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.eye(2), torch.tensor([0.0, 1.0]))
    tensor([[1., 2.]])
    """
    if out is not None:
        return _C._call_out("linear", linear, (input, weight, bias), {}, out, "exact", None, (), ())
    ndim = input.ndim
    if ndim == 2 and weight.ndim == 2:
        return linear_plain(input, weight) if bias is None else linear_biased(bias, input, weight)
    if ndim == 0 or weight.ndim == 0:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {ndim}D and {weight.ndim}D")
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if bias is not None and ndim != 2 and _several_rows(bias):
        return matmul(input, weight.t()).add_(bias)
    if weight.ndim == 1:
        if bias is not None:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor; a vector as weight takes no bias")
        return matmul(input, weight)
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    size = (*input.shape[:-1], weight.shape[0])
    if bias is None:
        product = linear_plain(rows, weight)
        return _squeezed_row(product, size) if ndim == 1 else _unsafe_view(product, size)
    return _folded_back(linear_biased(bias, rows, weight), size)


@composite(namespace="nn.functional", autocast="off")
def bilinear(input1, input2, weight, bias=None):
    """x1 @ weight[k] @ x2 for each k, plus bias, over the last dimensions of the two inputs.

    >>> import adjoint as torch
    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    if not input1.dtype == input2.dtype == weight.dtype:
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {input1.dtype}, input2: {input2.dtype}, weight: "
            f"{weight.dtype}; convert them with .to(dtype)"
        )
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (x, y) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if x != y:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {x} and {y}")
    for number, tensor in enumerate((input1, input2), 1):
        if tensor.size(-1) != weight.size(number):
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {tensor.size(-1)} but expected "
                f"{weight.size(number)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected {weight.size(0)}"
        )
    count, out, first, second = prod(input1.shape[:-1]), *weight.shape
    halfway = mm(input1.reshape(count, first), weight.transpose(0, 1).reshape(first, out * second))
    result = bmm(halfway.reshape(count, out, second), input2.reshape(count, second, 1))
    result = result.reshape(*input1.shape[:-1], out)
    return result if bias is None else result + bias


composite(bilinear, method=False)


@composite(out=True, apart=("input", "other"))
def kron(input, other):
    """The Kronecker product: each element of the input times all of the other tensor.

    >>> import adjoint as torch
    >>> torch.kron(torch.eye(2), torch.tensor([1.0, 2.0]))
    tensor([[1., 2., 0., 0.],
            [0., 0., 1., 2.]])
    """
    checks.tensor("kron", input=input, other=other)
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    spaced_a = [size for pair in zip(a, (1,) * ndim, strict=True) for size in pair]
    spaced_b = [size for pair in zip((1,) * ndim, b, strict=True) for size in pair]
    product = input.reshape(spaced_a) * other.reshape(spaced_b)
    return _unsafe_view(product, [x * y for x, y in zip(a, b, strict=True)])


# ---- Contractions


@composite(out="exact", out_words=TENSORDOT, method=False)
def tensordot(a, b, dims=2):
    """The sums of products over several dimensions of two tensors: the last and first `dims`, or lists of them.

    >>> import adjoint as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        if not isinstance(dims, (tuple, list)):
            raise RuntimeError(
                "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two "
                f"lists, but got dims={dims}"
            )
        if len(dims) != 2:
            raise ValueError(f"tensordot expects dims to be an int or two lists of ints, but got {len(dims)} of them")
        dims_a, dims_b = dims
        if isinstance(dims_a, int) or isinstance(dims_b, int):
            raise TypeError("tensordot(): argument 'dims' must be an int or two tuples of ints, not (int, int)")
    if len(dims_a) != len(dims_b):
        raise RuntimeError(f"both dimension lists should have same length; got {list(dims_a)} and {list(dims_b)}")
    summed_a, kept_a = _split_dims(a, dims_a)
    summed_b, kept_b = _split_dims(b, dims_b)
    for dim_a, dim_b, x, y in zip(dims_a, dims_b, summed_a, summed_b, strict=True):
        if a.shape[x] == b.shape[y]:
            continue
        # A dimension of one element counts as repeated.
        if a.shape[x] == 1:
            b = b.sum(y, keepdim=True, dtype=b.dtype)
        elif b.shape[y] == 1:
            a = a.sum(x, keepdim=True, dtype=a.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[x]} in dim {dim_a} and second has "
                f"size {b.shape[y]} in dim {dim_b}"
            )
    size_a, size_b = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
    depth = prod(a.shape[d] for d in summed_a)
    left = a.permute(kept_a + summed_a).reshape(prod(size_a), depth)
    right = b.permute(summed_b + kept_b).reshape(depth, prod(size_b))
    if prod(size_a) == prod(size_b) == 1:  # as in torch, which autocast tells from a product of matrices
        return dot(left.view(depth), right.view(depth)).view(size_a + size_b)
    return mm(left, right).reshape(size_a + size_b)


def _split_dims(tensor, dims):
    """The given dimensions, not negative, and the other ones."""
    summed = []
    for dim in dims:
        if not -tensor.ndim <= dim < tensor.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-tensor.ndim}, {tensor.ndim - 1}], "
                f"but got {dim})"
            )
        dim %= tensor.ndim
        if dim in summed:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        summed.append(dim)
    return summed, [d for d in range(tensor.ndim) if d not in summed]
