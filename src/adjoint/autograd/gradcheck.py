"""Checks gradients against finite differences: gradcheck, and gradgradcheck for second gradients.

Jacobians are matrices of input elements by output elements. Of a complex input z = x + iy the row is d/dx + i d/dy,
which is what backward gives for a real result; a complex output is checked as its real and its imaginary part.
"""

import itertools
import warnings

from .. import _C

# Ops are found by name when they are called: this module is imported before they are declared.
stack = _C.op_object("stack")


class GradcheckError(RuntimeError):
    """A gradient that is not what finite differences say."""


def _chance(seed):
    """A source of random numbers that disturbs nobody's."""
    import random  # here, because most programs never check a gradient

    return random.Random(seed)


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
    _refuse(check_batched_grad or check_batched_forward_grad, "check_batched_grad=True needs vmap")
    _refuse(check_forward_ad, "check_forward_ad=True needs forward mode")
    if not check_backward_ad:
        return True
    try:
        _check(func, _tupled(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode)
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

    _refuse(check_fwd_over_rev, "check_fwd_over_rev=True needs forward mode")
    if not check_rev_over_rev:
        return True
    inputs = _tupled(inputs)
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
        return tuple(g for g in gradients if g is not None)

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
        fast_mode=fast_mode,
        masked=masked,
    )


def _refuse(wanted, reason):
    if wanted:
        raise NotImplementedError(f"gradcheck: {reason}, which is not available; leave the option out")


# ---- Inputs and outputs


def _tupled(value):
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _is_number_type(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def _is_checked(value):
    return isinstance(value, _C.Tensor) and value.requires_grad and _is_number_type(value)


def _differentiable(outputs):
    return tuple(output for output in _tupled(outputs) if output.requires_grad)


def _check_inputs(inputs):
    """The numbers of the inputs to be checked; complains about those that cannot be."""
    checked = []
    for i, x in enumerate(inputs):
        if not (isinstance(x, _C.Tensor) and x.requires_grad):
            continue
        if x.dtype not in (_C.float64, _C.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex.",
                UserWarning,
                stacklevel=4,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
        checked.append(i)
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return checked


def _random_like(tensor, chance, low, spread_out=False):
    """Random numbers in [low, 1) in a tensor's shape and type; `spread_out` puts gaps between them in memory."""
    step = 2 if spread_out else 1

    def numbers():
        return [chance.uniform(low, 1.0) for _ in range(tensor.numel() * step)]

    values = numbers()
    if tensor.is_complex():
        values = [complex(*pair) for pair in zip(values, numbers(), strict=True)]
    flat = _C.tensor(values, dtype=tensor.dtype)
    return flat[::step].reshape(tensor.shape) if not spread_out else flat.reshape((*tensor.shape, 2)).select(-1, 0)


# ---- Derivatives


def _parts(outputs):
    """How outputs are made real: [(opening words, function of an output)], and which outputs take part."""
    if not any(output.is_complex() for output in outputs):
        return [("", lambda output: output)]
    return [
        (
            "While considering the imaginary part of complex outputs only, ",
            lambda output: output.imag if output.is_complex() else output,
        ),
        (
            "While considering the real part of complex outputs only, ",
            lambda output: output.real if output.is_complex() else output,
        ),
    ]


def _evaluated(func, inputs, part):
    """The values of the outputs, on memory of their own."""
    return [part(output.detach()).clone() for output in _tupled(func(*inputs))]


def _difference(func, inputs, part, move, eps):
    """The central difference of all outputs when move(+-eps) has changed an input."""
    move(eps)
    ahead = _evaluated(func, inputs, part)
    move(-eps)
    behind = _evaluated(func, inputs, part)
    move(0.0)
    return [(a - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]


def _numerical_columns(func, inputs, which, part, eps):
    """d outputs / d each element of one input: lists of outputs, one per element in row-major order."""
    memory = inputs[which].data
    rows = []
    for place in itertools.product(*map(range, memory.shape)):
        before = memory[place].item()

        def move(step, place=place, before=before, unit=1.0):
            memory[place] = before + step * unit

        row = _difference(func, inputs, part, move, eps)
        if memory.is_complex():
            imaginary = _difference(func, inputs, part, lambda step, move=move: move(step, unit=1j), eps)
            row = [x + 1j * y for x, y in zip(row, imaginary, strict=True)]
        rows.append(row)
    return rows


def _numerical_jacobian(func, inputs, which, part, eps, output):
    """The Jacobian of one output with respect to one input, by finite differences."""
    rows = [row[output].reshape(-1) for row in _numerical_columns(func, inputs, which, part, eps)]
    return stack(rows) if rows else None


def _gradients(output, wanted, cotangent):
    """The gradients of one output, zeros where it does not depend on an input."""
    from . import grad

    gradients = grad(output, wanted, cotangent, retain_graph=True, allow_unused=True)
    return [_C.zeros_like(x) if g is None else g for x, g in zip(wanted, gradients, strict=True)]


def _analytical_jacobian(output, x):
    """The Jacobian of one real output with respect to one input, by backward."""
    columns = []
    for place in range(output.numel()):
        cotangent = _C.zeros(output.numel(), dtype=output.dtype)
        cotangent[place] = 1
        columns.append(_gradients(output, (x,), cotangent.reshape(output.shape))[0].reshape(-1))
    return stack(columns, 1) if columns else None


def _is_close(a, b, rtol, atol):
    a, b = _C.tensor(a) if not isinstance(a, _C.Tensor) else a, _C.tensor(b) if not isinstance(b, _C.Tensor) else b
    near = (a - b).abs() <= atol + rtol * b.abs()
    return bool(((a == b) | near).all())


# ---- The checks


def _check(func, inputs, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode):
    checked = _check_inputs(inputs)
    outputs = _tupled(func(*inputs))
    differentiable = [i for i, output in enumerate(outputs) if output.requires_grad]
    for opening, part in _parts(outputs):
        compare = _compare_fast if fast_mode else _compare_slow
        for i in range(len(outputs)):
            if i in differentiable:
                compare(func, inputs, checked, outputs[i], i, opening, part, eps, atol, rtol)
            elif _is_number_type(outputs[i]):
                _check_constant(func, inputs, checked, i, part, eps, atol)
    wanted = [inputs[i] for i in checked]
    for i in differentiable:
        _check_repeated(outputs[i], wanted, nondet_tol)
        _check_proportional(outputs[i], wanted)
        if check_grad_dtypes:
            _check_types(outputs[i], wanted)
    if check_undefined_grad:
        _check_undefined([outputs[i] for i in differentiable], wanted)


def _mismatch(opening, output, which, numerical, analytical):
    return (
        f"{opening}Jacobian mismatch for output {output} with respect to input {which},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def _compare_slow(func, inputs, checked, output, number, opening, part, eps, atol, rtol):
    for which in checked:
        numerical = _numerical_jacobian(func, inputs, which, part, eps, number)
        analytical = _analytical_jacobian(part(output), inputs[which])
        if numerical is None or analytical is None:
            continue
        if not _is_close(analytical, numerical, rtol, atol):
            raise GradcheckError(_mismatch(opening, number, which, numerical, analytical))


def _direction(x, chance):
    """A random direction of length 1, with positive components."""
    u = _random_like(x, chance, 0.0)
    parts = (u.real, u.imag) if x.is_complex() else (u, None)
    return [None if p is None else p / (p * p).sum().sqrt().clamp_min(1e-30) for p in parts]


def _compare_fast(func, inputs, checked, output, number, opening, part, eps, atol, rtol):
    """Compares v' J u for one random v and one random u for each input: a single number instead of a Jacobian."""
    chance = _chance(0)
    real_output = part(output)
    v, _ = _direction(real_output.detach(), chance)
    gradients = _gradients(real_output, [inputs[i] for i in checked], v)
    for which, gradient in zip(checked, gradients, strict=True):
        memory = inputs[which].data
        if memory.numel() == 0 or real_output.numel() == 0:
            continue
        ur, ui = _direction(memory, chance)
        before = memory.clone()

        def slope(u, memory=memory, before=before):
            def move(step):
                memory.copy_(before + step * u)

            return float((_difference(func, inputs, part, move, eps)[number] * v).sum().item())

        if ui is None:
            numerical = slope(ur)
            analytical = float((gradient * ur).sum().item())
        else:
            numerical = complex(slope(ur), slope(ui * 1j))
            analytical = complex((gradient.real * ur).sum().item(), (gradient.imag * ui).sum().item())
        # The tolerance is that of the elements which were summed.
        scale = float(v.sum().item()) * float(((ur if ui is None else ur + ui).sum()).item())
        if _is_close(analytical, numerical, rtol, atol * max(scale, 1e-30)):
            continue
        message = _mismatch(opening, number, which, numerical, analytical)
        raise GradcheckError(message + _slow_report(func, inputs, which, output, number, part, eps, atol, rtol))


def _slow_report(func, inputs, which, output, number, part, eps, atol, rtol):
    numerical = _numerical_jacobian(func, inputs, which, part, eps, number)
    analytical = _analytical_jacobian(part(output), inputs[which])
    report = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode: they are "
        "products of the jacobian with random vectors. In slow mode the whole jacobians are:\n\n"
        f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {(numerical - analytical).abs().max().item()}.\n"
    )
    if _is_close(analytical, numerical, rtol, atol):
        report += (
            "Fast gradcheck failed but element-wise differences are small: slow mode would pass. If that is "
            "acceptable, raise atol or use fast_mode=False.\n"
        )
    return report


def _check_constant(func, inputs, checked, number, part, eps, atol):
    """An output that does not require grad must not depend on the inputs."""
    for which in checked:
        numerical = _numerical_jacobian(func, inputs, which, part, eps, number)
        if numerical is not None and numerical.numel() and not _is_close(numerical, _C.zeros_like(numerical), 0, atol):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_repeated(output, wanted, nondet_tol):
    """Backward must give the same again."""
    cotangent = _random_like(output, _chance(1), 0.0)
    first, second = (_gradients(output, wanted, cotangent) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        if a.numel() and not _is_close(a, b, 0, nondet_tol) and not bool((a != a).any()):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {nondet_tol}. If the function is known to be nondeterministic, "
                "pass nondet_tol=<tolerance>."
            )


def _check_proportional(output, wanted):
    """The gradient of a zero cotangent must be zero, of the shape of the input."""
    for x, g in zip(wanted, _gradients(output, wanted, _C.zeros_like(output)), strict=True):
        if g.shape != x.shape:
            raise GradcheckError(f"grad is incorrect size: {list(g.shape)} for an input of {list(x.shape)}")
        if g.numel() and not bool((g == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")


def _check_types(output, wanted):
    for x, g in zip(wanted, _gradients(output, wanted, _C.zeros_like(output)), strict=True):
        if g.dtype != x.dtype:
            raise GradcheckError(f"Gradient has dtype mismatch: {g.dtype} for an input of {x.dtype}")


def _check_undefined(outputs, wanted):
    """An output that nothing depends on counts as one whose cotangent is zero."""
    from . import grad

    if len(outputs) < 2:
        return
    ones = [_C.ones_like(output) for output in outputs]
    for i in range(len(outputs)):
        others = [k for k in range(len(outputs)) if k != i]
        with_zeros = [_C.zeros_like(one) if k == i else one for k, one in enumerate(ones)]
        given = grad(outputs, wanted, with_zeros, retain_graph=True, allow_unused=True)
        left_out = grad(
            [outputs[k] for k in others], wanted, [ones[k] for k in others], retain_graph=True, allow_unused=True
        )
        for a, b in zip(given, left_out, strict=True):
            a, b = (_C.zeros(()) if g is None else g for g in (a, b))
            if not _is_close(a, b, 1e-6, 1e-12):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
                    f"the gradients differ when output {i} is left out instead of being given a zero gradient."
                )
