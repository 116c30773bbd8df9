"""Reverse mode as functions of functions: grad, grad_and_value, vjp.

Nested calls need no levels: a graph knows which tensor each gradient is for. An input becomes a fresh tensor of the
graph, tied to the one that was given if that one requires grad itself, at this place; gradients are recorded in turn if
the graph leads to anything but the fresh inputs.
"""

import functools

from .. import _C
from .._running import Differentiated, Running
from ..autograd import _unused_allowed
from ..autograd.grad_mode import inference_mode, is_inference_mode_enabled, no_grad
from ..ops.language import zeros_like
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten


def out_of_inference(function):
    """The function, run out of inference mode: it records what it differentiates, though nothing around it does."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        if not is_inference_mode_enabled():
            return function(*args, **kwargs)
        with inference_mode(False), no_grad():
            return function(*args, **kwargs)

    return run


def recordable(tensor):
    """A tensor with the values of one that may be of inference mode."""
    return tensor.clone() if tensor.is_inference() else tensor


def fresh_inputs(tree):
    """(the tree with fresh tensors in the place of its own, these tensors)."""
    leaves, spec = tree_flatten(tree)
    recorded = _C.is_grad_enabled()
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise RuntimeError(f"only Tensors of floating point dtype can require gradients; got {leaf.dtype}")
    fresh = [_C._fresh(recordable(leaf), recorded) for leaf in leaves]
    return tree_unflatten(fresh, spec), fresh


def finished(value, inputs, recorded):
    """A result for the outside of a transform: without a history, or without one that leads to its inputs alone."""
    if not isinstance(value, _C.Tensor):
        return value
    return _C._finished(value, inputs) if recorded else _C._bare(value)


def recorded_call(running, func, args, kwargs):
    """What the function gives, recorded for the transform that runs it."""
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(True)
    try:
        with running:
            return func(*args, **kwargs)
    finally:
        _C._set_grad_enabled(before)


def gradients(running, outputs, inputs, weights, retain_graph=None, create_graph=None):
    """The gradients by all inputs, zeros where there are none; recorded where something outside wants it."""
    pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
    if not pairs:
        return [zeros_like(x) for x in inputs]
    outputs, weights = zip(*pairs, strict=True)
    if create_graph is None:
        create_graph = _C.is_grad_enabled() and _C._leads_elsewhere(outputs, inputs, weights)
    if running.hooked:
        with Differentiated(running):
            found = _unused_allowed(outputs, inputs, weights, retain_graph, create_graph)
    else:
        found = _unused_allowed(outputs, inputs, weights, retain_graph, create_graph)
    return [zeros_like(x) if g is None else finished(g, inputs, True) for g, x in zip(found, inputs, strict=True)]


def chosen_arguments(argnums, args):
    """(the arguments of these numbers, a function that gives all arguments with others in their place)."""
    single = isinstance(argnums, int)
    if not single and not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty: the numbers of the arguments to differentiate by")
    numbers = []
    for number in (argnums,) if single else argnums:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
        numbers.append(number % len(args))
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(numbers)}")

    def replaced(values):
        new = list(args)
        for number, value in zip(numbers, (values,) if single else values, strict=True):
            new[number] = value
        return new

    return args[numbers[0]] if single else tuple(args[n] for n in numbers), replaced


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func` and its value, a tensor of one element without dimensions.

    - argnums: by which arguments is differentiated, a number or a tuple of them.
    - has_aux: the function returns a pair, of which the second part is handed through.

    >>> import adjoint as torch
    >>> torch.func.grad_and_value(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    (tensor([ 3., 12.]), tensor(9.))
    """

    @out_of_inference
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen, replaced = chosen_arguments(argnums, args)
        inputs, fresh = fresh_inputs(chosen)
        recorded = _C.is_grad_enabled()
        running = Running("gradient", inputs=tuple(zip(fresh, tree_leaves(chosen), strict=True)))
        output = recorded_call(running, func, replaced(inputs), kwargs)
        aux = None
        if has_aux:
            output, aux = with_aux(output, "grad_and_value(f)(*args)")
        if not isinstance(output, _C.Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim() != 0:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        create_graph = recorded and _C._leads_elsewhere((output,), fresh, ())
        found = gradients(running, (output,), fresh, (None,), create_graph=create_graph)
        result = _in_structure(found, inputs)
        value = finished(output, fresh, recorded)
        if has_aux:
            return result, (value, tree_map(lambda x: finished(x, fresh, recorded), aux))
        return result, value

    return wrapper


def with_aux(output, name):
    """The output of a function that gives something else beside it, and that: a tree of tensors."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for leaf in tree_leaves(output[1]):
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)} in the aux of f")
    return output


def _in_structure(leaves, tree):
    return tree_unflatten(leaves, tree_flatten(tree)[1])


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func` by one of its arguments, or by several.

    - argnums: by which arguments is differentiated, a number or a tuple of them.
    - has_aux: the function returns a pair, of which the second part is handed through.

    >>> import adjoint as torch
    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(1.0))
    tensor(-0.8415)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return wrapper


def check_outputs(leaves, name):
    """Refuses outputs that are none, or no tensors."""
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )


@out_of_inference
def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function of cotangents that gives their products with the Jacobian).

    - has_aux: the function returns a pair, of which the second part is handed through.

    >>> import adjoint as torch
    >>> y, product = torch.func.vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    >>> product(torch.tensor([1.0, 0.0]))
    (tensor([2., 0.]),)
    """
    inputs, fresh = fresh_inputs(primals)
    recorded = _C.is_grad_enabled()
    running = Running("gradient", inputs=tuple(zip(fresh, tree_leaves(primals), strict=True)))
    outputs = recorded_call(running, func, inputs, {})
    aux = None
    if has_aux:
        outputs, aux = with_aux(outputs, "vjp(f, *primals)")
    leaves, spec = tree_flatten(outputs)
    check_outputs(leaves, "vjp(f, *primals)")
    for leaf in leaves:
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{leaf.dtype}"
            )

    def product(cotangents, retain_graph=True, create_graph=None):
        if is_inference_mode_enabled():
            return out_of_inference(product)(cotangents, retain_graph, create_graph)
        weights, given = tree_flatten(cotangents)
        if given != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given}, primal output: {spec}"
            )
        found = gradients(running, leaves, fresh, weights, retain_graph, create_graph)
        return _in_structure(found, inputs)

    value = tree_unflatten([finished(leaf, fresh, recorded) for leaf in leaves], spec)
    if has_aux:
        return value, product, tree_map(lambda x: finished(x, fresh, recorded), aux)
    return value, product
