"""One operation of a graph: what is called, with which arguments, and who uses the result."""

import builtins
import typing

from .. import _C, _ops
from ._names import qualified_name as _get_qualified_name
from ._names import short_name, torch_name
from ._names import type_name as _type_repr
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

BaseArgumentTypes = str | int | float | bool | complex | _C.dtype | _C.Tensor | _C.device | _C.memory_format | _C.layout
base_types = typing.get_args(BaseArgumentTypes)
Target = typing.Union[typing.Callable[..., typing.Any], str]  # noqa: UP007 - the name in `|` would be no type for mypy
Argument = typing.Any

_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])
_side_effectful_functions: set = set()
# Results that no one uses may still have moved the generator on.
_RANDOM = frozenset(
    (
        *("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn"),
        *("randn_like", "randperm", "rrelu"),
    )
)


def has_side_effect(fn):
    """Marks a function as one whose calls stay in graphs though nobody uses their results; a decorator, too.

    >>> import adjoint as torch
    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    >>> graph = torch.fx.Graph()
    >>> graph.call_function(log, (graph.placeholder("x"),)).is_impure()
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def _builtin_side_effects():
    import operator

    from .. import _assert

    _side_effectful_functions.update((operator.setitem, _assert))


def map_arg(a, fn):
    """The arguments with fn(node) in the place of each node.

    >>> import adjoint as torch
    >>> x = torch.fx.Graph().placeholder("x")
    >>> torch.fx.map_arg([x, 2], lambda node: node.name)
    ['x', 2]
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a, fn):
    """Tuples, lists, dicts and slices with fn(x) in the place of all else; lists and dicts become unchangeable ones.

    >>> from adjoint.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x + 1)
    (2, [3, {'a': 4}])
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(item, fn) for item in a]
        if type(a) is tuple or not hasattr(a, "_fields"):
            return tuple(parts)
        return type(a)(*parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def _format_arg(arg, max_list_len=float("inf")):
    """An argument as a printed graph shows it: nodes by `%name`, strings without quotes."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, list | tuple):
        items = [_format_arg(item) for item in arg[: None if max_list_len == float("inf") else int(max_list_len)]]
        if len(arg) > len(items):
            items.append(f"...[total_len={len(arg)}]")
        if isinstance(arg, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    if isinstance(arg, Node):
        return "%" + str(arg)
    return str(arg)


class Node:
    """One operation of a graph. Made by the methods of Graph; `args` and `kwargs` hold nodes where values will be.

    >>> import adjoint as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> y.op, y.args, list(x.users)
    ('call_function', (x,), [relu])
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a "
                    "Callable is expected"
                )
        elif not isinstance(target, str):
            shown = torch_name(target) or type(target).__name__
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {shown} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.users = {}
        self.type = return_type
        self.meta = {}
        self._args: tuple = ()
        self._kwargs = {}
        self._input_nodes = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn = None
        self._set_arguments(args, kwargs)

    # ---- Its place in the graph

    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Puts a node of the same graph before this one.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> a, b = graph.placeholder("a"), graph.placeholder("b")
        >>> a.prepend(b)
        >>> list(graph.nodes)
        [b, a]
        """
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._order = None

    def append(self, x):
        """Puts a node of the same graph after this one."""
        self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev
        self.graph._order = None

    def _position(self):
        if self.graph._order is None:
            self.graph._order = {node: place for place, node in enumerate(self.graph.nodes)}
        return self.graph._order[self]

    def __lt__(self, other):
        return self._position() < other._position()

    def __gt__(self, other):
        return self._position() > other._position()

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or self > other

    # ---- Its arguments

    @property
    def args(self):
        """The positional arguments: a tuple of values and nodes. Assign another tuple to change them."""
        return self._args

    @args.setter
    def args(self, args):
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments: a dict of values and nodes. Assign another dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _set_arguments(self, args, kwargs):
        found = {}

        def see(node):
            found.setdefault(node)
            return node

        args, kwargs = map_arg(tuple(args), see), map_arg(dict(kwargs), see)
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = args, kwargs, found
        for new in found:
            new.users.setdefault(self)

    def update_arg(self, idx, arg):
        """Replaces one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Puts one more positional argument before that of this index."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Sets one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Takes another node wherever an argument is this one."""
        self._replace_node(old_input, new_input)

    def _replace_node(self, old, new):
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old, new=new.name if isinstance(new, Node) else new, user=self)
        change = lambda node: new if node is old else node  # noqa: E731 - used twice, in one line each
        self._set_arguments(map_arg(self._args, change), map_arg(self._kwargs, change))

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Gives all users of this node another one instead; the users that were changed.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y, z = graph.call_method("relu", (x,)), graph.call_method("tanh", (x,))
        >>> out = graph.output(y)
        >>> y.replace_all_uses_with(z)
        [output]
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        chosen = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in chosen:
            user._replace_node(self, replace_with)
        return chosen

    # ---- What is known of it

    @property
    def stack_trace(self):
        """Where in the traced program this node comes from; only if the tracer has `record_stack_traces`."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random=True):
        """Whether a call does more than give a result, so that it stays though nobody uses the latter.

        >>> import adjoint as torch
        >>> graph = torch.fx.Graph()
        >>> graph.placeholder("x").is_impure(), graph.call_function(torch.relu, (1,)).is_impure()
        (True, False)
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if not _side_effectful_functions:
                _builtin_side_effects()
            if isinstance(self.target, _ops.OpOverload) and self.target._opname.endswith("_"):
                return True  # changes its first argument
            name = torch_name(self.target) or ""
            if impure_random and name.startswith("torch.") and name.removeprefix("torch.") in _RANDOM:
                return True
            try:
                return self.target in _side_effectful_functions
            except TypeError:  # an object without a hash cannot have been marked
                return False
        if self.op == "call_module" and self.graph.owning_module is not None:
            return getattr(self.graph.owning_module.get_submodule(self.target), "is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments as the signature of what is called orders them; None if it has no known signature."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate):
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace._rename_object(self, self.name)

    # ---- How it is shown

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn is not None else self.name

    @staticmethod
    def _pretty_print_target(target):
        """A target as printed graphs show it."""
        if isinstance(target, str):
            return target
        if hasattr(target, "__module__") or torch_name(target) is not None:
            name = getattr(target, "__name__", None)
            if name is None:
                return str(target)
            if getattr(builtins, name, None) is target:
                return f"builtins.{name}"
            full = _get_qualified_name(target)
            return full.replace("_operator.", "operator.", 1) if full.startswith("_operator.") else full
        return str(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The line that a printed graph has for this node.

        >>> import adjoint as torch
        >>> torch.fx.Graph().placeholder("x").format_node()
        '%x : [num_users=0] = placeholder[target=x]'
        """
        typename = f"{_type_repr(self.type)} " if self.type else ""
        users = f"[num_users={len(self.users)}]"
        head = f"%{self.name} : {typename}{users} = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                kind = f": {_type_repr(self.type)}" if self.type else ""
                placeholder_names.append(self.target + kind)
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


def _find_module_of_method(orig_method):
    """The name of the module that a function comes from."""
    return _get_qualified_name(orig_method).rpartition(".")[0]


def target_name(target):
    """What a node is named from when its name is not given."""
    return short_name(target) if callable(target) else target
