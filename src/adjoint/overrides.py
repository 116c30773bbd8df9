"""`__torch_function__`: what classes and modes need that take over calls of the library's functions.

Note [Overrides] in csrc/op/overrides.h says when they are asked. Here are the functions with which programs take part:
to ask in functions of their own, to name what was called, and to list what can be taken over.
"""

import collections
import contextlib
import functools
import inspect
import sys
import types
import warnings

from . import _C
from ._install import OLD_METHODS

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

has_torch_function = _C._has_torch_function
has_torch_function_unary = _C._has_torch_function_variadic
has_torch_function_variadic = _C._has_torch_function_variadic


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Lets modes and the types of `relevant_args` answer a call of `public_api`, a function of one's own.

    >>> import adjoint as torch
    >>> from adjoint.overrides import handle_torch_function, has_torch_function
    >>> def twice(x):
    ...     if has_torch_function((x,)):
    ...         return handle_torch_function(twice, (x,), x)
    ...     return x * 2
    >>> class Length:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of a length"
    >>> twice(Length()), twice(torch.ones(1))
    ('twice of a length', tensor([2.]))
    """
    relevant = tuple(relevant_args)
    answer = _C._ask_overrides(public_api, relevant, args, kwargs)
    if answer is not NotImplemented:
        return answer
    name = resolve_name(public_api) or f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(_none_found(name, map(type, _get_overloaded_args(relevant))))


def _none_found(name, types):
    """The words of the error where all that were asked answer NotImplemented."""
    message = f"no implementation found for {name!r} on types that implement __torch_function__: {list(types)}"
    if mode := _get_current_function_mode():
        message += f" nor in mode {mode}"
    return message


def wrap_torch_function(dispatcher):
    """Decorates a function of one's own, so that the arguments that `dispatcher` picks may take its calls over.

    >>> import adjoint as torch
    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x * 2
    >>> twice(torch.ones(1))
    tensor([2.])
    """

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def _get_overloaded_args(relevant_args, get_type_fn=None):
    """The arguments that override, one of each type, in the order in which they are asked: subclasses first."""
    if get_type_fn is None:
        return _C._overloaded_args(tuple(relevant_args))
    found: list = []
    for argument in relevant_args:
        kind = get_type_fn(argument)
        method = getattr(kind, "__torch_function__", _C._disabled_torch_function_impl)
        if method is _C._disabled_torch_function_impl or kind in map(get_type_fn, found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(kind, get_type_fn(other))), len(found))
        found.insert(place, argument)
    return found


def is_tensor_like(inp):
    """Whether something is a Tensor, or has `__torch_function__` and may stand for one.

    >>> import adjoint as torch
    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
    (True, False)
    """
    return type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


# ---- Modes


class TorchFunctionMode:
    """A context whose `__torch_function__` is asked first, for every call of a function of the library.

    While it answers, it is off: what it calls itself reaches the mode outside of it.

    >>> import adjoint as torch
    >>> class Names(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(torch.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     _ = torch.ones(2) + 1
    torch.ones
    torch.Tensor.add
    """

    inner: "TorchFunctionMode"

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, *_):
        _pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """The older way to make a mode: `with Mode.push():`."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    >>> import adjoint as torch
    >>> from adjoint.overrides import BaseTorchFunctionMode
    >>> with BaseTorchFunctionMode():
    ...     torch.ones(2) + 1
    tensor([2., 2.])
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


_push_mode = _C._push_function_mode
_pop_mode = _C._pop_function_mode


def _get_current_function_mode():
    """The innermost mode, or None."""
    stack = _C._function_modes()
    return stack[-1] if stack else None


_get_current_function_mode_stack = _C._function_modes


@contextlib.contextmanager
def _pop_mode_temporarily():
    """Takes the innermost mode off while it lasts."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """Lets what `__torch_function__` calls be taken over again, by the types of arguments, too.

    >>> import adjoint as torch
    >>> with torch._C.DisableTorchFunctionSubclass(), torch.overrides.enable_reentrant_dispatch():
    ...     torch._C._is_torch_function_enabled()
    True
    """
    with _C._EnableTorchFunction():
        yield


def redispatch_function(func, types, args=(), kwargs=None):
    """Calls a function that a `__torch_function__` was given, with types off.

    >>> import adjoint as torch
    >>> torch.overrides.redispatch_function(torch.add, (), (torch.ones(1), 1))
    tensor([2.])
    """
    return _C._disabled_torch_function_impl(func, types, args, kwargs)


# ---- What can be taken over


def _namespaces():
    """The modules whose functions can be, by the name under which users know them.

    Of a function that is in several, the last one tells its name.
    """
    package = sys.modules[__package__]
    paths = ("", "functional", "nn.functional", "nn.init", "linalg", "fft", "special")
    return {".".join(["torch", *filter(None, [path])]): _at(package, path) for path in paths}


def _at(module, path):
    return functools.reduce(getattr, filter(None, path.split(".")), module)


@functools.cache
def _index():
    """What modes and types may be told -> its name; in the order in which it is listed."""
    names: dict = {}
    for path, module in _namespaces().items():
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or name == "Tensor" or not callable(value):
                continue
            if isinstance(value, _C.Op) or _is_of(value, module):
                names[value] = f"{path}.{name}"
    for name, value in sorted(vars(_C.Tensor).items(), key=lambda item: (item[0] not in OLD_METHODS, item[0])):
        if name in _HIDDEN:
            continue
        if isinstance(value, types.GetSetDescriptorType | property):
            names[value.__get__] = f"torch.Tensor.{name}.__get__"
            names[value.__set__] = f"torch.Tensor.{name}.__set__"
        elif isinstance(value, _METHODS):
            names[value] = f"torch.Tensor.{name}"
        elif isinstance(value, types.BuiltinFunctionType | staticmethod):
            names[getattr(_C.Tensor, name)] = f"torch.Tensor.{name}"
    return names


# What the attributes of Tensor are that can be called.
_METHODS = (_C.Op, types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


def _is_of(value, module):
    """Whether a module is where users find what its namespace holds."""
    return module is sys.modules[__package__] or getattr(value, "__module__", None) == module.__name__


# Attributes that are Python's, or for the library's own use.
_HIDDEN = ("__dict__", "__weakref__", "_hook_dict", "_post_hook_dict")
# Methods that are Python's business, not that of tensors.
_IGNORED_METHODS = (
    *("__getattribute__", "__setattr__", "__delattr__", "__init__", "__hash__", "__iter__", "__delitem__"),
    *("as_subclass", "_make_subclass", "_make_wrapper_subclass", "__torch_dispatch__", "_storage_id"),
    *("_storage_nbytes", "_typed_storage", "__copy__", "__abs__", "__neg__", "__pos__"),
    *(
        "new",
        "new_empty",
        "new_empty_strided",
        "new_full",
        "new_ones",
        "new_tensor",
        "new_zeros",
        "stride",
        "unflatten",
    ),
    *("fill", "hardshrink_", "rsub"),
    *("to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr"),
)
_CREATING = (
    *("arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "empty", "empty_strided", "eye"),
    *("from_numpy", "frombuffer", "full", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace"),
    *("normal", "ones", "rand", "randint", "randn", "randperm", "range", "scalar_tensor", "tensor", "tril_indices"),
    *("triu_indices", "vander", "zeros", "is_tensor", "is_storage", "broadcast_shapes", "result_type", "can_cast"),
    *("as_strided", "empty_permuted", "fill", "rand_like", "randint_like", "randn_like", "get_default_dtype", "save"),
    *("load", "manual_seed", "is_grad_enabled", "promote_types", "no_grad", "enable_grad", "set_grad_enabled", "seed"),
    *("get_num_threads", "set_num_threads", "get_rng_state", "set_rng_state", "initial_seed", "set_printoptions"),
    *("typename", "device", "dtype", "layout", "memory_format", "finfo", "iinfo", "inference_mode", "vmap"),
    *("set_default_device", "get_default_device", "use_deterministic_algorithms", "clear_autocast_cache"),
)


@functools.cache
def get_ignored_functions():
    """Functions that have no tensor among their arguments, or are never taken over by one; modes see some of them.

    >>> import adjoint as torch
    >>> torch.ones in torch.overrides.get_ignored_functions()
    True
    """
    package = sys.modules[__package__]
    functions = {getattr(package, name) for name in _CREATING}
    return functions | {getattr(_C.Tensor, name) for name in _IGNORED_METHODS if hasattr(_C.Tensor, name)}


def get_default_nowrap_functions():
    """Attributes that subclasses get as they are, not in their own type: gradients, and the bases of views.

    >>> import adjoint as torch
    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    return _unwrapped()


@functools.cache
def _unwrapped():
    return {_C.Tensor._base.__get__, _C.Tensor.grad.__get__, _C.Tensor._grad.__get__}


def get_overridable_functions():
    """What can be taken over: a dict of the modules and classes to lists of their functions.

    >>> import adjoint as torch
    >>> functions = torch.overrides.get_overridable_functions()
    >>> torch.add in functions[torch], torch.Tensor.add in functions[torch.Tensor]
    (True, True)
    """
    ignored, modules = get_ignored_functions(), _namespaces()
    listed = collections.defaultdict(list)
    for function, name in _index().items():
        if function in ignored or not _is_taken_over(function):
            continue
        owner, _, last = name.rpartition(".")
        if last in ("__get__", "__set__"):
            if last == "__get__":
                listed[getattr(_C.Tensor, owner.rpartition(".")[2])].append(function)
        elif owner == "torch.Tensor":
            listed[_C.Tensor].append(function)
        elif not last.endswith("_"):
            listed[modules[owner]].append(function)
    return listed


def _is_taken_over(function):
    """Whether a function asks; what else has a name is there for modes to know it."""
    asking = (_C.Op, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
    return isinstance(function, asking) or getattr(function, "_asks_overrides", function is _C.Tensor.__contains__)


def resolve_name(f):
    """The name of a function that was taken over, as users know it, or None.

    >>> import adjoint as torch
    >>> torch.overrides.resolve_name(torch.Tensor.add), torch.overrides.resolve_name(torch.Tensor.shape.__get__)
    ('torch.Tensor.add', 'torch.Tensor.shape.__get__')
    """
    return _index().get(f)


def _shown(function):
    """The name of a function, for errors."""
    return resolve_name(function) or getattr(function, "__name__", repr(function))


def is_tensor_method_or_property(func):
    """Whether a function is a method of Tensor, or reads an attribute of it.

    >>> import adjoint as torch
    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    >>> torch.overrides.is_tensor_method_or_property(torch.add)
    False
    """
    if func in get_ignored_functions():
        return False
    if isinstance(func, _C.Op):
        return func._is_method
    name = resolve_name(func) or ""
    return name.startswith("torch.Tensor.") and not name.endswith(".__set__")


# ---- Signatures


def signature(function):
    """The parameters of a function of the library, of ops too, which have none that Python could find."""
    wrapped = getattr(function, "__wrapped__", None) if isinstance(function, _C.Op) else function
    if wrapped is not None and not isinstance(wrapped, _C.Op):
        return inspect.signature(wrapped)
    return _declared_signature(wrapped or function)


def _declared_signature(op):
    """That of an op of the table."""
    from .ops import language

    declared = language.TABLE.get(op.__name__) or language.TABLE.get(op.__name__.removesuffix("_"))
    if declared is None:
        raise ValueError(f"no signature found for {op!r}")
    namespace = {"inf": float("inf"), "nan": float("nan"), **vars(_C)}
    parameters = declared.signature.partition("(")[2].rpartition(")")[0]
    return inspect.signature(eval(f"lambda {parameters}: None", namespace))


def _by_name(function, args, kwargs):
    """The arguments as a function written in Python hands them on: all that have a default, by name."""
    try:
        given = signature(function).bind(*args, **(kwargs or {}))
    except (TypeError, ValueError):
        return args, kwargs or {}
    given.apply_defaults()
    if function.__name__ == "einsum":
        given.arguments["args"] = _one_by_one(*given.arguments["args"])
    positional, named = [], {}
    for name, parameter in given.signature.parameters.items():
        value = given.arguments[name]
        if (name == "out" and not _tells_out(function)) or (function.__name__, name) == ("l1_loss", "weight"):
            continue  # torch's have no such argument
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named


def _tells_out(function):
    """Whether out= is told of a function written in Python: methods and layers have none."""
    return not function._is_method and function.__name__ in ("lu", "norm", "normalize")


def _one_by_one(equation, *operands):
    """The arguments of einsum, with operands that came in one list."""
    in_list = len(operands) == 1 and isinstance(operands[0], list | tuple)
    return (equation, *(operands[0] if in_list else operands))


@functools.cache
def get_testing_overrides():
    """A function of the same parameters for each that can be taken over; each of them returns -1.

    >>> import adjoint as torch
    >>> torch.overrides.get_testing_overrides()[torch.exp](torch.ones(1))
    -1
    """
    return {function: _dummy(function) for functions in get_overridable_functions().values() for function in functions}


def _dummy(function):
    try:
        parameters = ", ".join(map(_parameter_text, signature(function).parameters.values()))
    except (TypeError, ValueError):  # attributes, and methods of C++
        parameters = "self, *args, **kwargs" if not isinstance(function, types.MethodWrapperType) else "self"
    return eval(f"lambda {parameters}: -1")


def _parameter_text(parameter):
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}=None"
