"""torch._C._nn: what modules of programs use of it, and functions of nn.functional that torch has natively."""

from .. import _C
from ..ops.conversion import parse_to

# Functions of nn.functional -> their names here.
NATIVE = {
    name: name
    for name in (
        *("avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "one_hot"),
        *("scaled_dot_product_attention", "softplus", "softshrink"),
    )
} | {"logsigmoid": "log_sigmoid"}


def __getattr__(name):
    from ..nn import functional

    for public, native in NATIVE.items():
        if native == name:
            return getattr(functional, public)
    raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) that the arguments of .to() mean.

    >>> import adjoint as torch
    >>> torch._C._nn._parse_to("cpu", torch.float64)
    (device(type='cpu'), torch.float64, False, None)
    """
    dtype, device, _, memory_format = parse_to(args, kwargs)
    placed = [arg for arg in args[1:] if isinstance(arg, bool)]  # after a device, a type or a tensor
    non_blocking = kwargs.get("non_blocking", bool(placed and placed[0]))
    return None if device is None else _C.device(device), dtype, non_blocking, memory_format
