"""Every op of the table against torch: values, types, nodes, gradients of two orders, layouts, in-place and out= forms,
finite differences, and what editing a tensor between forward and backward does. The calls are in tests/samples.
"""

import functools

import numpy as np
import pytest
import torch

import adjoint
from adjoint.ops import language

from .compare import LIBRARIES, OPS, Bound, assert_same, outcome, outcome_difference, related, tensors_in
from .gradients import dtype_name, first_gradients, second_gradients
from .oracle.report import agreed
from .samples import LAYOUTS, collect, find, in_torchs_words, instead, is_differentiable
from .samples.elementwise import ALL, declared_types, made_from

# Both libraries say it of a sample of kl_div, which has the default reduction.
pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss")
TABLE = adjoint.ops.table()


def dotted(declaration):
    namespace, name = declaration.namespace, declaration.name
    return f"{namespace}.{name.removeprefix(f'{namespace}_')}" if namespace else name


@functools.cache
def samples_by_name():
    """All samples: those written down, and those made from elementwise declarations."""
    samples = collect("SAMPLES")
    for declaration in TABLE.values():
        if declaration.kind == "elementwise" and (declaration.function or declaration.method):
            name = dotted(declaration)
            types = declared_types(declaration) if name in instead() else ALL
            samples.setdefault(name, [])[:0] = made_from(declaration, types)
    return in_torchs_words(samples)


def agreed_names():
    """The ops that tests/oracle compares with torch: those of the operator database that agree."""
    return [name for name, levels in agreed().items() if "forward" in levels]


NAMES = sorted(samples_by_name())
every_op = pytest.mark.parametrize("name", NAMES)


# ---- Calling and comparing


def call(library, name, sample, args, kwargs):
    """The result of a sample's call."""
    if sample.seed:
        library.manual_seed(1)
    if library is torch and sample.torch is not None:
        result = sample.torch(torch, *args, **kwargs)
    else:
        result = find(library, name)(*args, **kwargs)
    return result if sample.compare is None else sample.compare(library, result)


def attempt(function, library=adjoint):
    """The outcome of function(library), its value as it is."""
    return outcome(function, library, look=None)


def in_both(function, lenient=False):
    """Results of function(library) for both libraries; None when torch refuses, as we then must (or, lenient, may)."""
    theirs, ours = attempt(function, torch), attempt(function)
    if theirs.error is not None:
        if not lenient:
            assert_same_error(ours, theirs)
        return None
    if ours.error is not None:
        raise ours.error
    return ours.value, theirs.value


def assert_same_error(ours, theirs):
    reason = outcome_difference(ours, theirs, error=related, warned=None)
    assert reason is None, reason


def assert_close(ours, theirs, tolerance=None, what="value"):
    """The same values within a sample's tolerance, relative and absolute, or those of all ops."""
    assert_same(ours, theirs, bound=Bound(*tolerance) if tolerance else OPS, what=what)


def leaves_of(tensors):
    return [tensor for tensor in tensors if tensor.requires_grad]


def run(library, name, sample, dtype=None, layout="contiguous"):
    """(result, leaves) of a sample."""
    args, kwargs, tensors = sample.make(library, dtype, layout)
    return call(library, name, sample, args, kwargs), leaves_of(tensors)


def compare_gradients(sample, both):
    """First gradients of both runs (result, leaves); False when torch has none."""
    runs = dict(zip((adjoint, torch), both, strict=True))
    gradients = in_both(lambda library: first_gradients(library, *runs[library])[0], lenient=True)
    if gradients is not None:
        dtypes = {dtype_name(x.dtype) for x in both[1][1]}
        # Torch rounds each step of a gradient; here only the last one is rounded.
        coarse = (6e-2, 1e-2) if "bfloat16" in dtypes else (4e-3, 1e-4) if "float16" in dtypes else None
        assert_close(*gradients, sample.tolerance or coarse, f"gradient of {sample!r}")
    return gradients is not None


def compare_runs(name, sample, dtype=None, layout="contiguous", lenient=False):
    """Values and first gradients of a sample in both libraries; returns both runs, or None when torch refuses."""
    both = in_both(lambda library: run(library, name, sample, dtype, layout), lenient)
    if both is None:
        return None
    assert_close(both[0][0], both[1][0], sample.tolerance)
    compare_gradients(sample, both)
    return both


# ---- The tests


def public_names():
    """Every name of the table that people can call, as a function or a method."""
    ops = {name for name, item in TABLE.items() if (item.function or item.method) and item.inplace != "only"}
    return sorted(ops | {name for name in language.COMPOSITES if not name.startswith("_")})


# Attributes rather than calls, and moves to devices that are not there (test_devices_and_types.py).
NOT_CALLED = {"H", "mH", "mT", "numpy_T", "real", "imag", "cuda", "xpu"}
# What sparse tensors alone are asked for (tests/sparse).
NOT_CALLED |= {"coalesce", "dense_dim", "indices", "is_coalesced", "sparse_dim", "sparse_mask", "sparse_resize_"}
NOT_CALLED |= {"sparse_resize_and_clear_", "to_sparse", "to_sparse_coo", "values"}
NOT_CALLED |= {"ccol_indices", "col_indices", "crow_indices", "row_indices"}
NOT_CALLED |= {"to_sparse_bsc", "to_sparse_bsr", "to_sparse_csc", "to_sparse_csr"}


@pytest.mark.parametrize("name", public_names())
def test_has_samples(name):
    known = {part for key in NAMES + agreed_names() for part in key.split(".")}
    plain = name.removesuffix("_").removeprefix("linalg_").removeprefix("masked_").removeprefix("functional_")
    assert name in known or name in NOT_CALLED or plain in known, (
        f"{name} has no samples, and torch's operator database has none that agree: add some to tests/samples"
    )


@every_op
def test_value_and_gradient(name):
    for sample in samples_by_name()[name]:
        for dtype in sample.dtypes:
            # What torch has not implemented for a type, we may have.
            lenient = dtype != sample.dtypes[0]
            both = compare_runs(name, sample, dtype, lenient=lenient)
            if both is None:
                continue
            for ours, theirs in zip(tensors_in(both[0][0]), tensors_in(both[1][0]), strict=True):
                if "NotImplemented" in str(theirs.grad_fn):
                    continue
                assert ours.requires_grad == theirs.requires_grad, f"requires_grad of {sample!r} in {dtype}"
                if sample.node and theirs.grad_fn is not None and ours.grad_fn is not None:
                    assert ours.grad_fn.name() == theirs.grad_fn.name(), f"{sample!r}"


@every_op
def test_second_gradient(name):
    for sample in samples_by_name()[name]:
        if not sample.gradgrad or sample.precise is None:
            continue
        gradients = in_both(lambda lib, sample=sample: second_gradients(lib, *run(lib, name, sample)), lenient=True)
        if gradients is not None:
            assert_close(*gradients, sample.tolerance or (1e-6, 1e-6), f"second gradient of {sample!r}")


@every_op
def test_layouts(name):
    for sample in samples_by_name()[name]:
        if sample.layouts and not sample.seed:
            for layout in LAYOUTS[1:]:
                compare_runs(name, sample, layout=layout)


def method_of(library, name):
    """The method of Tensor that goes with a function's name."""
    return getattr(library.Tensor, name.rpartition(".")[2], None)


@every_op
def test_method(name):
    for sample in samples_by_name()[name][:3]:
        if method_of(torch, name) is None or "." in name or sample.torch is not None or sample.seed:
            continue
        if not (sample.args and hasattr(sample.args[0], "numbers")):
            continue

        def result(library, sample=sample):
            args, kwargs, _ = sample.make(library)
            return method_of(library, name)(*args, **kwargs)

        both = in_both(result)
        if both is not None:
            assert_close(*both, sample.tolerance)


# Views that torch can also apply to a tensor's own geometry, and forms that nobody has asked for yet.
WITHOUT_IN_PLACE_FORM = {"addr", "as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze"}
# Torch does not record these in place: the gradient passes as if nothing had been written. Here it is zero, as for eq_.
GRADIENT_UNLIKE_TORCH = {"logical_and", "logical_not", "logical_or", "logical_xor"}


@every_op
def test_in_place(name):
    if method_of(torch, f"{name}_") is None or name in WITHOUT_IN_PLACE_FORM:
        return
    for sample in samples_by_name()[name]:
        if not (sample.inplace and sample.precise and sample.args and hasattr(sample.args[0], "numbers")):
            continue

        def changed(library, sample=sample):
            args, kwargs, tensors = sample.make(library)
            leaves = leaves_of(tensors)
            args[0] = args[0].clone()
            result = method_of(library, f"{name}_")(*args, **kwargs)
            assert result is args[0]
            return result, leaves

        both = in_both(changed)
        if both is None:
            continue
        (ours, _), (theirs, _) = both
        assert_close(ours, theirs, sample.tolerance)
        assert ours._version == theirs._version
        assert ours.requires_grad == theirs.requires_grad
        if name in GRADIENT_UNLIKE_TORCH:
            continue
        if compare_gradients(sample, both) and sample.node and theirs.grad_fn is not None:
            # Torch numbers some in-place forms apart.
            assert ours.grad_fn.name()[:-1] == theirs.grad_fn.name()[:-1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("source", ["same", "row", "scalar"])
def test_copy_in_place(dtype, source):
    def program(library):
        target = (library.ones(2, 3).requires_grad_() * 2).to(getattr(library, dtype))
        shape = {"same": (2, 3), "row": (3,), "scalar": ()}[source]
        values = library.arange(6.0)[: int(np.prod(shape))].reshape(shape).requires_grad_()
        target.copy_(values)
        if target.requires_grad:
            (target * 3).real.sum().backward() if target.is_complex() else (target * 3).sum().backward()
        return target, values.grad

    assert_close(program(adjoint), program(torch))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "bfloat16"])
def test_zero_in_place(dtype):
    def program(library):
        leaf = library.ones(2, 3).requires_grad_()
        target = (leaf * 2).to(getattr(library, dtype))
        target.t().zero_()
        if target.requires_grad:
            target.abs().sum().backward()
        return target, leaf.grad

    assert_close(program(adjoint), program(torch))


@every_op
def test_out(name):
    declaration = TABLE.get(name.rpartition(".")[2])
    if declaration is None or not declaration.out or not declaration.function:
        return
    for sample in samples_by_name()[name]:
        if sample.torch is not None or not sample.out:
            continue

        def written(library, sample=sample):
            args, kwargs, tensors = sample.make(library)
            for tensor in tensors:
                tensor.requires_grad_(False)
            result = find(library, name)(*args, **kwargs)
            fresh = [library.empty((0,), dtype=tensor.dtype) for tensor in tensors_in(result)]
            out = fresh[0] if isinstance(result, library.Tensor) else tuple(fresh)
            returned = find(library, name)(*args, **kwargs, out=out)
            assert (returned if isinstance(result, library.Tensor) else returned[0]) is fresh[0]
            return tuple(fresh)

        both = in_both(written, lenient=True)
        if both is not None:
            assert_close(*both, sample.tolerance)


@every_op
def test_finite_differences(name):
    for sample in samples_by_name()[name]:
        if not sample.gradcheck or sample.precise is None or sample.seed:
            continue
        result, leaves = attempt(lambda L, sample=sample: run(L, name, sample)).value or (None, [])
        if not leaves or not any(tensor.requires_grad for tensor in tensors_in(result)):
            continue

        def function(*values, sample=sample):
            args, kwargs, _ = sample.make(adjoint)
            remaining = list(values)

            def substitute(value):
                if isinstance(value, adjoint.Tensor):
                    return remaining.pop(0) if value.requires_grad else value
                return type(value)(map(substitute, value)) if type(value) in (tuple, list) else value

            args = [substitute(value) for value in args]
            kwargs = {key: substitute(value) for key, value in kwargs.items()}
            result = call(adjoint, name, sample, args, kwargs)
            outputs = tuple(t for t in tensors_in(result) if is_differentiable(dtype_name(t.dtype)))
            # A result that is the argument itself must not be moved under gradcheck's feet.
            return tuple(t.clone() if any(t is value for value in values) else t for t in outputs)

        assert adjoint.autograd.gradcheck(function, leaves, fast_mode=True)
        if sample.gradgrad:
            assert adjoint.autograd.gradgradcheck(function, leaves, fast_mode=True, atol=1e-4)


def edited_gradients(library, name, sample, which):
    """Gradients after tensor number `which` of the call (or a result: negative) was changed between the two passes."""
    args, kwargs, tensors = sample.make(library)
    result = call(library, name, sample, args, kwargs)
    if which is not None:
        candidates = tensors if which >= 0 else tensors_in(result)
        target = candidates[which if which >= 0 else -which - 1]
        with library.no_grad():
            if dtype_name(target.dtype) == "bool":
                target.logical_not_()
            else:
                target.add_(1)
    return first_gradients(library, result, leaves_of(tensors))[0]


# Ops that save an argument where torch saves something else, or a copy of it.
SAVES_MORE = {
    "lstm",  # its output, as torch does in float32
    "copysign",
    "einsum",
    "erfinv",
    "kron",
    "matmul",
    "nn.functional.mse_loss",
    "nn.functional.scaled_dot_product_attention",
    "nn.functional.tanhshrink",
    "take_along_dim",
}


@every_op
def test_edits_between_forward_and_backward(name):
    for sample in samples_by_name()[name]:
        if not sample.edits or sample.precise is None or sample.seed:
            continue
        args, kwargs, tensors = sample.make(adjoint)
        result = attempt(lambda L, s=sample, a=args, k=kwargs: call(L, name, s, a, k)).value
        if not any(tensor.requires_grad for tensor in tensors_in(result)):
            continue
        expected = attempt(lambda L, s=sample: edited_gradients(L, name, s, None))
        if expected.error is not None:
            continue
        for which in [*range(len(tensors)), *range(-len(tensors_in(result)), 0)]:

            def edited(library, sample=sample, which=which):
                return edited_gradients(library, name, sample, which)

            ours = attempt(edited)
            where = f"{sample!r}, tensor {which}"
            if ours.error is None:
                assert_same(ours.value, expected.value, bound=Bound(1e-7), what=f"an edit went unnoticed: {where}")
                continue
            theirs = attempt(edited, torch)
            if theirs.error is None and name in SAVES_MORE:
                continue
            assert theirs.error is not None, f"{where}: torch allows this edit, here {ours.error}"
            assert_same_error(ours, theirs)


@pytest.mark.parametrize("name", sorted(collect("ERRORS")))
def test_errors(name):
    for sample in collect("ERRORS")[name]:
        theirs, ours = (attempt(lambda L, sample=sample: run(L, name, sample), library) for library in LIBRARIES)
        assert theirs.error is not None, f"torch does not refuse {sample!r}"
        assert_same_error(ours, theirs)
