"""Gradients of each example of a batch."""

from .. import _C
from ..utils._pytree import tree_leaves
from .modules import functional_call
from .reverse import grad
from .vmap import vmap


def per_sample_grads(module, loss, *inputs, memory=2**30):
    """The gradients of loss(module, *example) by the parameters of the module, for each example of a batch.

    `inputs` are tensors, or containers of them, whose first dimension is the batch; `loss` gets the module and one
    example of each, without that dimension, and returns a tensor without dimensions. The result is like a state_dict:
    by the name of each parameter that requires grad, a tensor with the batch before the dimensions of the parameter.
    Examples run together as far as their gradients fit into `memory` bytes.

    >>> import adjoint as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2, 1)
    >>> found = torch.func.per_sample_grads(layer, lambda layer, x, y: (layer(x) - y).sum(), x, y)
    >>> found["weight"]
    tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]])
    """
    parameters = {name: p.detach() for name, p in module.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError("per_sample_grads: expected a module with parameters that are not frozen; it has none")
    sizes = {x.shape[0] for x in tree_leaves(inputs) if isinstance(x, _C.Tensor)}
    if len(sizes) != 1:
        raise ValueError(f"per_sample_grads: expected inputs with one size of the first dimension, got {sorted(sizes)}")
    each = sum(p.numel() * p.element_size() for p in parameters.values())
    # The gradients themselves, and as much again while they are computed.
    chunk = max(1, memory // (2 * each))

    def value(parameters, *example):
        return loss(lambda *args, **kwargs: functional_call(module, parameters, args, kwargs), *example)

    in_dims = (None, *(0 for _ in inputs))
    return vmap(grad(value), in_dims=in_dims, randomness="different", chunk_size=chunk)(parameters, *inputs)
