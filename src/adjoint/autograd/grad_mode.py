"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode."""

import functools

from .. import _C

# Flags of code objects, as in the module inspect, whose import would take longer than that of this package.
_GENERATOR, _COROUTINE = 0x20, 0x80


class _Mode:
    """A context manager that also decorates functions, generators, coroutines and classes."""

    def __call__(self, target):
        if isinstance(target, type):
            target.__init__ = self(target.__init__)
            return target
        kind = getattr(getattr(target, "__code__", None), "co_flags", 0)
        if kind & _GENERATOR:
            return self._wrap_generator(target)
        if kind & _COROUTINE:

            @functools.wraps(target)
            async def wrapped_coroutine(*args, **kwargs):
                with self.clone():
                    return await target(*args, **kwargs)

            return wrapped_coroutine

        @functools.wraps(target)
        def wrapped(*args, **kwargs):
            with self.clone():
                return target(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, target):
        """The mode holds while the generator runs, not while it is suspended."""

        @functools.wraps(target)
        def wrapped(*args, **kwargs):
            generator = target(*args, **kwargs)
            resume = functools.partial(next, generator)
            while True:
                try:
                    with self.clone():
                        value = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)
                else:
                    resume = functools.partial(generator.send, sent)

        return wrapped

    def clone(self):
        """A fresh context manager of the same meaning, for one call of a decorated function."""
        return type(self)()


class _GradMode(_Mode):
    _enabled = False

    def __init__(self):
        self._before = True

    def __enter__(self):
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(self._enabled)

    def __exit__(self, *exception):
        _C._set_grad_enabled(self._before)


def _decorator_without_call(cls, target=None):
    """`@no_grad` and `@no_grad()` both work."""
    instance = object.__new__(cls)
    if target is None:
        return instance
    instance.__init__()
    return instance(target)


class no_grad(_GradMode):
    """Nothing is recorded inside.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __new__ = _decorator_without_call


class enable_grad(_GradMode):
    """Operations are recorded inside, even within no_grad.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    __new__ = _decorator_without_call
    _enabled = True


class set_grad_enabled(_Mode):
    """Sets whether operations are recorded: at once, and back at the end when used as a context manager.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode):
        self.mode = bool(mode)
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(self.mode)

    def __call__(self, target):
        # As a decorator it acts on the function's calls only.
        _C._set_grad_enabled(self._before)
        return super().__call__(target)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *exception):
        _C._set_grad_enabled(self._before)

    def clone(self):
        return type(self)(self.mode)


class inference_mode(_Mode):
    """Nothing is recorded inside, and tensors made inside stay out of recording.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return object.__new__(cls)
        return cls()(mode)

    def __init__(self, mode=True):
        self.mode = mode
        self._before = 0

    def __enter__(self):
        both = _C._GRAD_DISABLED | _C._INFERENCE_MODE
        self._before = _C._mode_flags()
        _C._set_mode_flags(self._before | both if self.mode else self._before & ~both)

    def __exit__(self, *exception):
        _C._set_mode_flags(self._before)

    def clone(self):
        return type(self)(self.mode)


def is_inference_mode_enabled():
    """Whether inference mode is on in this thread.

    >>> import adjoint as torch
    >>> torch.is_inference_mode_enabled()
    False
    """
    return bool(_C._mode_flags() & _C._INFERENCE_MODE)
