"""`torch.library`: ops that a program defines, called as `torch.ops.mylib.f`, with gradients, batching and casts.

>>> import adjoint as torch
>>> @torch.library.custom_op("docs::scaled", mutates_args=())
... def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
...     return x * factor
>>> scaled.register_autograd(lambda ctx, g: (g * ctx.factor, None),
...                          setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))
>>> x = torch.ones(2, requires_grad=True)
>>> torch.ops.docs.scaled(x, 3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
"""

import contextlib

from . import _ops, _schema
from ._custom_op import ANYWHERE, AUTOGRAD, COMPOSITE, DEVICE_KEYS, DefinedOp, find

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


def fallthrough_kernel():
    """Stands for "nothing to do here" as a kernel of Library.impl().

    >>> import adjoint as torch
    >>> torch.library.fallthrough_kernel()
    Traceback (most recent call last):
    NotImplementedError: fallthrough_kernel() should never be called; hand it to Library.impl()
    """
    raise NotImplementedError("fallthrough_kernel() should never be called; hand it to Library.impl()")


# ---- Finding and defining


def _defined(op):
    """The DefinedOp behind a name, an overload or a CustomOpDef."""
    if isinstance(op, CustomOpDef):
        return op._op
    if isinstance(op, _ops.OpOverload | _ops.OpOverloadPacket):
        if isinstance(op._function, DefinedOp):
            return op._function
        raise RuntimeError(f"{op} is an op of the library itself, to which nothing can be registered")
    if not isinstance(op, str):
        raise ValueError(f"expected the name of an op, an OpOverload or a CustomOpDef, got {type(op).__name__}")
    space, name = _names(op)
    found = find(space, name)
    if found is None:
        raise RuntimeError(
            f"could not find the operator {space}::{name}; define it with torch.library.define() or "
            "torch.library.custom_op() first"
        )
    return found


def _names(qualname):
    space, separator, name = qualname.partition("::")
    if not separator or not space or not name:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return space, name.removesuffix(".default")


def _full_names(schema):
    space, name = _names(schema.name)
    return space, f"{name}.{schema.overload_name}" if schema.overload_name else name


def _add(schema, checks_aliases=False):
    space, name = _full_names(schema)
    if find(space, name) is not None:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def()."
        )
    op = DefinedOp(schema, checks_aliases)
    _ops.register(op.packet)
    return op


def define(qualname, schema=None, *, lib=None, tags=()):
    """Defines an op by its schema; impl() says what it computes.

    >>> import adjoint as torch
    >>> torch.library.define("docs::twice", "(Tensor x) -> Tensor")
    >>> _ = torch.library.impl("docs::twice", "default", lambda x: x * 2)
    >>> torch.ops.docs.twice(torch.ones(1))
    tensor([2.])
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    _names(qualname)
    if schema is None:

        def decorate(function):
            op = _add(_named(infer_schema(function, mutates_args=()), qualname))
            op.kernels[None] = function
            return function

        return decorate
    op = _add(_named(schema, qualname))
    op.overload.tags = list(tags) if isinstance(tags, list | tuple) else [tags]
    if lib is not None:
        lib._ops.append(_names(qualname))
    return None


def _named(schema, qualname):
    return _schema.parse(f"{qualname}{schema}")


def _register_kernel(op, keys, function):
    """Under names of devices or of dispatch keys."""
    for key in (keys,) if isinstance(keys, str) else keys:
        if key in ANYWHERE:
            op.kernels[None] = function
        elif key == COMPOSITE:
            op.composite = function
        elif key in AUTOGRAD:
            op.autograd_kernel = None if function is fallthrough_kernel else function
        elif key in DEVICE_KEYS:
            op.kernels[DEVICE_KEYS[key]] = function
        elif key.lower() in DEVICE_KEYS.values():
            op.kernels[key.lower()] = function
        else:
            raise RuntimeError(
                f"Unknown device type or dispatch key {key!r}; known are {', '.join((*DEVICE_KEYS, COMPOSITE))}, "
                f"{', '.join(AUTOGRAD)} and 'default'"
            )


def _decorator(function, register):
    """Registers a function now, or as a decorator."""
    if function is not None:
        register(function)
        return function

    def decorate(function):
        register(function)
        return function

    return decorate


def impl(qualname, types="", func=None, *, lib=None):
    """Says what a defined op computes, on devices ("cpu") or for all ("default"); also a decorator.

    >>> import adjoint as torch
    >>> torch.library.define("docs::thrice", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("docs::thrice", "cpu")
    ... def thrice(x):
    ...     return x * 3
    >>> torch.ops.docs.thrice(torch.ones(1))
    tensor([3.])
    """
    if isinstance(qualname, Library):  # impl(lib, name, dispatch_key), the older form
        return _decorator(None, lambda function: qualname.impl(types, function, func or ""))
    return _decorator(func, lambda function: _register_kernel(_defined(qualname), types, function))


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Registers the kernel of some devices; also a decorator.

    >>> import adjoint as torch
    >>> torch.library.define("docs::four", "(Tensor x) -> Tensor")
    >>> _ = torch.library.register_kernel("docs::four", "cpu", lambda x: x * 4)
    >>> torch.ops.docs.four(torch.ones(1))
    tensor([4.])
    """
    return _decorator(func, lambda function: _register_kernel(_defined(op), device_types or "default", function))


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Registers what an op gives for tensors without values, on the meta device; also a decorator.

    >>> import adjoint as torch
    >>> torch.library.define("docs::same", "(Tensor x) -> Tensor")
    >>> _ = torch.library.register_fake("docs::same", lambda x: torch.empty_like(x))
    >>> torch.ops.docs.same(torch.ones(2, device="meta")).shape
    torch.Size([2])
    """

    def register(function):
        # Packages say so of the ops of their libraries, also of one that could not be loaded.
        if isinstance(op, str) and _ops.refused_libraries and find(*_names(op)) is None:
            return
        _defined(op).kernels["meta"] = function

    return _decorator(func, register)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The older name of register_fake().

    >>> import adjoint as torch
    >>> @torch.library.custom_op("help_texts::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> @torch.library.impl_abstract("help_texts::twice")
    ... def _(x):
    ...     return torch.empty_like(x)
    >>> twice(torch.ones(2, device="meta")).shape
    torch.Size([2])
    """
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Registers the gradient of an op: backward(ctx, *gradients), and setup_context(ctx, inputs, output).

    >>> import adjoint as torch
    >>> torch.library.define("docs::square", "(Tensor x) -> Tensor")
    >>> _ = torch.library.impl("docs::square", "default", lambda x: x * x)
    >>> torch.library.register_autograd("docs::square", lambda ctx, g: 2 * g * ctx.saved_tensors[0],
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(torch.ops.docs.square(x), x)
    (tensor(6.),)
    """
    defined = _defined(op)
    if defined.schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {defined.overload} with schema "
            f"{defined.schema}. Please create a functional operator and register an autograd formula for that."
        )
    defined.backward, defined.setup_context = backward, setup_context


def register_vmap(op, func=None, /, *, lib=None):
    """Registers how an op is computed under vmap: func(info, in_dims, *args) -> (results, out_dims); also a decorator.

    >>> import adjoint as torch
    >>> torch.library.define("docs::plus", "(Tensor x) -> Tensor")
    >>> _ = torch.library.impl("docs::plus", "default", lambda x: x + 1)
    >>> _ = torch.library.register_vmap("docs::plus", lambda info, in_dims, x: (x + 1, in_dims[0]))
    >>> torch.vmap(torch.ops.docs.plus)(torch.zeros(2, 1))
    tensor([[1.],
            [1.]])
    """

    def register(function):
        _defined(op).vmap_rule = function

    return _decorator(func, register)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Registers the type that an op's floating point tensors are cast to under autocast.

    >>> import adjoint as torch
    >>> torch.library.define("docs::id", "(Tensor x) -> Tensor")
    >>> _ = torch.library.impl("docs::id", "default", lambda x: x.clone())
    >>> torch.library.register_autocast("docs::id", "cpu", torch.bfloat16)
    >>> with torch.autocast("cpu"):
    ...     print(torch.ops.docs.id(torch.ones(1)).dtype)
    torch.bfloat16
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    _defined(op).casts[device_type] = cast_inputs


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Registers what a dispatch mode of this class does with an op: func(mode, func, types, args, kwargs).

    >>> import adjoint as torch
    >>> from adjoint.utils._python_dispatch import TorchDispatchMode
    >>> class Mode(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> @torch.library.custom_op("help_texts::same", mutates_args=())
    ... def same(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> @torch.library.register_torch_dispatch("help_texts::same", Mode)
    ... def _(mode, func, types, args, kwargs):
    ...     return torch.zeros(2)
    >>> with Mode():
    ...     same(torch.ones(2))
    tensor([0., 0.])
    """

    def register(function):
        _defined(op).dispatch_rules[torch_dispatch_class] = function

    return _decorator(func, register)


def get_kernel(op, dispatch_key):
    """The kernel of an op under a dispatch key.

    >>> import adjoint as torch
    >>> @torch.library.custom_op("help_texts::half", mutates_args=())
    ... def half(x: torch.Tensor) -> torch.Tensor:
    ...     return x / 2
    >>> torch.library.get_kernel("help_texts::half", "CPU")(torch.ones(1))
    tensor([0.5000])
    """
    defined, key = _defined(op), str(dispatch_key).rpartition(".")[2]
    kernel = defined.kernels.get(DEVICE_KEYS.get(key)) or defined.kernels.get(None)
    if kernel is None:
        raise RuntimeError(f"{defined.overload} has no kernel for {key}")
    return kernel


def get_ctx():
    """What a fake kernel asks for sizes that depend on values; here there are none without values.

    >>> import adjoint as torch
    >>> try:
    ...     torch.library.get_ctx()
    ... except RuntimeError as error:
    ...     print(str(error)[:40])
    get_ctx() should only be called inside o
    """
    raise RuntimeError(
        "get_ctx() should only be called inside of a register_fake implementation whose sizes depend on values, for "
        "torch.compile; nothing is traced that way here"
    )


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema that the annotations of a function stand for, as a text.

    >>> import adjoint as torch
    >>> def f(x: torch.Tensor, n: int = 1) -> torch.Tensor: ...
    >>> torch.library.infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=1) -> Tensor'
    """
    return _text(_schema.infer(prototype_function, mutates_args, op_name or ""))


def _text(schema):
    return f"{schema.name}{_signature_text(schema)}"


def _signature_text(schema):
    """As infer_schema writes it: defaults as Python does."""
    taken, keywords = [], False
    for argument in schema.arguments:
        if argument.kwarg_only and not keywords:
            taken, keywords = [*taken, "*"], True
        plain = _schema.Argument(argument.name, argument.type, alias=argument.alias)
        taken.append(f"{plain}={_default(argument.default_value)}" if argument.has_default_value() else str(plain))
    given = [str(value) for value in schema.returns]
    return f"({', '.join(taken)}) -> {given[0] if len(given) == 1 else '(' + ', '.join(given) + ')'}"


def _default(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


# ---- Libraries


class Library:
    """A namespace of ops that a program defines ("DEF", "FRAGMENT") or adds kernels to ("IMPL").

    >>> import adjoint as torch
    >>> library = torch.library.Library("docs2", "DEF")
    >>> library.define("half(Tensor x) -> Tensor")
    'half'
    >>> library.impl("half", lambda x: x / 2, "CPU")
    >>> torch.ops.docs2.half(torch.ones(1))
    tensor([0.5000])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._ops: list = []

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an op by its schema; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        parsed = _schema.parse(schema)
        parsed.name = f"{self.ns}::{parsed.name}"
        op = _add(parsed)
        op.overload.tags = list(tags) if isinstance(tags, list | tuple) else [tags]
        self._ops.append(_full_names(parsed))
        return parsed.name.partition("::")[2]

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Registers a kernel of an op of this namespace, under a dispatch key such as "CPU" or "Autograd"."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or COMPOSITE
        if isinstance(op_name, str):
            name = op_name.rpartition("::")[2].removesuffix(".default")
            if self.ns == "aten":
                raise RuntimeError(
                    f"impl(): aten::{name} is computed by the library itself and cannot be replaced; define an op in a "
                    "namespace of your own, or change what it means with a TorchDispatchMode"
                )
            op_name = f"{self.ns}::{name}"
        _register_kernel(_defined(op_name), key, fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Not possible here: there are no dispatch keys to fall through."""
        raise NotImplementedError("Library.fallback(): use a TorchDispatchMode, which sees every op")

    def _destroy(self):
        for space, name in self._ops:
            _ops.forget(space, name)
        self._ops.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._destroy()

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A library whose ops are gone afterwards."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


# ---- Custom ops


class CustomOpDef:
    """What custom_op() makes of a function: callable, and the place to register its gradient and other rules.

    >>> import adjoint as torch
    >>> @torch.library.custom_op("help_texts::thrice", mutates_args=())
    ... def thrice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 3
    >>> type(thrice).__name__, thrice(torch.ones(2))
    ('CustomOpDef', tensor([3., 3.]))
    """

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace, self._name, self._schema = namespace, name, schema
        self._init_fn = fn
        self._qualname = f"{namespace}::{name}"
        _ops.forget(namespace, name)  # a module that is imported again defines it again
        self._op = _add(_named(schema, self._qualname), checks_aliases=True)
        self._op.default_kernel = fn
        self._opoverload = self._op.overload

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """As torch.library.register_kernel()."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn, /):
        """As torch.library.register_fake()."""
        return register_fake(self, fn)

    def register_autograd(self, backward, /, *, setup_context=None):
        """As torch.library.register_autograd()."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func=None):
        """As torch.library.register_vmap()."""
        return register_vmap(self, func)

    def register_autocast(self, device_type, cast_inputs):
        """As torch.library.register_autocast()."""
        register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """As torch.library.register_torch_dispatch()."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """Whether the kernel of a device is used, or the function that the op was made from."""
        before = set(self._op.disabled)
        (self._op.disabled.discard if enabled else self._op.disabled.add)(device_type)
        try:
            yield
        finally:
            self._op.disabled = before


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an op of a function, whose inside autograd does not see; also a decorator. See the page's beginning.

    >>> import adjoint as torch
    >>> @torch.library.custom_op("docs::numpy_sin", mutates_args=())
    ... def numpy_sin(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(__import__("numpy").sin(x.numpy()))
    >>> numpy_sin(torch.zeros(1)), torch.ops.docs.numpy_sin.default._schema
    (tensor([0.]), docs::numpy_sin(Tensor x) -> Tensor)
    """

    def make(function):
        text = schema if schema is not None else infer_schema(function, mutates_args=mutates_args)
        space, short = _names(name)
        made = CustomOpDef(space, short, text, function, tags)
        _register_kernel(made._op, device_types or "default", function)
        return made

    return make if fn is None else make(fn)


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Refuses: kernels of Triton cannot run on the CPU.

    >>> import adjoint as torch
    >>> torch.library.triton_op("help_texts::kernel", mutates_args=())
    Traceback (most recent call last):
    NotImplementedError: triton_op(): Triton kernels need a GPU; write the op with torch.library.custom_op()
    """
    raise NotImplementedError("triton_op(): Triton kernels need a GPU; write the op with torch.library.custom_op()")


def wrap_triton(triton_kernel, /):
    """Refuses: kernels of Triton cannot run on the CPU.

    >>> import adjoint as torch
    >>> torch.library.wrap_triton(None)
    Traceback (most recent call last):
    NotImplementedError: wrap_triton(): Triton kernels need a GPU
    """
    raise NotImplementedError("wrap_triton(): Triton kernels need a GPU")


# ---- Checks


def opcheck(op, args, kwargs=None, *, test_utils=None, raise_exception=True, atol=None, rtol=None):
    """Checks an op that a program has defined: its schema, its gradient, and its fake kernel.

    >>> import adjoint as torch
    >>> @torch.library.custom_op("docs::checked", mutates_args=())
    ... def checked(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> _ = checked.register_fake(lambda x: torch.empty_like(x))
    >>> torch.library.opcheck(checked, (torch.ones(2),))["test_schema"]
    'SUCCESS'
    """
    from ._library_checks import run

    if not isinstance(op, CustomOpDef | _ops.OpOverload | _ops.OpOverloadPacket):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
            f"{type(op)}"
        )
    return run(_defined(op), tuple(args), dict(kwargs or {}), test_utils, raise_exception, atol, rtol)
