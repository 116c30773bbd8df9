"""torch._assert: an assertion that a tracer can record."""


def _assert(condition, message):
    """`assert condition, message`, as a call: in symbolic tracing it becomes a node.

    >>> import adjoint as torch
    >>> torch._assert(1 < 2, "never said")
    """
    if type(condition) is not bool and hasattr(type(condition), "__torch_function__"):
        from . import Tensor

        if not isinstance(condition, Tensor):
            cls = type(condition)
            return cls.__torch_function__(_assert, (cls,), (condition, message), {})
    assert condition, message
    return None


_assert.__module__ = __package__  # torch._assert, as graphs print it
