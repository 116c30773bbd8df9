"""What gradcheck compares: derivatives with finite differences, with their own values in other ways."""

import itertools
import warnings

from .. import _C
from ._jacobians import (
    _analytical_jacobian,
    _difference,
    _gradients,
    _is_close,
    _is_number_type,
    _numerical_jacobian,
    _numerical_rows,
    _parts,
    _pushed,
    _pushed_rows,
    stack,
)


class GradcheckError(RuntimeError):
    """A gradient that is not what finite differences say.

    >>> import adjoint as torch
    >>> issubclass(torch.autograd.GradcheckError, RuntimeError)
    True
    """

    __module__ = "adjoint.autograd.gradcheck"  # where programs find it

    def __init__(self, *args):
        super().__init__(*args)


def _chance(seed):
    """A source of random numbers that disturbs nobody's."""
    import random  # here, because most programs never check a gradient

    return random.Random(seed)


# ---- Inputs


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
    flat = _C.tensor(values, dtype=tensor.dtype).to(tensor.device)
    return flat[::step].reshape(tensor.shape) if not spread_out else flat.reshape((*tensor.shape, 2)).select(-1, 0)


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
        if any(g is not None and not bool((g.to_dense() == 0).all()) for g in found):
            raise GradcheckError(
                _UNDEFINED.format(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero"
                )
            )
