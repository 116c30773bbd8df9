"""Custom Functions: a forward and a backward written by the user."""

import functools
import warnings

from .. import _C

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What a Function's forward leaves for its backward. Any attribute may be set on it.

    The ctx of a call is its node in the graph, a BackwardCFunction; a FunctionCtx of one's own serves to call forward
    and backward by hand.
    """

    __slots__ = ()

    def __new__(cls, *args, **kwargs):
        return object.__new__(_PlainCtx if cls is FunctionCtx else cls)

    def save_for_backward(self, *tensors):
        """Keeps tensors for backward, where `ctx.saved_tensors` gives them back; changes in between are noticed.

        >>> import adjoint as torch
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * g * x
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for `jvp`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Says that forward changed these inputs in place; forward must return them."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs):
        """Does nothing: tensors on shared memory are noticed."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args):
        """Says that no gradient flows through these outputs."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """With False, backward gets None for a gradient that is not there, instead of zeros."""
        self.materialize_grads = value


_PlainCtx = type("FunctionCtx", (FunctionCtx,), {"__module__": __name__})  # with a place for attributes


class FunctionMeta(type):
    """Gives each Function class the type of its nodes."""

    def __init__(cls, name, bases, members):
        super().__init__(name, bases, members)
        cls._kind, cls._backward_cls = _C._function_kind(cls, f"{name}Backward")


def _bind(forward, args, kwargs, separate):
    """Arguments by position, keywords included; with setup_context (`separate`) also the defaults."""
    if separate:
        if not kwargs and _takes_exactly(forward, len(args)):
            return args
        import inspect  # not at the top: it would double the time to import this package

        bound = inspect.signature(forward).bind(*args, **kwargs)
        bound.apply_defaults()
        for name in bound.kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        return bound.args
    names = forward.__code__.co_varnames[1 : forward.__code__.co_argcount]  # but for ctx
    bound = list(args)
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    for position in range(len(args), 1 + max(names.index(name) for name in kwargs)):
        if names[position] not in kwargs:
            raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
        bound.append(kwargs[names[position]])
    return tuple(bound)


def _takes_exactly(function, count):
    code = getattr(function, "__code__", None)
    variadic = 0x04 | 0x08  # *args, **kwargs
    return (
        code is not None and code.co_argcount == count and not code.co_kwonlyargcount and not code.co_flags & variadic
    )


def _forward(*args, **kwargs):
    """Computes the outputs: forward(ctx, *args), or forward(*args) where setup_context is defined too."""
    raise NotImplementedError("You must implement the forward function for custom autograd.Function.")


def _setup_context(ctx, inputs, output):
    """Fills ctx from the inputs and outputs of a forward that does not take it."""
    raise NotImplementedError("setup_context is not implemented.")


def _backward(ctx, *grad_outputs):
    """Computes the gradients of the inputs from those of the outputs: one for each argument of forward."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD."
    )


def _vjp(ctx, *grad_outputs):
    """Another name of backward."""
    _backward(ctx)


BackwardCFunction = _C._function_base(FunctionCtx, _bind, _setup_context, _backward, _vjp)


def _users_backward(ctx, gradients):
    cls = ctx._forward_cls
    function = cls.backward if cls.vjp is _vjp else cls.vjp
    return function(ctx, gradients) if cls.boxed_grads_call else function(ctx, *gradients)


def _apply(self, *args):
    """Calls the class's backward with these gradients."""
    return _users_backward(self, list(args))


def _apply_boxed(self, args):
    """Calls the class's backward with the gradients of a list."""
    return _users_backward(self, args)


BackwardCFunction.apply, BackwardCFunction.apply_boxed = _apply, _apply_boxed


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of operations whose derivative is given by hand: static methods forward and backward, called by apply.

    >>> import adjoint as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> Double.apply(x)
    tensor(2., grad_fn=<DoubleBackward>)
    """

    generate_vmap_rule = False
    boxed_grads_call = False  # True: backward gets the gradients as one list, which it may empty
    clear_saved_tensors_on_access = False  # True: ctx.saved_tensors can be asked for once, and is freed by that
    forward = staticmethod(_forward)
    setup_context = staticmethod(_setup_context)
    backward = staticmethod(_backward)
    vjp = staticmethod(_vjp)
    apply = classmethod(_C._function_apply)

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method."
        )

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Computes the tangents of the outputs from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Computes the Function on a batch."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )


class InplaceFunction(Function):
    """A Function with an `inplace` flag, for old code."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(backward):
    """Decorates a backward that is not itself made of recorded operations: a second derivative raises an error.

    >>> import adjoint as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g * ctx.saved_tensors[0]
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    @functools.wraps(backward)
    def wrapper(ctx, *gradients):
        enabled = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            outputs = backward(ctx, *gradients)
        finally:
            _C._set_grad_enabled(enabled)
        if not enabled or not any(isinstance(g, _C.Tensor) and g.requires_grad for g in gradients):
            return outputs
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        sealed = _C._delayed_error(
            "trying to differentiate twice a function that was marked with @once_differentiable", many
        )
        return sealed if isinstance(outputs, tuple) else sealed[0]

    return wrapper
