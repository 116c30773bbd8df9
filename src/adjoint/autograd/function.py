"""Custom Functions: a forward and a backward written by the user."""

import functools
import warnings

from .. import _C


class FunctionCtx:
    """What a Function's forward leaves for its backward. Any attribute may be set on it."""

    materialize_grads = True
    needs_input_grad = ()
    _node = None  # the node, while backward runs

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
        for position, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {position} is of type "
                    f"{type(tensor).__name__}; set other values as attributes of ctx"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for `jvp`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Says that forward changed these inputs in place; forward must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Says that no gradient flows through these outputs."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """With False, backward gets None for a gradient that is not there, instead of zeros."""
        self.materialize_grads = value

    @property
    def saved_tensors(self):
        """The tensors given to save_for_backward."""
        if self._node is None:
            raise RuntimeError("ctx.saved_tensors is there in backward only; in forward use the tensors themselves")
        return _C._function_saved(self._node)

    saved_variables = saved_tensors


def _not_implemented(cls, ctx, *gradients):
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
        "backward mode AD."
    )


class Function(FunctionCtx):
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

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._kind = _C._function_kind(f"{cls.__name__}Backward")
        cls._backward = cls._find_backward()

    @classmethod
    def _find_backward(cls):
        """The user's backward (or vjp), as backward calls it."""
        given = [name for name in ("backward", "vjp") if getattr(cls, name) is not getattr(Function, name)]
        if len(given) == 2:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed.")
        return staticmethod(getattr(cls, given[0]) if given else functools.partial(_not_implemented, cls))

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the outputs: forward(ctx, *args), or forward(*args) where setup_context is defined too."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Fills ctx from the inputs and outputs of a forward that does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Computes the gradients of the inputs from those of the outputs: one for each argument of forward."""
        _not_implemented(None, ctx)

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name of backward."""
        _not_implemented(None, ctx)

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Computes the tangents of the outputs from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Computes the Function on a batch."""
        raise NotImplementedError("To use autograd.Function with vmap, you must override the vmap staticmethod.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward and records the call."""
        separate = cls.setup_context is not Function.setup_context
        if separate or kwargs:
            args = _bind(cls.forward, args, kwargs, separate)
        ctx = FunctionCtx()
        ctx._function = cls
        tensor = _C.Tensor
        needs = tuple([isinstance(a, tensor) and a.requires_grad for a in args])
        ctx.needs_input_grad = needs
        enabled = _C.is_grad_enabled()
        recorded = enabled and True in needs
        _C._set_grad_enabled(False)
        try:
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            _C._set_grad_enabled(enabled)
        if not recorded:
            return output
        if isinstance(output, tuple):
            return _C._function_record(cls._kind, ctx, args, output)
        if isinstance(output, list):
            return tuple(_C._function_record(cls._kind, ctx, args, tuple(output)))
        return _C._function_record(cls._kind, ctx, args, (output,))[0]


def _bind(forward, args, kwargs, separate):
    """Arguments by position, keywords and defaults included."""
    import inspect  # not at the top: it would double the time to import this package

    signature = inspect.signature(forward)
    if not separate:  # forward takes ctx first
        bound = signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        return bound.args[1:]
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


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
        sealed = tuple(_Sealed.apply(*gradients, out) if isinstance(out, _C.Tensor) else out for out in many)
        return sealed if isinstance(outputs, tuple) else sealed[0]

    return wrapper


class _Sealed(Function):
    """The last argument, tied to the others by a derivative that may not be asked for."""

    @staticmethod
    def forward(ctx, *tensors):
        return tensors[-1].detach()

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
