"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode."""

import functools
import types
import warnings

from .. import _C
from . import _engine

# Flags of code objects, as in the module inspect, whose import would take longer than that of this package.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Mode:
    """A context manager that also decorates functions, generators, coroutines and asynchronous generators.

    The mode holds while what it decorates runs, not while that is suspended: another task may run then.
    """

    def __call__(self, target):
        return self._decorate(target)

    def _decorate(self, target):
        if isinstance(target, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly "
                "decorate the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=3,
            )
            return self._wrap_function(lambda *args, **kwargs: target(*args, **kwargs))
        kind = getattr(getattr(target, "__code__", None), "co_flags", 0)
        if kind & _GENERATOR:
            return self._wrap_generator(target)
        if kind & _COROUTINE:
            return self._wrap_coroutine(target)
        if kind & _ASYNC_GENERATOR:
            return self._wrap_async_generator(target)
        return self._wrap_function(target)

    def _wrap_function(self, target):
        def wrapped(*args, **kwargs):
            with self.clone():
                return target(*args, **kwargs)

        # Not as a decorator: an object that is called may have none of the names.
        return functools.wraps(target)(wrapped)

    def _wrap_generator(self, target):
        @functools.wraps(target)
        def wrapped(*args, **kwargs):
            return (yield from self._run(target(*args, **kwargs)))

        return wrapped

    def _wrap_coroutine(self, target):
        @functools.wraps(target)
        async def wrapped(*args, **kwargs):
            return await self._await(target(*args, **kwargs))

        return wrapped

    def _wrap_async_generator(self, target):
        @functools.wraps(target)
        async def wrapped(*args, **kwargs):
            generator = target(*args, **kwargs)
            step = generator.__anext__()
            while True:
                try:
                    value = await self._await(step)
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await self._await(generator.aclose())
                    raise
                except BaseException as error:
                    step = generator.athrow(error)
                else:
                    step = generator.asend(sent)

        return wrapped

    @types.coroutine
    def _await(self, awaitable):
        return (yield from self._run(awaitable.__await__()))

    def _run(self, generator):
        """Runs a generator, or what awaits something, each step of it in the mode."""
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
                resume = functools.partial(next, generator) if sent is None else functools.partial(generator.send, sent)

    def clone(self):
        """A fresh context manager of the same meaning, for one call of a decorated function."""
        return type(self)()


class _GradMode(Mode):
    _enabled = False

    def __init__(self):
        self.prev = False

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(self._enabled)

    def __exit__(self, *exception):
        _C._set_grad_enabled(self.prev)


def _decorator_without_call(cls, target=None):
    """`@no_grad` and `@no_grad()` both work."""
    instance = object.__new__(cls)
    if target is None:
        return instance
    instance.__init__()
    return instance._decorate(target)


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


class set_grad_enabled(Mode):
    """Sets whether operations are recorded: at once, and back at the end when used as a context manager.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode):
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, target):
        # As a decorator it acts on the function's calls only.
        _C._set_grad_enabled(self.prev)
        return self._decorate(target)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *exception):
        _C._set_grad_enabled(self.prev)

    def __repr__(self):
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"

    def clone(self):
        return type(self)(self.mode)


class inference_mode(Mode):
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
        return cls()._decorate(mode)

    _BOTH = _C._GRAD_DISABLED | _C._INFERENCE_MODE

    def __init__(self, mode=True):
        self.mode = mode
        self._before = 0

    def __enter__(self):
        flags = _C._mode_flags()
        self._before = flags & self._BOTH
        _C._set_mode_flags(flags | self._BOTH if self.mode else flags & ~self._BOTH)

    def __exit__(self, *exception):
        _C._set_mode_flags(_C._mode_flags() & ~self._BOTH | self._before)

    def clone(self):
        return type(self)(self.mode)


def is_inference_mode_enabled():
    """Whether inference mode is on in this thread.

    >>> import adjoint as torch
    >>> torch.is_inference_mode_enabled()
    False
    """
    return bool(_C._mode_flags() & _C._INFERENCE_MODE)


class _Switch(Mode):
    """A mode that holds from when it is made, and until the end of the block where it is used as a context manager."""

    def __init__(self, mode):
        self.prev = self._get()
        self.mode = mode
        self._set(mode)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        self._set(self.prev)

    def clone(self):
        return type(self)(self.mode)


class set_multithreading_enabled(_Switch):
    """Says whether a backward may use several threads; it runs on the calling one in any case.

    >>> import adjoint as torch
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     print(torch.autograd.is_multithreading_enabled())
    False
    """

    _get, _set = staticmethod(_engine.is_multithreading_enabled), staticmethod(_engine.set_multithreading)


class enforce_grad_layout_policy(_Switch):
    """Says whether a new .grad always gets the strides of its leaf, even if a copy must be made for that.

    >>> import adjoint as torch
    >>> x = torch.ones(2, 3).t().requires_grad_()
    >>> with torch.autograd.enforce_grad_layout_policy(True):
    ...     x.sum().backward()
    >>> x.grad.stride() == x.stride()
    True
    """

    _get = staticmethod(_C._is_grad_layout_enforcement_enabled)
    _set = staticmethod(_C._set_grad_layout_enforcement_enabled)

    def __init__(self, enable=True):
        super().__init__(enable)


class _force_original_view_tracking(_Switch):
    """Accepted: a view whose base was changed always gets its history from the base."""

    _kept = False

    @staticmethod
    def _get():
        return _force_original_view_tracking._kept

    @staticmethod
    def _set(mode):
        _force_original_view_tracking._kept = mode


def is_view_replay_enabled():
    """What _force_original_view_tracking was told.

    >>> import adjoint as torch
    >>> torch.autograd.is_view_replay_enabled()
    False
    """
    return _force_original_view_tracking._kept
