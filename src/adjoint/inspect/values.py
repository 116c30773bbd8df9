"""What flows through a graph: the values of its nodes, as far as something keeps them, and the norms of gradients."""

from .. import _C
from . import nodes as describe
from .flow import gradients_at


def values_of(nodes):
    """{number: words about its output}, of those whose first output a leaf, a saved value or a living tensor is."""
    numbers = {id(node): i for i, node in enumerate(nodes)}
    found = {}
    for number, node in enumerate(nodes):
        if describe.is_leaf(node):
            found[number] = node.variable
            continue
        for value in describe.saved_values(node).values():
            if value.grad_fn is not None and value.output_nr == 0 and id(value.grad_fn) in numbers:
                found.setdefault(numbers[id(value.grad_fn)], value)
    for tensor in describe.living_results():
        if tensor.output_nr == 0 and id(tensor.grad_fn) in numbers:
            found.setdefault(numbers[id(tensor.grad_fn)], tensor)
    return {number: _words(value) for number, value in found.items() if value.device.type != "meta"}


def _words(tensor):
    if tensor.numel() == 1 and not tensor.is_complex():
        return f"{float(tensor.detach().reshape(())):.4g}"
    return describe.range_text(tensor)


def gradient_norms(results, nodes):
    """{number: norm of the gradient that arrives there} in a backward from `results`.

    .grad and the graph are left alone. Where several outputs of a node get gradients, the norm is of all.
    """
    found = {}

    def watch(number, node):
        def hook(_, received):
            found[number] = _norm([gradient for gradient in received if gradient is not None])

        return node.register_hook(hook)

    leaves = [(number, node) for number, node in enumerate(nodes) if describe.is_leaf(node)]
    handles = [watch(number, node) for number, node in enumerate(nodes) if not describe.is_leaf(node)]
    try:
        arrived = gradients_at(results, [node.variable for _, node in leaves], nodes)
    finally:
        for handle in handles:
            handle.remove()
    for (number, _), gradient in zip(leaves, arrived, strict=True):
        if gradient is not None:
            found[number] = _norm([gradient])
    return found


def _norm(gradients):
    # In double precision: what is tiny or huge must not vanish or overflow in the square.
    return sum(float(describe.elements(g).abs().to(_C.float64).square().sum()) for g in gradients) ** 0.5
