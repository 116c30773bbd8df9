"""skip_init: modules whose first values do not matter."""

from ... import _C
from ..modules.module import Module


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters have any values; the random numbers of its constructor are not used up.

    >>> import adjoint as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 2, 3).weight.shape
    torch.Size([3, 2])
    """
    import inspect

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = _C.default_generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        _C.default_generator.set_state(state)
