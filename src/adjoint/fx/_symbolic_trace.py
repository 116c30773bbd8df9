"""Tracing: a function or module is run once with proxies, and what it did is the graph."""

import collections
import inspect
import math
import types
import warnings

from .. import _C
from ..nn import Module, Parameter, Sequential
from ..utils import _pytree
from . import _patching
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from ._names import PACKAGE, torch_name
from .graph import Graph
from .graph_module import GraphModule
from .node import base_types
from .proxy import ParameterProxy, Scope, ScopeContextManager, TracerBase

_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes: dict = {}
_tracing = 0


def is_fx_tracing():
    """Whether a symbolic trace is under way.

    >>> from adjoint.fx._symbolic_trace import is_fx_tracing
    >>> is_fx_tracing()
    False
    """
    return _tracing > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """The metaclass of types whose instances may be made from proxies: such an instance becomes a node.

    >>> import adjoint as torch
    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> def total(x):
    ...     pair = Pair(x, 1)
    ...     return pair.left + pair.right
    >>> torch.fx.symbolic_trace(total)(2)
    3
    """

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        instance = cls.__new__(cls)
        proxy = _patching.find_proxy(args, kwargs)
        if proxy is None:
            cls.__init__(instance, *args, **kwargs)
            return instance
        tracer = proxy.tracer
        return tracer.create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """Stands in concrete_args for an argument that stays an input."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A PH whose placeholder gets the attributes of this object."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


def _assert_is_none(value, msg):
    assert value is None, msg


def _without_variable_arguments(function, count):
    """The function with its keyword-only and variable arguments as ordinary ones, so that proxies can be passed."""
    code = function.__code__
    plain = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_VARIABLE
    )
    return types.FunctionType(
        plain, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )


class Tracer(TracerBase):
    """Makes graphs of functions and modules; subclasses say what is a leaf, and see every node.

    >>> import adjoint as torch
    >>> graph = torch.fx.Tracer().trace(lambda x: torch.nn.functional.relu(x) + 1)
    >>> [node.name for node in graph.nodes]
    ['x', 'relu', 'add', 'output']
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in module.__dict__.items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls = {}
        self.node_name_to_scope = {}
        self._qualname_counter = collections.Counter()

    # ---- What subclasses change

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a module becomes one node; those of torch.nn do, but for Sequential. Others are traced through."""
        home = m.__module__
        is_ours = home.startswith((f"{PACKAGE}.nn", "torch.nn", "torch.ao.nn"))
        return is_ours and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """The dotted name of a module in the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """Called for every call of a module; `forward` does the ordinary call."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            key = f"{path}@{count}" if count else path
            self.module_stack[key] = (path, type(m))
            self.num_calls[path] = count + 1
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """Called for every parameter, buffer or module that is taken from a module; what the program gets."""
        if isinstance(attr_val, Parameter):
            return self._member(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, _C.Tensor):
            return self._member(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _member(self, value, members, cache):
        name = next((name for name, member in members if member is value), None)
        if name is None:
            return value
        if name not in cache:
            make = (lambda node: ParameterProxy(self, node, name, value)) if self.param_shapes_constant else None
            cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=make)
        return cache[name]

    # ---- Arguments

    def get_fresh_qualname(self, prefix):
        """A name for a new attribute of the root, with a number behind the prefix."""
        while True:
            name = f"{prefix}{self._qualname_counter[prefix]}"
            self._qualname_counter[prefix] += 1
            if not hasattr(self.root, name):
                return name

    def create_arg(self, a):
        """A value as the argument of a node: parameters, buffers and constants become attributes of the root."""
        if isinstance(a, Parameter):
            for name, member in self.root.named_parameters():
                if a is member:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, _C.Tensor):
            for name, member in self.root.named_buffers():
                if a is member:
                    return self.create_node("get_attr", name, (), {})
            return self._constant(a, "_tensor_constant")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if isinstance(a, Module) and a in (self.submodule_paths or ()):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, _C.Generator):
            return self._constant(a, "_opaque_obj")
        if type(a) in _proxyable_classes:
            return self._constant(a, f"_{type(a).__name__}_constant_")
        return super().create_arg(a)

    def _constant(self, value, prefix):
        name = self.tensor_attrs.get(id(value), (None, None))[0]
        if name is None:
            name = self.get_fresh_qualname(prefix)
            self.tensor_attrs[id(value)] = (name, value)
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(a function of proxies, these proxies): one placeholder for each argument that is not given a value."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args = []
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
        own = names[len(args) : total]
        if isinstance(concrete_args, tuple):
            if len(own) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))
        signature = inspect.signature(function)
        args += [self._proxy_placeholder(name, concrete_args, signature, function) for name in own]
        if code.co_kwonlyargcount or code.co_flags & _VARIABLE:
            rest = iter(names[total:])
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._proxy_placeholder(stars + next(rest), concrete_args, signature, function))
            root_fn = _without_variable_arguments(function, len(args))
        leaves, spec = _pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names[:total], spec, None))

        def of_leaves(*leaves):
            result = root_fn(*_pytree.tree_unflatten(list(leaves), spec))
            parts, out_spec = _pytree.tree_flatten(result)
            self.graph._codegen.pytree_info = self.graph._codegen.pytree_info._replace(out_spec=out_spec)
            return parts

        return of_leaves, leaves

    def _proxy_placeholder(self, name, concrete_args, sig, fn_for_analysis):
        given = concrete_args is not None and name in concrete_args
        parameter = sig.parameters[name if given else name.lstrip("*")]  # the rest of the arguments stays open
        default = () if name[0] == "*" or parameter.default is parameter.empty else (parameter.default,)
        if not given:
            kind = fn_for_analysis.__annotations__.get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        count = 0

        def place(value):
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                if isinstance(value, PHWithMeta):
                    for key, note in vars(value).items():
                        setattr(proxy.node, key, note)
                return proxy
            self._check_concrete(name, value, proxy)
            return value

        return _pytree.tree_map(place, concrete_args[name])

    def _check_concrete(self, name, value, proxy):
        """Nodes that check that a later call has the value for which the function was traced."""
        from .._assertion import _assert

        message = f"{name} has been specialized to have value {value} but got another value"
        if isinstance(value, base_types) and not isinstance(value, _C.Tensor):
            _assert(proxy == value, message)
        elif value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                "the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=5,
            )

    # ---- The trace itself

    def trace(self, root, concrete_args=None):
        """The graph of a module, or of a function; `concrete_args` gives some arguments values instead of proxies."""
        global _tracing
        is_module = isinstance(root, Module)
        if is_module:
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            function = getattr(type(root), self.traced_func_name)
            self.root, self.root_module_name = root, root._get_name()
        else:
            self.root, function = Module(), root
        self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        tracer_cls = getattr(self, "__class__", None)
        self.graph = Graph(tracer_cls=tracer_cls)
        function = _plain_function(function)
        code = inspect.unwrap(function).__code__
        self.graph._co_fields = {key: getattr(code, key) for key in ("co_name", "co_filename", "co_firstlineno")}
        self.tensor_attrs = {}
        self._collect_tensors(self.root, ())
        self.scope, self.num_calls, self.node_name_to_scope = Scope("", None), {}, {}
        self.module_stack = collections.OrderedDict()
        cache = {}
        ran, args = self.create_args_for_root(function, is_module, concrete_args)

        def on_call(module, call, args, kwargs):
            forward = getattr(module, "forward", module)
            _patching.autowrap(patcher, getattr(forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(module, call, args, kwargs)

        _tracing += 1
        try:
            with _patching.watched_modules(on_call, lambda name, value: self.getattr(name, value, cache)) as patcher:
                _patching.patch_wrapped(patcher)
                _patching.patch_ops(patcher)
                _patching.autowrap(patcher, getattr(function, "__globals__", {}), self._autowrap_function_ids)
                for module in self._autowrap_search:
                    _patching.autowrap(patcher, module.__dict__, self._autowrap_function_ids)
                result = self.create_arg(ran(*args))
                kind = ran.__annotations__.get("return") if hasattr(ran, "__annotations__") else None
                self.create_node("output", "output", (result,), {}, type_expr=kind)
        finally:
            _tracing -= 1
            self.submodule_paths = None
        return self.graph

    def _collect_tensors(self, module, path):
        for name, value in vars(module).items():
            if isinstance(value, _C.Tensor):
                self.tensor_attrs[id(value)] = (".".join([*path, name]), value)
        for name, child in module.named_children():
            self._collect_tensors(child, (*path, name))


def _plain_function(function):
    """A function of Python to analyse; those of torch.nn.functional, which are no such here, get one around them."""
    if isinstance(function, _C.Op) and (torch_name(function) or "").startswith("torch.nn.functional."):
        parameters = inspect.signature(function).parameters
        defaults = {f"_{p.name}": p.default for p in parameters.values() if p.default is not p.empty}
        head = ", ".join(f"{name}=_{name}" if f"_{name}" in defaults else name for name in parameters)
        plain = eval(f"lambda {head}: function({', '.join(parameters)})", {"function": function, **defaults})
        plain.__name__ = function.__name__
        return plain
    if not isinstance(function, types.FunctionType):
        raise AssertionError(f"Expected FunctionType, got {type(function)}")
    return function


def symbolic_trace(root, concrete_args=None):
    """A GraphModule that does what a module or function does, by its graph.

    `concrete_args` gives arguments values, for which control flow may ask; inside of containers, `PH` marks those that
    stay inputs.

    >>> import adjoint as torch
    >>> def double(x):
    ...     return x.relu() * 2
    >>> gm = torch.fx.symbolic_trace(double)
    >>> print(gm.graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        %mul : [num_users=1] = call_function[target=operator.mul](args = (%relu, 2), kwargs = {})
        return mul
    >>> gm(torch.tensor([-1.0, 3.0]))
    tensor([0., 6.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def wrap(fn_or_name):
    """Makes a function of the calling module a leaf of graphs; called at the top level, or as a decorator there.

    After `torch.fx.wrap("len")`, or with `@torch.fx.wrap` before a function, calls of it with proxies become nodes.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back  # type: ignore[union-attr]  # CPython has frames
    if frame is None or frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _patching.wrapped_functions[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


_wrapped_fns_to_patch = _patching.wrapped_functions
_wrapped_methods_to_patch = _patching.wrapped_methods
_find_proxy = _patching.find_proxy
_create_wrapped_func = _patching.wrapped_function
_Patcher = _patching.Patcher
