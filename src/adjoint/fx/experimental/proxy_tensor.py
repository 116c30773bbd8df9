"""make_fx: a function run on tensors, while each op that is computed becomes a node.

Unlike a symbolic trace it sees below modules, autograd and transforms, and control flow follows the values of the
example. Graphs are of ops of torch.ops, as the table of this package computes them: where PyTorch takes an op apart
(linear into a transpose and a product), or the other way round, they differ from its own. A graph
that changes nothing in place is run once for the same arguments, and must give the same.
"""

import contextlib
import functools
import inspect
import operator

from ... import _C, _ops, allclose, get_rng_state, set_rng_state
from ...nn import Parameter
from ...overrides import TorchFunctionMode, is_tensor_method_or_property
from ...utils import _pytree
from ...utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from .._symbolic_trace import PH, Tracer
from ..graph_module import GraphModule

__all__ = ["ProxyTorchDispatchMode", "PythonKeyTracer", "get_proxy_mode", "make_fx"]

# Keyword arguments in the order of PyTorch's schemas.
_OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad", "memory_format")
# Methods that give values away, of which a graph knows nothing.
_READS = frozenset(("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__complex__", "__index__"))


class PythonKeyTracer(Tracer):
    """The tracer of make_fx: modules are no leaves, and tensors from outside become attributes of the root."""

    def __init__(self):
        super().__init__(autowrap_modules=())

    def call_module(self, m, forward, args, kwargs):
        """Calls the module: what it computes is seen op by op."""
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The attribute itself."""
        return attr_val

    def create_arg(self, a):
        """A value as the argument of a node."""
        if isinstance(a, Parameter):
            return self._constant(a, "_param_constant")
        return super().create_arg(a)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records the ops that are computed while it is on; `known` tensors have proxies."""

    def __init__(self, tracer, decomposition_table=None):
        super().__init__()
        self.tracer, self.table = tracer, dict(decomposition_table or {})
        self._known = {}  # id -> (tensor, proxy); the tensor stays, so that its id and its memory are its own
        self._places = {}  # what backward has saved comes as other tensors on the same memory

    def track(self, tensor, proxy):
        """Makes a proxy stand for a tensor."""
        self._known[id(tensor)] = (tensor, proxy)
        if tensor.numel():
            self._places[_place(tensor)] = proxy

    def proxy_of(self, value):
        """The proxy of a tensor that is known; any other value itself."""
        if not isinstance(value, _C.Tensor):
            return value
        if id(value) in self._known:
            return self._known[id(value)][1]
        return self._places.get(_place(value), value)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.table:
            with self:
                return self.table[func](*args, **kwargs)
        ordered = {key: kwargs[key] for key in _OPTIONS if key in kwargs} | kwargs
        given = _pytree.tree_map(self.proxy_of, (tuple(args), ordered))
        name = self.tracer.graph._target_to_str(func.overloadpacket.__name__)
        proxy = self.tracer.create_proxy("call_function", func, *given, name=name)
        with _C.DisableTorchFunction():
            result = func(*args, **kwargs)
        proxy.node.target = _replayable(func)
        self._track_result(result, proxy)
        return result

    def _track_result(self, result, proxy):
        if isinstance(result, _C.Tensor):
            self.track(result, proxy)
        elif isinstance(result, list | tuple):
            for index, part in enumerate(result):
                item = self.tracer.create_proxy("call_function", operator.getitem, (proxy, index), {})
                self._track_result(part, item)


def _replayable(func):
    """What gives the result when the graph is run: the op of the table where aten's takes or gives something else."""
    call = _ops._running.call
    name = call.op.__name__
    differs = name == "linear_biased" or (name.startswith("_") and name != func._opname)
    if func.namespace == "aten" and differs and not call.in_place:
        return getattr(_ops.namespace("adjoint"), name).default
    return func


def _place(tensor):
    """Where a tensor lies in memory, and how."""
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()


class _NoValues(TorchFunctionMode):
    """Refuses to read values of tensors that are being traced."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in _READS and is_tensor_method_or_property(func) and id(args[0]) in self.mode._known:
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {name} - erroring out! It's "
                "likely that this is caused by data-dependent control flow or similar. The graph would hold for these "
                "values alone; compute with the tensor, by torch.where for example"
            )
        if name in ("eq", "ne") and not isinstance(args[1], _C.Tensor | bool | int | float | complex):
            return name == "ne"  # what the operators say of a tensor and something else, such as None
        return func(*args, **(kwargs or {}))


def get_proxy_mode():
    """The mode of the make_fx that is under way; None if there is none.

    >>> from adjoint.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
    found = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, ProxyTorchDispatchMode)]
    return found[-1] if found else None


def _with_names(f, count):
    """A function whose parameters have names, as many as there are arguments."""
    names = ", ".join(f"arg{number}" for number in range(count))
    return eval(f"lambda {names}: f({names})", {"f": f})


def _has_names(f, count):
    function = inspect.unwrap(f)
    if not inspect.isfunction(function) or function.__code__.co_kwonlyargcount:
        return False
    variable = function.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return not variable and function.__code__.co_argcount == count


def make_fx(
    f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False,
    record_module_stack=False, record_stack_traces=False, _allow_fake_constant=False,
    _error_on_data_dependent_ops=True,
):  # fmt: skip
    """A function that runs f on its arguments, and gives the GraphModule of the ops that f computed.

    `decomposition_table` says of overloads, such as torch.ops.aten.relu.default, by which function they are replaced.

    >>> import adjoint as torch
    >>> from adjoint.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: x.sin() + 1)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
        return add
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")
    if tracing_mode == "symbolic" or pre_dispatch:
        raise NotImplementedError(
            "make_fx: tracing_mode='symbolic' and pre_dispatch=True are not supported: sizes are numbers here, and ops "
            "are seen where they are computed; use tracing_mode='real'"
        )

    @functools.wraps(f)
    def traced(*args):
        named = f if _has_names(f, len(args)) else _with_names(f, len(args))
        tracer = PythonKeyTracer()
        tracer.record_stack_traces = record_stack_traces
        mode = ProxyTorchDispatchMode(tracer, decomposition_table)

        @functools.wraps(named)
        def run(*proxies):
            for proxy, value in zip(_pytree.tree_leaves(proxies), _pytree.tree_leaves(args), strict=True):
                if isinstance(value, _C.Tensor):
                    mode.track(value, proxy)
            with _NoValues(mode) if _error_on_data_dependent_ops else contextlib.nullcontext(), mode:
                result = named(*args)
            results.append(result)
            return _pytree.tree_map(mode.proxy_of, result)

        results = []
        again = _pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, _C.Tensor) else x, args)
        state = get_rng_state()
        graph = tracer.trace(run, concrete_args=tuple(_pytree.tree_map(lambda _: PH, args)))
        graph.eliminate_dead_code()
        gm = GraphModule(tracer.root, graph, named.__name__)
        if not any(node.op == "call_function" and node.is_impure(impure_random=False) for node in graph.nodes):
            _check(gm, again, results[0], state)
        return gm

    return traced


def _check(gm, args, expected, state):
    """Raises if the graph does not give what the function gave, for the same arguments and random numbers."""
    after = get_rng_state()
    set_rng_state(state)
    try:
        found = gm(*args)
    except Exception as error:
        raise RuntimeError(f"make_fx: the graph of this function does not run: {error}") from error
    finally:
        set_rng_state(after)
    pairs = zip(_pytree.tree_leaves(found), _pytree.tree_leaves(expected), strict=True)
    for one, other in pairs:
        if isinstance(other, _C.Tensor) and not (
            one.shape == other.shape and allclose(one.detach(), other.detach(), rtol=1e-4, atol=1e-5, equal_nan=True)
        ):
            raise RuntimeError(
                "make_fx: the graph does not give what the function gave; some op has no name in torch.ops that takes "
                "the same arguments. torch.fx.symbolic_trace traces the functions that were called instead"
            )
