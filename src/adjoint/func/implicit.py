"""Solutions of equations as functions of their parameters, with gradients by the implicit function theorem.

Where r(x, p) = 0 makes x a function of p, dx = -(dr/dx)^-1 (dr/dp) dp: one linear solve, however the solution was
found. The gradient is made of the solution and of r alone, so that it has gradients in turn.
"""

import functools

from .. import _C
from ..autograd.function import Function
from ..autograd.grad_mode import no_grad
from ..ops.checks import holds
from ..ops.language import linalg_solve
from ..utils._pytree import tree_flatten, tree_unflatten
from .forward import jvp
from .jacobians import jacrev
from .reverse import vjp

METHODS = ("direct", "cg", "gmres")


def implicit_root(residual, solver, *, method="direct", tolerance=1e-10):
    """A function of parameters that gives the x with residual(x, *parameters) = 0, and has derivatives of any order.

    solver(*parameters) finds x in whatever way, without being recorded; residual(x, *parameters) has the shape of x. A
    derivative takes one linear solve with the Jacobian of the residual: "direct", which forms it; or by products with
    it alone, "cg" where it is symmetric and positive, "gmres" where it is not: these need SciPy, stop at `tolerance`,
    and do not run under vmap.

    >>> import adjoint as torch
    >>> root = torch.func.implicit_root(lambda x, a: x ** 2 - a, lambda a: a.sqrt())
    >>> torch.func.grad(root)(torch.tensor(4.0))
    tensor(0.2500)
    """
    if method not in METHODS:
        raise ValueError(f"implicit_root: expected a method of {', '.join(METHODS)}, got {method!r}")

    @functools.wraps(residual)
    def root(*parameters):
        with no_grad():
            x = solver(*parameters)
        if not isinstance(x, _C.Tensor):
            raise TypeError(f"implicit_root: expected a tensor from the solver, got {type(x).__name__}")
        leaves, spec = tree_flatten(parameters)

        def of_leaves(x, *values):
            return residual(x, *tree_unflatten(values, spec))

        return _Root.apply(_Equation(of_leaves, method, tolerance), x.detach(), *leaves)

    return root


def fixed_point(func, start, *parameters, tolerance=1e-10, max_steps=1000, method="direct"):
    """The x with func(x, *parameters) = x, found by repeating func from `start`; its derivatives need no steps.

    Raises a RuntimeError if a step still changes x by more than `tolerance`, relative to its largest element, after
    `max_steps` of them; under vmap, all examples of the batch take as many. `method` is that of implicit_root.

    >>> import adjoint as torch
    >>> a = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    >>> x = torch.func.fixed_point(lambda x, a: torch.cos(a * x), torch.tensor(1.0, dtype=torch.float64), a)
    >>> x
    tensor(0.9004, dtype=torch.float64, grad_fn=<_RootBackward>)
    >>> x.backward()
    >>> a.grad
    tensor(-0.3218, dtype=torch.float64)
    """

    def repeat(*values):
        x = start
        for _ in range(max_steps):
            following = func(x, *values)
            change, scale = (following - x).abs().max(), following.abs().max()
            x = following
            if holds(change <= tolerance * (1 + scale)):
                return x
        while (batched := _C._batch_level(change)) is not None:
            change = batched[1].max()
        raise RuntimeError(
            f"fixed_point: expected func to come to rest within {max_steps} steps; the last one still changed x by "
            f"{change.item():.1e}; start nearer, damp func, or raise tolerance or max_steps"
        )

    return implicit_root(lambda x, *values: func(x, *values) - x, repeat, method=method)(*parameters)


class _Equation:
    """r(x, *parameters) = 0, and how to solve linear equations with its Jacobian by x."""

    def __init__(self, residual, method, tolerance):
        self.residual, self.method, self.tolerance = residual, method, tolerance

    def solve(self, b, x, parameters, transposed):
        """The u with J u = b, or J^T u = b; a function of b, x and the parameters that has derivatives, too."""
        if self.method == "direct":
            return self.solve_directly(b, x, parameters, transposed)

        def linear(u, b, x, *parameters):
            return self.product(u, x, parameters, transposed) - b

        def solver(b, x, *parameters):
            return self.solve_by_products(b, x, parameters, transposed)

        return implicit_root(linear, solver, method=self.method, tolerance=self.tolerance)(b, x, *parameters)

    def solve_directly(self, b, x, parameters, transposed):
        n = x.numel()
        jacobian = jacrev(lambda x: self.residual(x, *parameters))(x).reshape(n, n)
        return linalg_solve(jacobian.mT if transposed else jacobian, b.reshape(n)).reshape(x.shape)

    def product(self, u, x, parameters, transposed):
        """J u, or J^T u."""
        if transposed:
            return vjp(lambda x: self.residual(x, *parameters), x)[1](u)[0]
        return jvp(lambda x: self.residual(x, *parameters), (x,), (u,))[1]

    def solve_by_products(self, b, x, parameters, transposed):
        try:
            from scipy.sparse import linalg
        except ImportError:
            raise ImportError(f"implicit_root: {self.method!r} needs SciPy; install it, or use 'direct'") from None

        def product(u):
            u = _C.tensor(u, dtype=x.dtype).to(x.device).reshape(x.shape)
            return self.product(u, x, parameters, transposed).detach().reshape(-1).cpu().numpy()

        n = x.numel()
        operator = linalg.LinearOperator((n, n), matvec=product, dtype=b.detach().cpu().numpy().dtype)
        right = b.detach().reshape(-1).cpu().numpy()
        solution, failed = getattr(linalg, self.method)(operator, right, rtol=self.tolerance)
        if failed:
            raise RuntimeError(
                f"implicit_root: {self.method} did not reach {self.tolerance} ({failed}); use another method, or a "
                "larger tolerance"
            )
        return _C.tensor(solution, dtype=x.dtype).to(x.device).reshape(x.shape)


class _Root(Function):
    """The solution as a function of the parameters; forward has it already."""

    generate_vmap_rule = True

    @staticmethod
    def forward(equation, x, *parameters):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.equation, _, *parameters = inputs
        ctx.save_for_backward(output, *parameters)
        ctx.save_for_forward(output, *parameters)

    @staticmethod
    def backward(ctx, g):
        x, *parameters = ctx.saved_tensors
        moving = [i for i, p in enumerate(parameters) if ctx.needs_input_grad[i + 2]]
        u = ctx.equation.solve(-g, x, parameters, transposed=True)

        def of_moving(*values):
            return ctx.equation.residual(x, *_replaced(parameters, moving, values))

        found = vjp(of_moving, *(parameters[i] for i in moving))[1](u)
        return None, None, *_replaced([None] * len(parameters), moving, found)

    @staticmethod
    def jvp(ctx, _, x_t, *tangents):
        x, *parameters = ctx.saved_tensors
        moving = [i for i, p in enumerate(parameters) if p.is_floating_point() or p.is_complex()]

        def of_moving(*values):
            return ctx.equation.residual(x, *_replaced(parameters, moving, values))

        along = jvp(of_moving, tuple(parameters[i] for i in moving), tuple(tangents[i] for i in moving))[1]
        return ctx.equation.solve(-along, x, parameters, transposed=False)


def _replaced(values, places, others):
    values = list(values)
    for place, other in zip(places, others, strict=True):
        values[place] = other
    return values
