"""torch.ops.aten: the ops of this package under the names by which programs ask torch's registry for them."""

import functools

from . import _C
from .ops.language import COMPOSITES, TABLE


class OpOverloadPacket:
    """An op by its name in torch's registry: it can be called, and stands for the op in tables of counts.

    >>> import adjoint as torch
    >>> torch.ops.aten.mm
    <OpOverloadPacket(op='aten.mm')>
    >>> torch.ops.aten.mul(torch.ones(2), 3)
    tensor([3., 3.])
    """

    def __init__(self, name):
        self.__name__ = name
        self._qualified_op_name = f"aten::{name}"

    def __call__(self, *args, **kwargs):
        return _function(self.__name__)(*args, **kwargs)

    def __str__(self):
        return f"aten.{self.__name__}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"


@functools.cache
def packet(name):
    """The packet of this name, always the same one."""
    return OpOverloadPacket(name)


def _declared(name):
    return name in TABLE or name in COMPOSITES or name.removesuffix("_") in TABLE


def _function(name):
    if _declared(name):
        return _C.op_object(name)
    raise RuntimeError(f"aten.{name}: not an op of its own here; call the function of torch, or of torch.nn.functional")


class Namespace:
    """torch.ops.aten.

    >>> import adjoint as torch
    >>> torch.ops.aten.convolution
    <OpOverloadPacket(op='aten.convolution')>
    """

    def __getattr__(self, name):
        from ._profile.names import is_step  # ops that this package has as parts of others

        if not name.startswith("__") and (_declared(name) or is_step(name)):
            return packet(name)
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")

    def __repr__(self):
        return "<module 'torch.ops.aten'>"


aten = Namespace()
