"""Checks gradients against finite differences: gradcheck, and gradgradcheck for second gradients.

Jacobians are matrices of input elements by output elements. Of a complex input z = x + iy the row is d/dx + i d/dy,
which is what backward gives for a real result; a complex output is checked as its real and its imaginary part. Forward
mode is checked the other way round: complex outputs as they are, for a complex input d/dx and d/dy each for itself.
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
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    _check_needs("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _check_needs("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad)
    inputs = _tupled(inputs)
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
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _check_needs(name, value, other, other_value):
    if value and not other_value:
        raise AssertionError(f"Setting {name}=True requires {other} to be True")


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


def _numerical_rows(func, inputs, which, part, eps, unit):
    """d outputs / d each element of one input, moved along `unit`: lists of outputs, by element in row-major order."""
    memory = inputs[which].data
    rows = []
    for place in itertools.product(*map(range, memory.shape)):
        before = memory[place].item()

        def move(step, place=place, before=before):
            memory[place] = before + step * unit

        rows.append(_difference(func, inputs, part, move, eps))
    return rows


def _numerical_jacobians(func, inputs, which, part, eps):
    """The Jacobians of all outputs with respect to one input, by finite differences; empty without elements."""
    rows = _numerical_rows(func, inputs, which, part, eps, 1.0)
    if inputs[which].is_complex():
        imaginary = _numerical_rows(func, inputs, which, part, eps, 1j)
        rows = [[x + 1j * y for x, y in zip(*pair, strict=True)] for pair in zip(rows, imaginary, strict=True)]
    return [stack([one.reshape(-1) for one in column]) for column in zip(*rows, strict=True)]


def _numerical_jacobian(func, inputs, which, part, eps, output):
    """The Jacobian of one output with respect to one input, by finite differences."""
    found = _numerical_jacobians(func, inputs, which, part, eps)
    return found[output] if found else None


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


def _pushed(func, inputs, tangents):
    """The tangents of all outputs, given those of some inputs by their numbers; zeros where there are none."""
    from . import forward_ad

    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, tangents[i]) if i in tangents else x for i, x in enumerate(inputs)]
        pairs = [forward_ad.unpack_dual(output) for output in _tupled(func(*duals))]
        return [_C.zeros_like(value) if tangent is None else tangent.detach() for value, tangent in pairs]


def _pushed_rows(func, inputs, checked, which, unit):
    """d outputs / d each element of one input, by forward mode: as _numerical_rows."""
    tangents = {i: _C.zeros_like(inputs[i]) for i in checked}
    rows = []
    for place in itertools.product(*map(range, inputs[which].shape)):
        tangents[which] = _C.zeros(inputs[which].shape, dtype=inputs[which].dtype)
        tangents[which][place] = unit
        rows.append(_pushed(func, inputs, tangents))
    return rows


def _is_close(a, b, rtol, atol):
    a, b = _C.tensor(a) if not isinstance(a, _C.Tensor) else a, _C.tensor(b) if not isinstance(b, _C.Tensor) else b
    near = (a - b).abs() <= atol + rtol * b.abs()
    return bool(((a == b) | near).all())


# ---- The checks


def _check_backward(func, inputs, checked, outputs, eps, atol, rtol, fast_mode):
    compare = _compare_fast if fast_mode else _compare_slow
    for opening, part in _parts(outputs):
        for i, output in enumerate(outputs):
            if output.requires_grad:
                words = opening if output.is_complex() else ""
                compare(func, inputs, checked, output, i, words, part, eps, atol, rtol)


def _mismatch(opening, output, which, numerical, analytical, way=""):
    return (
        f"{opening}Jacobian {way}mismatch for output {output} with respect to input {which},\n"
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
    return _report(numerical, _analytical_jacobian(part(output), inputs[which]), atol, rtol)


def _report(numerical, analytical, atol, rtol):
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


_FORWARD = "computed with forward mode "


def _check_forward(func, inputs, checked, outputs, eps, atol, rtol, fast_mode):
    """Tangents against differences: of the input along the real and along the imaginary axis."""
    compare = _compare_forward_fast if fast_mode else _compare_forward_slow
    for name, unit in (("imaginary", 1j), ("real", 1.0)):
        for which in checked:
            is_complex = inputs[which].is_complex()
            if (unit == 1.0 or is_complex) and inputs[which].numel():
                opening = f"While considering the {name} part of complex inputs only, " if is_complex else ""
                compare(func, inputs, checked, outputs, which, unit, opening, eps, atol, rtol)


def _forward_jacobians(func, inputs, checked, which, unit, eps):
    """For each output (its Jacobian by finite differences, its Jacobian by forward mode)."""
    rows = _numerical_rows(func, inputs, which, lambda output: output, eps, unit)
    pushed = _pushed_rows(func, inputs, checked, which, unit)
    return [
        tuple(stack([one.reshape(-1) for one in column]) for column in pair)
        for pair in zip(zip(*rows, strict=True), zip(*pushed, strict=True), strict=True)
    ]


def _compare_forward_slow(func, inputs, checked, outputs, which, unit, opening, eps, atol, rtol):
    pairs = _forward_jacobians(func, inputs, checked, which, unit, eps)
    for i, (output, (numerical, analytical)) in enumerate(zip(outputs, pairs, strict=True)):
        if _is_number_type(output) and not _is_close(analytical, numerical, rtol, atol):
            raise GradcheckError(_mismatch(opening, i, which, numerical, analytical, _FORWARD))


def _compare_forward_fast(func, inputs, checked, outputs, which, unit, opening, eps, atol, rtol):
    """Compares J u for one random u."""
    memory = inputs[which].data
    u = _direction(memory, _chance(0))[0]
    before = memory.clone()

    def move(step):
        memory.copy_(before + step * unit * u)

    tangents = {i: _C.zeros_like(inputs[i]) for i in checked}
    tangents[which] = (unit * u).to(memory.dtype)
    numerical = _difference(func, inputs, lambda output: output, move, eps)
    analytical = _pushed(func, inputs, tangents)
    for i, output in enumerate(outputs):
        if not _is_number_type(output) or _is_close(analytical[i], numerical[i], rtol, atol * float(u.sum().item())):
            continue
        pair = _forward_jacobians(func, inputs, checked, which, unit, eps)[i]
        message = _mismatch(opening, i, which, numerical[i], analytical[i], _FORWARD)
        raise GradcheckError(message + _report(*pair, atol, rtol))


def _check_undefined_forward(func, inputs, checked):
    """An input without a tangent counts as one whose tangent is zero."""
    chance = _chance(2)
    given = {i: _random_like(inputs[i], chance, 0.0) for i in checked}
    for which in checked:
        others = {i: tangent for i, tangent in given.items() if i != which}
        if not others:
            continue
        with_zeros = _pushed(func, inputs, {**others, which: _C.zeros_like(inputs[which])})
        for i, (a, b) in enumerate(zip(with_zeros, _pushed(func, inputs, others), strict=True)):
            if not _is_close(a, b, 1e-5, 1e-8):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {i} when input: {which} has an undefined "
                    f"tangent value.  Got: {b} but expected: {a}"
                )


_BATCHED = """gradcheck or gradgradcheck failed while testing batched gradient computation{}.
Gradients of a batch of vectors, all at once under vmap, must be those of each vector. Something in the derivative of
this function cannot run under vmap, or gives other results there; leave the check out with `{}=False`.
"""


def _compare_batched(batched, each, output, which, words):
    if not _is_close(batched, each, 1e-5, 1e-8):
        raise GradcheckError(
            f"For output {output} and input {which}:\n\n{words}\nGot:\n{batched}\n\nExpected:\n{each}\n"
        )


def _under_vmap(call, words):
    with warnings.catch_warnings():
        # What is checked are numbers, not how fast they are found.
        warnings.filterwarnings("ignore", message="vmap: there is a performance drop")
        try:
            return call()
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{words}") from error


def _check_batched(output, number, wanted, checked):
    """Gradients of two cotangents at once must be those of each."""
    from . import grad

    chance, words = _chance(3), _BATCHED.format("", "check_batched_grad")
    cotangents = [_random_like(output, chance, -1.0) for _ in range(2)]
    each = [grad(output, wanted, one, retain_graph=True, allow_unused=True) for one in cotangents]
    how = {"retain_graph": True, "allow_unused": True, "is_grads_batched": True}
    together = _under_vmap(lambda: grad(output, wanted, stack(cotangents), **how), words)
    for i, batched, *single in zip(checked, together, *each, strict=True):
        if batched is not None:
            _compare_batched(batched, stack(single), number, i, words)


def _check_batched_forward(func, inputs, checked):
    """Tangents along two directions at once must be those along each."""
    from ..func.vmap import vmap

    chance, words = _chance(4), _BATCHED.format(" with forward-mode AD", "check_batched_forward_grad")
    for which in checked:
        tangents = [_random_like(inputs[which], chance, -1.0) for _ in range(2)]
        each = [_pushed(func, inputs, {which: one}) for one in tangents]
        push = vmap(lambda tangent, which=which: _pushed(func, inputs, {which: tangent}))
        together = _under_vmap(lambda push=push, tangents=tangents: push(stack(tangents)), words)
        for i, batched, *single in zip(itertools.count(), together, *each):
            _compare_batched(batched, stack(single), i, which, words)


def _check_constants(func, inputs, checked, outputs, eps, atol):
    """Outputs none of which requires grad must not depend on the inputs."""
    for _, part in _parts(outputs):
        for i, output in enumerate(outputs):
            if _is_number_type(output):
                _check_constant(func, inputs, checked, i, part, eps, atol)


def _check_constant(func, inputs, checked, number, part, eps, atol):
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


_UNDEFINED = (
    "{}. An output that nothing depends on has the gradient None, which counts as zero: backward must "
    "give None or zeros for it."
)


def _check_undefined(outputs, wanted):
    """Where the gradients of some outputs are undefined, and those of the others zero, there is nothing to pass on."""
    from . import grad
    from .function import Function

    class Undefined(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return None

    several = len(outputs) > 1
    choices = [range(len(outputs)), *([i] for i in range(len(outputs) if several else 0))]
    for chosen in choices if outputs else ():
        seen = [Undefined.apply(output) if i in chosen else output for i, output in enumerate(outputs)]
        zeros = [_C.zeros_like(output) for output in outputs]
        try:
            found = grad(seen, wanted, zeros, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                _UNDEFINED.format("Expected backward function to handle undefined output grads")
            ) from error
        if any(g is not None and not bool((g == 0).all()) for g in found):
            raise GradcheckError(
                _UNDEFINED.format(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero"
                )
            )


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
