"""Forward mode as functions of functions: jvp and linearize."""

from .. import _C
from .._running import Running
from ..autograd import grad as _gradients
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..ops.language import zeros_like
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from .reverse import check_outputs, out_of_inference, recordable, vjp, with_aux
from .safe import transposing


@out_of_inference
def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), the product of its Jacobian with the tangents), in one pass.

    - strict: raises where the result does not depend on the inputs, instead of giving zeros.
    - has_aux: the function returns a pair, of which the second part is handed through.

    >>> import adjoint as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals). "
            f"Got {type(primals)}"
        )
    points, spec = tree_flatten(primals)
    along, given = tree_flatten(tangents)
    if given != spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec} and tangents with structure {given}"
        )
    if not points:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")
    for values, name in ((points, "primals"), (along, "tangents")):
        for value in values:
            if not isinstance(value, _C.Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type(value)}"
                )
    enabled = _C._set_forward_enabled(True)
    level = _C._open_forward()
    try:
        duals = [dual(recordable(p), t, level) for p, t in zip(points, along, strict=True)]
        with Running("tangent", level):
            outputs = func(*tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            outputs, aux = with_aux(outputs, "jvp(f, primals, tangents)")
        leaves, out_spec = tree_flatten(outputs)
        check_outputs(leaves, "jvp(f, primals, tangents)")
        products = tree_unflatten([_product(leaf, level, strict) for leaf in leaves], out_spec)
        values = tree_unflatten([_C._take_tangent(leaf, level)[0] for leaf in leaves], out_spec)
        if has_aux:
            aux = tree_map(lambda x: _C._take_tangent(x, level)[0], aux)
    finally:
        _C._close_level(level)
        _C._set_forward_enabled(enabled)
    return (values, products, aux) if has_aux else (values, products)


def dual(primal, tangent, level):
    """The primal with a tangent of a level of forward mode."""
    _check_type(primal, "primal")
    _check_type(tangent, "tangent")
    check_size(primal, tangent)
    return _C._make_dual(primal, tangent, level)


def check_size(primal, tangent):
    """Refuses a tangent of another size than its tensor."""
    if primal.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def _check_type(value, name):
    if isinstance(value, _C.Tensor) and not (value.is_floating_point() or value.is_complex()):
        raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")


def _product(output, level, strict):
    tangent = _C._tangent(output, level)
    if tangent is not None:
        return tangent
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return zeros_like(output)


@out_of_inference
def linearize(func, *primals):
    """(func(*primals), a function of tangents that gives their products with the Jacobian there).

    The function is run once; each product costs a backward pass or two, whatever the function does. A product can be
    differentiated by its tangents; the point is a constant of it.

    >>> import adjoint as torch
    >>> y, product = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> product(torch.tensor(3.0))
    tensor(3.)
    """
    points, given = tree_flatten(primals)
    for point in points:
        _check_type(point, "primal")
    output, pull = vjp(func, *primals)
    leaves, spec = tree_flatten(output)
    with enable_grad(), transposing():
        weights = [_C._requiring_grad(zeros_like(leaf), True) for leaf in leaves]
        pulled = tree_flatten(pull(tree_unflatten(weights, spec), create_graph=True))[0]

    def pushed_forward(*along):
        pairs = [(g, t) for g, t in zip(pulled, along, strict=True) if g.requires_grad]
        found = [None] * len(leaves)
        if pairs:
            values, chosen = zip(*pairs, strict=True)
            found = _gradients(values, weights, chosen, retain_graph=True, allow_unused=True)
        return tuple(zeros_like(y) if f is None else f for f, y in zip(found, leaves, strict=True))

    def pulled_back(*cotangents):
        return tuple(tree_flatten(pull(tree_unflatten(cotangents, spec), create_graph=False))[0])

    @out_of_inference
    def product(*tangents):
        along, structure = tree_flatten(tangents)
        if structure != given:
            raise RuntimeError(f"Expected the tangents {structure} to have the same argspec as the primals {given}")
        for i, (tangent, point) in enumerate(zip(along, points, strict=True)):
            for name in ("shape", "dtype"):
                if (got := getattr(tangent, name)) != (expected := getattr(point, name)):
                    raise RuntimeError(
                        f"tangent:{i} with {name} {got} in flattened pytree doesn't match the {name} {expected} of the "
                        "corresponding primal."
                    )
        return tree_unflatten(_Product.apply(pushed_forward, pulled_back, *along), spec)

    return output, product


class _Product(Function):
    """The product with a matrix that is given as a function, and its transpose as another; linear, and no more."""

    _runs_in_levels = True  # the functions may hold tensors of levels, and call ops for them

    @staticmethod
    def forward(product, transposed, *vectors):
        return product(*vectors)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.product, ctx.transposed, *_ = inputs

    @staticmethod
    def backward(ctx, *gradients):
        return None, None, *_Product.apply(ctx.transposed, ctx.product, *gradients)
