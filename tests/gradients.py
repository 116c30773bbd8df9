"""First and second gradients of a result in either library, with cotangents that are the same in both."""

import numpy as np

from .compare import tensors_in
from .samples import arrange


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


def numbers_like(tensor, seed, library):
    """A tensor of the library with the shape and type of another, of numbers that depend on the seed only."""
    random = np.random.default_rng(seed)
    dtype = dtype_name(tensor.dtype)
    numbers = random.uniform(-1, 1, tuple(tensor.shape))
    if dtype.startswith("complex"):
        numbers = numbers + 1j * random.uniform(-1, 1, tuple(tensor.shape))
    return arrange(library, numbers, getattr(library, dtype), "contiguous")


def first_gradients(library, result, leaves, create_graph=False):
    """(gradients of the leaves, cotangents): for fixed cotangents of all results that require grad."""
    outputs = [tensor for tensor in tensors_in(result) if tensor.requires_grad]
    if not outputs or not leaves:
        return [], []
    cotangents = [numbers_like(output, i, library).requires_grad_(create_graph) for i, output in enumerate(outputs)]
    gradients = library.autograd.grad(
        outputs, leaves, cotangents, create_graph=create_graph, retain_graph=True, allow_unused=True
    )
    return [library.zeros_like(x) if g is None else g for x, g in zip(leaves, gradients, strict=True)], cotangents


def second_gradients(library, result, leaves):
    """Gradients of a weighted sum of the first gradients, with respect to leaves and cotangents."""
    gradients, cotangents = first_gradients(library, result, leaves, create_graph=True)
    inputs = leaves + cotangents
    if not any(g.requires_grad for g in gradients):
        return [library.zeros_like(x) for x in inputs]
    total = sum((g * numbers_like(g, i, library)).sum() for i, g in enumerate(gradients) if g.requires_grad)
    return first_gradients(library, total, inputs)[0]
