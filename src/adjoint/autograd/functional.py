"""Jacobians and Hessians of functions, whole or times a vector: by reverse mode unless forward mode is asked for."""

import functools

from .. import _C, _running
from ..func.forward import jvp as _push
from ..func.jacobians import unit_vectors
from ..func.vmap import vmap
from ..ops.language import stack
from . import _unused_allowed, _without_history
from . import grad as _grad
from .grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _outside_of_transforms(function):
    """The function, refused inside of one that torch.func runs; its derivatives nest with those of torch.func only."""

    @functools.wraps(function)
    def checked(*args, **kwargs):
        _running.refuse_inside(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
            "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to "
            f"use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) instead of {function.__name__}()."
        )
        return function(*args, **kwargs)

    return checked


def _as_tuple(value, what, function):
    """(values, whether there was one only)."""
    single = isinstance(value, _C.Tensor)
    values = (value,) if single else value
    if not isinstance(values, tuple | list) or not all(isinstance(v, _C.Tensor) for v in values):
        if isinstance(values, tuple | list):
            bad = next(i for i, v in enumerate(values) if not isinstance(v, _C.Tensor))
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{bad} has type {type(values[bad])}."
            )
        raise TypeError(
            f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {what} has "
            f"type {type(value)}."
        )
    return tuple(values), single


def _fresh(inputs, create_graph):
    """Inputs of a graph of their own: views of the given ones when that graph is wanted, leaves otherwise."""

    def fresh(x):
        if not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(f"only Tensors of floating point dtype can require gradients; got an input of {x.dtype}")
        if create_graph and x.requires_grad:
            return x.view_as(x)
        # A subclass stays one: its own functions take it over.
        return _C._fresh(x, False) if type(x) is _C.Tensor else x.detach().requires_grad_()

    return tuple(map(fresh, inputs))


def _run(function, func, inputs, create_graph, strict):
    """(fresh inputs, was one given, outputs, was one returned)."""
    inputs, one_input = _as_tuple(inputs, "inputs", function)
    inputs = _fresh(inputs, create_graph)
    outputs, one_output = _as_tuple(func(*inputs), "outputs of the user-provided function", function)
    if strict:
        _check_recorded(outputs)
    return inputs, one_input, outputs, one_output


def _check_recorded(outputs):
    for i, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )


def _vectors(v, like, function, missing):
    """The vector v, checked against the tensors that it goes with; ones where it may be left out."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(missing)
        return tuple(_C.ones_like(one) for one in like)
    v, _ = _as_tuple(v, "v", function)
    if len(v) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            if len(like) > 1
            else "The given v should contain a single Tensor."
        )
    for i, (vector, one) in enumerate(zip(v, like, strict=True)):
        if vector.shape != one.shape:
            where = f"Entry {i} in v" if len(like) > 1 else "v"
            raise RuntimeError(f"{where} has invalid size: should be {one.shape} but got {vector.shape}.")
    return v


def _gradients(outputs, inputs, vectors, create_graph, retain_graph=None):
    """torch.autograd.grad over the outputs that require it; None where there is no path."""
    if not all(output.requires_grad for output in outputs):
        pairs = [(output, v) for output, v in zip(outputs, vectors, strict=True) if output.requires_grad]
        if not pairs:
            return (None,) * len(inputs)
        outputs, vectors = zip(*pairs, strict=True)
    found = _unused_allowed(outputs, inputs, vectors, retain_graph, create_graph)
    return found if create_graph else _without_history(found)


_STRICT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "row": "Output {1} of the user-provided function is independent of input {0}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using "
    "the double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in "
    "strict mode when create_graph=True.",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent of the input. This "
    "is not allowed in strict mode. You should ensure that your function is twice differentiable.",
    "slope": "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
    "{} is independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example).",
}


def _filled(gradients, like, strict, message, create_graph=False, output=None):
    """Zeros in the place of gradients that do not exist, or an error in strict mode: of an output, if it has a number.

    That number torch says where the input of a Jacobian is meant, too.
    """
    filled = []
    for i, (g, one) in enumerate(zip(gradients, like, strict=True)):
        if strict and g is None:
            raise RuntimeError(_STRICT[message].format(i, output))
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(_STRICT["double_back"].format(i if output is None else output))
        filled.append(_C.zeros_like(one) if g is None else g)
    return tuple(filled)


def _result(values, single, create_graph):
    values = tuple(v if create_graph else v.detach() for v in values)
    return values[0] if single else values


@_outside_of_transforms
@enable_grad()
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times its Jacobian).

    - create_graph: records the computation, so that its results can be differentiated.
    - strict: raises where a result does not depend on an input, instead of giving zeros.

    >>> import adjoint as torch
    >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    inputs, one_input, outputs, one_output = _run("vjp", func, inputs, create_graph, strict)
    missing = (
        "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
    )
    vectors = _vectors(v, outputs, "vjp", missing)
    products = _filled(_gradients(outputs, inputs, vectors, create_graph), inputs, strict, "back", create_graph)
    return _result(outputs, one_output, create_graph), _result(products, one_input, create_graph)


@_outside_of_transforms
@enable_grad()
def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), its Jacobian times v): the gradient of u -> u times the Jacobian, which is linear in u.

    - create_graph: records the computation, so that its results can be differentiated.
    - strict: raises where a result does not depend on an input, instead of giving zeros.

    >>> import adjoint as torch
    >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    inputs, _, outputs, one_output = _run("jvp", func, inputs, create_graph, strict)
    missing = (
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
        "element."
    )
    vectors = _vectors(v, inputs, "jvp", missing)
    weights = tuple(_C.zeros_like(output, requires_grad=True) for output in outputs)
    pulled = _filled(_gradients(outputs, inputs, weights, True), inputs, strict, "back")
    pushed = _gradients(pulled, weights, vectors, create_graph)
    products = _filled(pushed, outputs, strict, "back_trick", create_graph)
    return _result(outputs, one_output, create_graph), _result(products, one_output, create_graph)


def _slope(function, func, inputs, create_graph, strict):
    """(fresh inputs, was one given, the output of one element, its gradients with a graph)."""
    inputs, one_input, outputs, one_output = _run(function, func, inputs, create_graph, strict)
    if not one_output:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    slopes = _gradients(outputs, inputs, (_C.ones_like(outputs[0]),), True)
    if strict:
        for i, slope in enumerate(slopes):
            if slope is None or not slope.requires_grad:
                raise RuntimeError(_STRICT["back" if slope is None else "slope"].format(i))
    return inputs, one_input, outputs[0], _filled(slopes, inputs, False, "back")


_ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


@_outside_of_transforms
@enable_grad()
def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v times its Hessian).

    - create_graph: records the computation, so that its results can be differentiated.
    - strict: raises where a result does not depend on an input, instead of giving zeros.

    >>> import adjoint as torch
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    inputs, one_input, output, slopes = _slope("vhp", func, inputs, create_graph, strict)
    vectors = _vectors(v, inputs, "vhp", _ONE_INPUT)
    products = _filled(_gradients(slopes, inputs, vectors, create_graph), inputs, strict, "hessian", create_graph)
    return _result((output,), True, create_graph), _result(products, one_input, create_graph)


@_outside_of_transforms
@enable_grad()
def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), its Hessian times v): the Hessian is symmetric, so vhp() gives the same at less cost.

    - create_graph: records the computation, so that its results can be differentiated.
    - strict: raises where a result does not depend on an input, instead of giving zeros.

    >>> import adjoint as torch
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    inputs, one_input, output, slopes = _slope("hvp", func, inputs, create_graph, strict)
    vectors = _vectors(v, inputs, "hvp", _ONE_INPUT)
    weights = tuple(_C.zeros_like(x, requires_grad=True) for x in inputs)
    pulled = _filled(_gradients(slopes, inputs, weights, True), inputs, strict, "hessian")
    products = _filled(_gradients(pulled, weights, vectors, create_graph), inputs, strict, "back_trick", create_graph)
    return _result((output,), True, create_graph), _result(products, one_input, create_graph)


def _check_strategy(strategy):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )


_NOT_FORWARD = (
    'torch.autograd.functional.jacobian: `{0}=True` and `strategy="forward-mode"` are not supported together (yet). '
    'Please either set `{0}=False` or `strategy="reverse-mode"`.'
)


@_outside_of_transforms
def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivatives of all outputs by all inputs, of shape output.shape + input.shape.

    Row by row, or with `vectorize` all rows at once by vmap; then also by forward mode, all columns at once.

    - create_graph: records the computation, so that its results can be differentiated.
    - strict: raises where a result does not depend on an input, instead of giving zeros.
    - strategy: 'reverse-mode', or 'forward-mode' for functions of few inputs.

    >>> import adjoint as torch
    >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian(func, inputs, create_graph, strict, vectorize, strategy)


def _jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    _check_strategy(strategy)
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(_NOT_FORWARD.format("create_graph"))
        if strict:
            raise RuntimeError(_NOT_FORWARD.format("strict"))
        return _forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        inputs, one_input, outputs, one_output = _run("jacobian", func, inputs, create_graph, strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            blocks = _all_rows(outputs, inputs, create_graph)
        else:
            blocks = [_rows(output, i, inputs, create_graph, strict) for i, output in enumerate(outputs)]
        rows = [_result(row, one_input, create_graph) for row in blocks]
    return rows[0] if one_output else tuple(rows)


def _rows(output, number, inputs, create_graph, strict):
    """The derivatives of one output, of this number, by each of the inputs, row by row."""
    n = output.numel()
    rows = []
    if n:
        # A window on zeros with a one among them, moved by one place from row to row: the last unit vector comes first.
        line = _C.zeros(2 * n - 1, dtype=output.dtype, device=output.device)
        line[n - 1] = 1
        weights = line.as_strided((n, *output.shape), (1, *_strides(output.shape))).unbind()
        reaches, in_level = output.requires_grad, bool(_C._open_levels())
        for weight in reversed(weights):
            # As _gradients() does, but for checks of what comes from here.
            found = (None,) * len(inputs)
            if reaches:
                found = _C.run_backward((output,), (weight,), True, create_graph, inputs, False, True)
            if strict:
                found = _filled(found, inputs, strict, "row", create_graph, output=number)
            rows.append(_without_history(found) if in_level and not create_graph else found)
    blocks = zip(*rows, strict=True) if rows else [()] * len(inputs)
    return tuple(_block(block, x).view(output.shape + x.shape) for block, x in zip(blocks, inputs, strict=True))


def _block(rows, x):
    """The derivatives by an input, stacked; zeros where there are none."""
    return stack([_C.zeros_like(x) if row is None else row for row in rows]) if rows else x.new_zeros(0)


def _strides(sizes):
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return reversed(strides)


def _all_rows(outputs, inputs, create_graph):
    """The derivatives of each output by each input: one pass back with all unit vectors of the outputs."""
    pairs = [pair for pair in zip(outputs, unit_vectors(outputs), strict=True) if pair[0].requires_grad]
    found = (None,) * len(inputs)
    if pairs:
        moving, rows = zip(*pairs, strict=True)
        found = _grad(moving, inputs, rows, create_graph=create_graph, allow_unused=True, is_grads_batched=True)
    sizes = [output.numel() for output in outputs]
    columns = []
    for x, g in zip(inputs, found, strict=True):
        parts = (x.new_zeros(sum(sizes), *x.shape) if g is None else g).split(sizes)
        columns.append([part.view(y.shape + x.shape) for part, y in zip(parts, outputs, strict=True)])
    return list(zip(*columns, strict=True))


def _forward_jacobian(func, inputs, vectorize):
    """The derivatives by forward mode: one pass with all unit vectors of the inputs."""
    inputs, one_input = _as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    one_output = False

    def checked(*args):
        nonlocal one_output
        outputs, one_output = _as_tuple(func(*args), "outputs", None)
        return outputs

    columns = vmap(lambda *tangents: _push(checked, inputs, tangents)[1])(*unit_vectors(inputs))
    sizes = [x.numel() for x in inputs]

    def row(column):
        parts = column.split(sizes)
        return [p.movedim(0, -1).reshape(p.shape[1:] + x.shape) for p, x in zip(parts, inputs, strict=True)]

    rows = [row(column)[0] if one_input else row(column) for column in columns]
    # As torch, which gives lists where there are several inputs.
    return rows[0] if one_output else tuple(rows) if one_input else rows


@_outside_of_transforms
def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with one output of one element.

    - create_graph: records the computation, so that its results can be differentiated.
    - strict: raises where a result does not depend on an input, instead of giving zeros.
    - vectorize: computes many rows in one call, by vmap.
    - outer_jacobian_strategy: the mode of the outer derivative.

    >>> import adjoint as torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    inputs, one_input = _as_tuple(inputs, "inputs", "hessian")
    _check_strategy(outer_jacobian_strategy)

    def checked(*args):
        output, one_output = _as_tuple(func(*args), "outputs of the user-provided function", "hessian")
        if not one_output:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if output[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        if strict:
            _check_recorded(output)
        return output[0].reshape(())

    def slopes(*args):
        found = _jacobian(checked, args, create_graph=True)
        if strict:
            for i, slope in enumerate(found):
                if not slope.requires_grad:
                    raise RuntimeError(_STRICT["slope"].format(i))
        return found

    how = {"vectorize": vectorize, "strategy": outer_jacobian_strategy}
    result = _jacobian(slopes, inputs, create_graph=create_graph, strict=strict, **how)
    return result[0][0] if one_input else result
