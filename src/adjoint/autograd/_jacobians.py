"""Jacobians for gradcheck: by finite differences, by backward, and by forward mode.

They are matrices of input elements by output elements. Of a complex input z = x + iy the row is d/dx + i d/dy, which is
what backward gives for a real result; a complex output is checked as its real and its imaginary part. Forward mode is
checked the other way round: complex outputs as they are, for a complex input d/dx and d/dy each for itself.
"""

import itertools

from .. import _C

# Ops are found by name when they are called: this module is imported before they are declared.
stack = _C.op_object("stack")


# ---- Inputs and outputs


def _tupled(value):
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _is_number_type(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def _is_checked(value):
    return isinstance(value, _C.Tensor) and value.requires_grad and _is_number_type(value)


def _differentiable(outputs):
    return tuple(output for output in _tupled(outputs) if output.requires_grad)


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
    return [_C.zeros_like(x) if g is None else g.to_dense() for x, g in zip(wanted, gradients, strict=True)]


def _analytical_jacobian(output, x):
    """The Jacobian of one real output with respect to one input, by backward."""
    columns = []
    for place in range(output.numel()):
        cotangent = _C.zeros(output.numel(), dtype=output.dtype, device=output.device)
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
        tangents[which] = _C.zeros_like(inputs[which])
        tangents[which][place] = unit
        rows.append(_pushed(func, inputs, tangents))
    return rows


def _is_close(a, b, rtol, atol):
    a, b = _C.tensor(a) if not isinstance(a, _C.Tensor) else a, _C.tensor(b) if not isinstance(b, _C.Tensor) else b
    near = (a - b).abs() <= atol + rtol * b.abs()
    return bool(((a == b) | near).all())
