"""Context managers that also decorate functions: what packages derive their own modes from."""

from ..autograd.grad_mode import Mode


class _DecoratorContextManager(Mode):
    """A context manager that decorates functions, generators and coroutines, too; derive, and enter and exit.

    >>> import adjoint as torch
    >>> class Loud(torch.utils._contextlib._DecoratorContextManager):
    ...     def __enter__(self):
    ...         print("in")
    ...     def __exit__(self, *error):
    ...         print("out")
    >>> Loud()(lambda: 3)()
    in
    out
    3
    """

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, *error):
        raise NotImplementedError

    def clone(self):
        """One for each call; override it if the class takes arguments."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same without arguments: it decorates with and without parentheses."""

    def __new__(cls, orig_func=None):
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
