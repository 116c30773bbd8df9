"""Traces in which shapes are known: every proxy has a tensor of the meta device beside it.

Control flow may then ask for shapes, dimensions and dtypes; values stay unknown.
"""

import functools
import sys
import warnings

from ... import _C
from ...func import functional_call
from ...nn import Module
from .._names import PACKAGE
from .._patching import Patcher, find_proxy
from .._symbolic_trace import Tracer
from ..graph_module import GraphModule
from ..node import map_aggregate
from ..proxy import Proxy

__all__ = ["MetaAttribute", "MetaProxy", "MetaTracer", "proxys_to_metas", "symbolic_trace"]

# Functions that make tensors where a proxy may say how: they are leaves for the time of a trace.
_CREATORS = ("arange", "empty", "eye", "full", "full_like", "linspace", "ones", "rand", "randn", "tensor", "zeros")


class MetaProxy(Proxy):
    """A proxy that knows the shape and dtype of its value, if its `tensor_meta` was installed."""

    def install_tensor_meta(self, tensor_meta):
        """Gives the proxy a tensor of the meta device, or a structure of them."""
        self._tensor_meta = tensor_meta

    def _known(self, name):
        return getattr(self.__dict__.get("_tensor_meta"), name, None)

    def size(self, dim=None):
        """The sizes, or one of them."""
        meta = self.__dict__.get("_tensor_meta")
        if not isinstance(meta, _C.Tensor):
            return self.tracer.create_proxy("call_method", "size", (self,) if dim is None else (self, dim), {})
        return meta.size() if dim is None else meta.size(dim)

    def dim(self):
        """The number of dimensions."""
        meta = self.__dict__.get("_tensor_meta")
        if not isinstance(meta, _C.Tensor):
            return self.tracer.create_proxy("call_method", "dim", (self,), {})
        return meta.dim()

    def __getattr__(self, k):
        if k in ("shape", "dtype", "ndim") and self._known(k) is not None:
            return self._known(k)
        return super().__getattr__(k) if k == "_read_as" else MetaAttribute(self, k)


class MetaAttribute(MetaProxy):
    """An attribute of a MetaProxy, or a method of it if it is called."""

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


def proxys_to_metas(v):
    """What is known of a proxy; its device is the meta device, whatever the program asks for."""
    if isinstance(v, MetaAttribute) and v.attr == "device":
        return "meta"
    if isinstance(v, Proxy):
        known = v.__dict__.get("_tensor_meta")
        if known is None:
            raise ValueError(f"nothing is known of {v}")
        return known
    return v


def _to_meta(value):
    return value.to("meta") if isinstance(value, _C.Tensor) else value


class MetaTracer(Tracer):
    """A Tracer whose proxies know their shapes; modules that the root does not have are added to it."""

    allow_insert_stateless_mods = True

    def proxy(self, node):
        """A MetaProxy."""
        return MetaProxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A new node and its proxy; what it gives is computed on the meta device."""
        result = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if kind == "placeholder":
            if target in self.meta_args:
                result.install_tensor_meta(self.meta_args[target])
            return result
        try:
            given = map_aggregate(args, proxys_to_metas), map_aggregate(kwargs, proxys_to_metas)
            with Patcher() as patcher:
                patcher.patch_method(Module, "__call__", _C._ModuleBase.__call__)
                patcher.patch_method(Module, "__getattribute__", _C._ModuleBase.__getattribute__)
                result.install_tensor_meta(self._compute(kind, target, *map_aggregate(given, _to_meta)))
        except Exception as error:  # whatever an op says to values that are not there
            warnings.warn(f"Could not compute metadata for {kind} target {target}: {error}", stacklevel=2)
        return result

    def _compute(self, kind, target, args, kwargs):
        if kind == "call_function":
            return self.originals.get(target, target)(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "get_attr":
            value = self.root
            for part in target.split("."):
                value = getattr(value, part)
            return _to_meta(value)
        module = self.root.get_submodule(target)
        members = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return functional_call(module, {key: _to_meta(value) for key, value in members.items()}, args, kwargs)

    def path_of_module(self, mod):
        """The dotted name of a module in the root; one without parameters that is not there is put there."""
        try:
            return super().path_of_module(mod)
        except NameError:
            if not self.allow_insert_stateless_mods or any(True for _ in (*mod.parameters(), *mod.buffers())):
                raise
            name = self.get_fresh_qualname(f"{type(mod).__name__.lower()}_")
            self.root.add_module(name, mod)
            self.submodule_paths[mod] = name
            return name

    def trace(self, root, meta_args, concrete_args=None):
        """The graph; `meta_args` has tensors of the meta device for arguments, by name."""
        self.meta_args = meta_args
        self.originals = {}
        package = sys.modules[PACKAGE]
        with Patcher() as patcher:
            for name in _CREATORS:
                original = getattr(package, name)
                self.originals[original] = original
                patcher.patch_method(package, name, _creator(original))
            graph = super().trace(root, concrete_args)
        graph._tracer_cls = Tracer  # what was decided by shapes is in the graph: its code needs none to be traced again
        return graph


def _creator(original):
    @functools.wraps(original)
    def create(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", original, args, kwargs)

    return create


def symbolic_trace(root, meta_args=None, concrete_args=None):
    """`torch.fx.symbolic_trace` with the shapes of arguments, as tensors of the meta device by name.

    >>> import adjoint as torch
    >>> from adjoint.fx.experimental.meta_tracer import symbolic_trace
    >>> def function(x):
    ...     return x.relu() if x.shape[0] > 2 else x.tanh()
    >>> print(symbolic_trace(function, meta_args={"x": torch.empty(3, device="meta")}).code.strip())
    def forward(self, x):
        relu = x.relu();  x = None
        return relu
    """
    tracer = MetaTracer()
    graph = tracer.trace(root, meta_args or {}, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
