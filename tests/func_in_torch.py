"""What adjoint.func has beyond torch.func, in torch, by longer ways: for programs that are run with both."""

import types

import torch
from scipy.sparse import csr_array
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap


def jet(func, x, order):
    """Nested forward mode."""
    found = [func(x)]
    for _ in range(order):
        func = (lambda inner: lambda x: jvp(inner, (x,), (torch.ones_like(x),))[1])(func)
        found.append(func(x))
    return tuple(found)


def laplacian(func, x):
    """The trace of the Hessian."""
    return hessian(func)(x).trace()


def per_sample_grads(module, loss, *inputs):
    """The gradient of each example, by vmap."""

    def value(parameters, *example):
        return loss(lambda *args: functional_call(module, parameters, args), *example)

    parameters = {name: p.detach() for name, p in module.named_parameters()}
    return vmap(grad(value), in_dims=(None, *(0 for _ in inputs)))(parameters, *inputs)


def implicit_root(residual, solver):
    """One step of Newton's method from the solution, which does not move it, and has its gradient."""

    def root(*parameters):
        with torch.no_grad():
            x = solver(*parameters)
            jacobian = jacrev(residual)(x, *parameters)
        return x - torch.linalg.solve(jacobian, residual(x, *parameters))

    return root


def sparsity(func, x):
    """That of a dense matrix."""
    return types.SimpleNamespace(coloring=types.SimpleNamespace(passes=x.numel()))


def sparse_jacobian(func, x, pattern):
    """A dense one, as a matrix of SciPy."""
    return csr_array(jacrev(func)(x).numpy())


def add():
    """Puts these into torch.func."""
    for function in (jet, laplacian, per_sample_grads, implicit_root, sparsity, sparse_jacobian):
        setattr(torch.func, function.__name__, function)
