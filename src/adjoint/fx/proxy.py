"""Proxies: what a traced function gets instead of values. Whatever is done with them becomes nodes of a graph."""

import collections
import copy
import dataclasses
import dis
import enum
import inspect
import operator
import traceback

from . import traceback as fx_traceback
from ._functions import as_recorded
from ._writer import MAGIC, REFLECTABLE
from .node import Node, base_types, map_aggregate

# What is noted of a node goes to those that are made from it.
_KEPT = ("stack_trace", "nn_module_stack", "torch_fn", "source_fn_stack", "quantization_tag", "from_node", "custom")

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
    "TracerBase",
]  # fmt: skip


class TraceError(ValueError):
    """Raised where a traced function needs a value that only a call has, as in `if`."""


class Scope:
    """Where in the tree of modules a trace is: the module's path and its type."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Makes another module the current one, for the length of a `with` block."""

    def __init__(self, scope, current_scope):
        self._before = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self):
        return self._scope

    def __exit__(self, *exception):
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """Records what is done with proxies in `self.graph`."""

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: collections.OrderedDict
    node_name_to_scope: dict

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A new node; override it to see or change every node that a trace makes."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if getattr(self, "scope", None) is not None:
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if fx_traceback.has_preserved_node_meta():
            known = fx_traceback.get_current_meta()
            node.meta.update({key: copy.copy(known[key]) for key in _KEPT if key in known})
        if self.record_stack_traces and kind not in ("placeholder", "output"):
            node.stack_trace = _where()
        return node

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A new node and its proxy, from arguments that have proxies among them."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError(f"args must be a tuple and kwargs a dict, got {type(args)} and {type(kwargs)}")
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a):
        """A value as the argument of a node: proxies become nodes; what a graph cannot hold raises."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(item) for item in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if a is None or a is ... or isinstance(a, (*base_types, enum.Enum, Node)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key):
        key = self.create_arg(key)

        def refuse(part):
            if isinstance(part, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            return part

        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj):
        """Called where a proxy is asked whether it is true; raises unless overridden."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """Called where a proxy is iterated over; raises unless overridden."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj):
        """Called where a proxy is asked for its keys, as by `**proxy`."""
        return Attribute(obj, "keys")()


def _where():
    """The traced program's own lines on the stack, as text."""
    package = __name__.rpartition(".")[0].replace(".", "/")
    frames = [frame for frame in traceback.extract_stack()[:-2] if f"/{package}/" not in frame.filename]
    inner = frames[-1:]
    return "".join(traceback.StackSummary.from_list(inner).format()).strip()


class GraphAppendingTracer(TracerBase):
    """Records at the end of a graph that is there already.

    >>> import adjoint as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> (x + 1).node
    add
    """

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """Stands for a value that is not there yet: operations on it, methods of it and functions of it make nodes.

    >>> import adjoint as torch
    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> y = (x * 2).sum()
    >>> list(graph.nodes)
    [x, mul, sum_1]
    """

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k == "_read_as":  # by which torch.tensor(...) knows a storage
            raise AttributeError(k)
        # Not a node yet: a method that is called at once becomes one node instead of two.
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__ = state

    def __deepcopy__(self, memo):
        return Proxy(copy.deepcopy(self.node, memo), self.tracer)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        caller = inspect.currentframe().f_back
        count = _unpacked(caller)
        if count is not None:
            return (self[index] for index in range(count))
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        """What `**proxy` asks for; the tracer decides."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        tracers = {}

        def find(value):
            if isinstance(value, cls if cls is not Attribute else Proxy):
                tracers[value.tracer] = None
            return value

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        kind, target, args, kwargs = as_recorded(orig_method, args, kwargs)
        return tracer.create_proxy(kind, target, args, kwargs)


def _unpacked(frame):
    """Into how many names the statement that runs in a frame unpacks; None if it does not unpack."""
    if frame is None:
        return None
    for instruction in dis.get_instructions(frame.f_code, show_caches=False):
        if instruction.offset == frame.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


class Attribute(Proxy):
    """An attribute of a proxy, or a method of it if it is called."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        """The node that gets the attribute; made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter whose shape is known while tracing."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The parameter's own shape, no proxy."""
        return self.param.shape

    def size(self):
        """The parameter's own shape, no proxy."""
        return self.param.size()

    def dim(self):
        """The parameter's own number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self):
        """The parameter's own number of dimensions."""
        return self.param.ndim

    def numel(self):
        """The parameter's own number of elements."""
        return self.param.numel()

    def nelement(self):
        """The parameter's own number of elements."""
        return self.param.nelement()


def _operator_method(name):
    target = getattr(operator, name)

    def method(*args, **kwargs):
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    method.__name__ = f"__{name.strip('_')}__"
    return method


def _reflected_method(name):
    target = getattr(operator, name)

    def method(self, left):
        return self.tracer.create_proxy("call_function", target, (left, self), {})

    method.__name__ = f"__r{name.strip('_')}__"
    return method


for _name in (*MAGIC, "abs"):
    setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(_name))
for _name in sorted(REFLECTABLE):
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_method(_name))
