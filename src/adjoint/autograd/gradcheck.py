"""Checks gradients against finite differences: gradcheck, and gradgradcheck for second gradients."""

import warnings

from .. import _C
from ._gradient_checks import (
    GradcheckError,
    _chance,
    _check_backward,
    _check_batched,
    _check_batched_forward,
    _check_constants,
    _check_forward,
    _check_inputs,
    _check_proportional,
    _check_repeated,
    _check_types,
    _check_undefined,
    _check_undefined_forward,
    _random_like,
)
from ._jacobians import (
    _analytical_jacobian,
    _differentiable,
    _gradients,
    _is_checked,
    _is_close,
    _numerical_jacobian,
    _numerical_jacobians,
    _tupled,
)


def _of_values(func, inputs, masked):
    """A function of sparse tensors as one of their values, and these."""
    if not any(isinstance(x, _C.Tensor) and x.layout is not _C.strided and x.requires_grad for x in inputs):
        return func, inputs
    from ..sparse._gradcheck import of_values

    return of_values(func, inputs, masked)


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Whether the gradients of `func` at `inputs` agree with finite differences; raises if they do not.

    >>> import adjoint as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x ** 3, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    _check_needs("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _check_needs("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad)
    func, inputs = _of_values(func, _tupled(inputs), masked)
    checked = _check_inputs(inputs)
    try:
        outputs = _tupled(func(*inputs))
        if not any(output.requires_grad for output in outputs):
            _check_constants(func, inputs, checked, outputs, eps, atol)
            return True
        if check_backward_ad:
            _check_backward(func, inputs, checked, outputs, eps, atol, rtol, fast_mode)
        if check_forward_ad:
            _check_forward(func, inputs, checked, outputs, eps, atol, rtol, fast_mode)
            if check_undefined_grad:
                _check_undefined_forward(func, inputs, checked)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs, checked)
        if check_backward_ad:
            differentiable = [i for i, output in enumerate(outputs) if output.requires_grad]
            wanted = [inputs[i] for i in checked]
            for i in differentiable:
                if check_batched_grad:
                    _check_batched(outputs[i], i, wanted, checked)
                _check_repeated(outputs[i], wanted, nondet_tol)
                _check_proportional(outputs[i], wanted)
                if check_grad_dtypes:
                    _check_types(outputs[i], wanted)
            if check_undefined_grad:
                _check_undefined([outputs[i] for i in differentiable], wanted)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """Whether the gradients of the gradients of `func` agree with finite differences; raises if they do not.

    >>> import adjoint as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x ** 3, x)
    True
    """
    from . import grad

    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    _check_needs("check_undefined_grad", check_undefined_grad, "check_rev_over_rev", check_rev_over_rev)
    _check_needs("check_batched_grad", check_batched_grad, "check_rev_over_rev", check_rev_over_rev)
    func, inputs = _of_values(func, _tupled(inputs), masked)
    if grad_outputs is None:
        chance = _chance(0)
        grad_outputs = tuple(
            _random_like(output, chance, -1.0, gen_non_contig_grad_outputs).requires_grad_()
            for output in _differentiable(func(*inputs))
        )
    else:
        grad_outputs = _tupled(grad_outputs)
    count = len(grad_outputs)

    def first_gradients(*args):
        arguments, cotangents = args[: len(args) - count], args[len(args) - count :]
        outputs = _differentiable(func(*arguments))
        wanted = tuple(x for x in arguments if _is_checked(x))
        gradients = grad(outputs, wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple(g.to_dense() for g in gradients if g is not None)

    return gradcheck(
        first_gradients,
        inputs + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _check_needs(name, value, other, other_value):
    if value and not other_value:
        raise AssertionError(f"Setting {name}=True requires {other} to be True")


# ---- Jacobians for old code


_OLD = (
    "`{}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed "
    "in a future version; use torch.autograd.functional.jacobian() or gradcheck()."
)


def _warn_old(name, grad_out):
    warnings.warn(_OLD.format(name), FutureWarning, stacklevel=3)
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def _check_real(name, output):
    if output.is_complex():
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )


def get_numerical_jacobian(fn, inputs, target=None, eps=1e-3, grad_out=1.0):
    """The Jacobians of the first output of fn(inputs) by those inputs that require grad, by finite differences.

    They have a row for each element of the input.

    >>> import adjoint as torch
    >>> from adjoint.autograd.gradcheck import get_numerical_jacobian
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> [rows] = get_numerical_jacobian(lambda inputs: inputs[0] ** 2, (x,))  # doctest: +SKIP
    """
    _warn_old("get_numerical_jacobian", grad_out)
    inputs = _tupled(inputs)
    _check_real("get_numerical_jacobian", _tupled(fn(inputs))[0])
    targets = None if target is None else [id(x) for x in _tupled(target)]
    found = []
    for which, x in enumerate(inputs):
        if _is_checked(x) and (targets is None or id(x) in targets):
            rows = _numerical_jacobian(lambda *x: fn(x), inputs, which, lambda output: output, eps, 0)
            found.append(x.new_zeros(0, 0) if rows is None else rows)
    return tuple(found)


def get_numerical_jacobian_wrt_specific_input(fn, input_idx, inputs, outputs, eps, input=None, is_forward_ad=False):
    """The Jacobians of all outputs of fn(*inputs) by one input, by finite differences; they have its rows.

    `input` is the tensor whose elements are moved, where it is another one on the memory of that input.

    >>> import adjoint as torch
    >>> from adjoint.autograd.gradcheck import get_numerical_jacobian_wrt_specific_input
    >>> x = torch.tensor([0.0, 0.0], dtype=torch.float64, requires_grad=True)
    >>> get_numerical_jacobian_wrt_specific_input(lambda x: x ** 2, 0, (x,), (x,), 1e-3)
    (tensor([[0., 0.],
            [0., 0.]], dtype=torch.float64),)
    """
    moved = inputs[input_idx] if input is None else input
    if not moved.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    if any(output.is_complex() for output in outputs) and not (is_forward_ad and not moved.is_complex()):
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    return tuple(_numerical_jacobians(lambda _: fn(*inputs), (moved,), 0, lambda output: output, eps))


def get_analytical_jacobian(inputs, output, nondet_tol=0.0, grad_out=1.0):
    """The Jacobians of an output by those inputs that require grad, by backward, with a row for each input element.

    Beside them whether backward gives the same twice, gradients of the right sizes, and of the right types.

    >>> import adjoint as torch
    >>> from adjoint.autograd.gradcheck import get_analytical_jacobian
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> (rows,), *answers = get_analytical_jacobian((x,), x ** 2)  # doctest: +SKIP
    """
    _warn_old("get_analytical_jacobian", grad_out)
    _check_real("get_analytical_jacobian", output)
    wanted = [x for x in _tupled(inputs) if _is_checked(x)]
    first, second = ([_analytical_jacobian(output, x) for x in wanted] for _ in range(2))
    repeated = all(_is_close(a, b, 0, nondet_tol) for a, b in zip(first, second, strict=True))
    gradients = _gradients(output, wanted, _C.zeros_like(output))
    right_sizes = all(g.shape == x.shape for g, x in zip(gradients, wanted, strict=True))
    right_types = all(g.dtype == x.dtype for g, x in zip(gradients, wanted, strict=True))
    return tuple(first), repeated, right_sizes, right_types
