"""GraphModule: a module whose forward is the code of a graph."""

import contextlib
import copy

from .. import _C
from ..nn import Module, Parameter
from . import _folder, _source
from ._codegen import CodeGen, _PyTreeCodeGen
from ._source import CodeOnlyModule as _CodeOnlyModule
from ._source import format_import_block as _format_import_block
from ._source import forward_from_src as _forward_from_src
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module", "reduce_package_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


def reduce_graph_module(body, import_block):
    """A GraphModule from what it was pickled as: its attributes, and the imports of its code."""
    body = body.copy()
    code = body.pop("_code", None) or body.pop("code")
    names = _source.import_names(import_block)
    return _deserialize_graph_module(_forward_from_src(code, names), body)


def reduce_package_graph_module(importer, body, generated_module_name):
    """GraphModules in archives of torch.package, which cannot be read here."""
    raise RuntimeError(
        "reduce_package_graph_module: a GraphModule of a torch.package archive cannot be loaded; pickle it, or save it "
        "by torch.save"
    )


def _deserialize_graph_module(forward, body, graph_module_cls=None):
    """Traces the code again, with every module a leaf, so that the graph is the one that was pickled."""
    from ._symbolic_trace import Tracer

    tracer_cls, tracer_extras = body.get("_tracer_cls") or Tracer, body.get("_tracer_extras") or {}
    name = body.pop("_graphmodule_cls_name", "GraphModule")
    pytree_info = body.pop("_pytree_info", None)

    class Root(_CodeOnlyModule):
        pass

    class KeepModules(tracer_cls):
        def is_leaf_module(self, _, __):
            return True

    Root.forward = forward
    root = Root(body)
    graph = KeepModules().trace(root, **tracer_extras)
    graph._tracer_cls = tracer_cls
    if pytree_info is not None:
        graph._codegen = _PyTreeCodeGen(pytree_info)
    result = (graph_module_cls or GraphModule)(root, graph, class_name=name)
    _keep_unused(root, result)
    for key, value in root.__dict__.items():
        if key not in result.__dict__:
            result.__dict__[key] = value
    result.meta.update(body.get("meta", {}))
    return result


def _keep_unused(root, module):
    """Parameters, buffers and modules that the graph does not name."""
    for table in ("_parameters", "_buffers", "_modules"):
        for name, value in root.__dict__[table].items():
            module.__dict__[table].setdefault(name, value)
    module._non_persistent_buffers_set |= root._non_persistent_buffers_set


def _walk_to(module, target, make):
    *path, name = target.split(".")
    for part in path:
        below = getattr(module, part, None)
        if below is None and make:
            below = Module()
            setattr(module, part, below)
        module = below
    return module, name


def _copy_attr(from_module, to_module, target):
    """Copies a dotted attribute; modules on the way are made new."""
    *path, name = target.split(".")
    for part in path:
        source, below = getattr(from_module, part), getattr(to_module, part, None)
        if source is below:  # the whole submodule is there
            return
        if below is None:
            below = Module()
            setattr(to_module, part, below)
        from_module, to_module = source, below
    value = getattr(from_module, name)
    if isinstance(value, _C.Tensor) and not isinstance(value, Parameter):
        persistent = name not in getattr(from_module, "_non_persistent_buffers_set", ())
        to_module.register_buffer(name, value, persistent=persistent)
    else:
        setattr(to_module, name, value)


def _assign_attr(from_obj, to_module, target):
    """Puts an object at a dotted attribute; modules on the way are made."""
    where, name = _walk_to(to_module, target, make=True)
    if isinstance(from_obj, _C.Tensor) and not isinstance(from_obj, Parameter):
        where.register_buffer(name, from_obj)
    else:
        setattr(where, name, from_obj)


class GraphModule(Module):
    """A module that runs a graph: `code` is what its forward does, and a new `graph` makes a new forward.

    `root` is the module, or the dict by dotted names, from which the graph's targets are taken.

    >>> import adjoint as torch
    >>> gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> print(gm.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        return _0
    """

    def __new__(cls, *args, **kwargs):
        # A class for each instance, because each has a forward of its own.
        cls = next(parent for parent in cls.__mro__ if "_is_instance_class" not in vars(parent))

        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]  # the class is known when it is called
            _is_instance_class = True

        GraphModuleImpl.__module__ = GraphModule.__module__
        return super().__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
            for target in sorted(dict.fromkeys(targets), key=lambda target: target.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._set_up()
        self.graph = graph
        tracer = graph._tracer_cls
        if tracer is not None and "<locals>" not in tracer.__qualname__:
            self._tracer_cls = tracer
        if graph._tracer_extras:
            self._tracer_extras = graph._tracer_extras

    def _set_up(self):
        self._tracer_cls, self._tracer_extras = None, {}
        self.meta = {}
        self.shape_env = None
        for name in _HOOKS:
            setattr(self, name, [])

    @property
    def graph(self):
        """The graph. After changes to it, call `recompile`; assigning another does it by itself."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The text of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self):
        """Makes forward anew from the graph, after it was changed; the code.

        >>> import adjoint as torch
        >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
        >>> for node in gm.graph.find_nodes(op="call_function", target=__import__("operator").add):
        ...     node.target = __import__("operator").mul
        >>> python_code = gm.recompile()
        >>> gm(5)
        5
        """
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code = python_code.src
        self._lineno_map, self._prologue_start = python_code._lineno_map, python_code._prologue_start
        type(self).forward = _forward_from_src(self._code, python_code.globals, self._graph._co_fields)
        return python_code

    def _recompile_submodules(self):
        found = [(name, child) for name, child in self.named_children() if isinstance(child, GraphModule)]
        return [(name, child.recompile()) for name, child in found]

    def __call__(self, *args, **kwargs):
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _source.explain(error)
            raise

    # ---- Submodules

    def add_submodule(self, target, m):
        """Puts a module at a dotted name, making the modules on the way; whether it could.

        >>> import adjoint as torch
        >>> gm = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        >>> gm.add_submodule("extra.act", torch.nn.Tanh())
        True
        """
        *path, name = target.split(".")
        where = self
        for part in path:
            below = getattr(where, part, None)
            if below is None:
                below = Module()
                setattr(where, part, below)
            if not isinstance(below, Module):
                return False
            where = below
        where.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Deletes the module at a dotted name; whether there was one."""
        where, name = _walk_to(self, target, make=False)
        if not isinstance(where, Module) or not isinstance(getattr(where, name, None), Module):
            return False
        delattr(where, name)
        return True

    def delete_all_unused_submodules(self):
        """Deletes the modules that no node of the graph uses, directly or for something in them."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            path = node.target.split(".")
            used.update(".".join(path[: count + 1]) for count in range(len(path)))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):  # a node whose target is gone already
                    below = self.get_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in below.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- Files and copies

    def to_folder(self, folder, module_name="FxModule"):
        """Writes a package of Python that has this module as the class `module_name`, and its parameters beside it."""
        _folder.write(self, folder, module_name)

    def __reduce__(self):
        body = self.__dict__.copy()
        body.pop("_graph")
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            body["_pytree_info"] = codegen.pytree_info
        # The code of the leaves alone is traced again: what takes containers apart is put around it afterwards.
        python_code = self._plain_code()
        reduce_graph_module.__module__ = GraphModule.__module__  # torch's name while this package stands in its place
        body["_code"] = python_code.src
        return reduce_graph_module, (body, _format_import_block(python_code.globals))

    def _plain_code(self):
        codegen = self._graph._codegen
        if not isinstance(codegen, _PyTreeCodeGen):
            return self._graph.python_code(root_module="self")
        self._graph._codegen = CodeGen()
        try:
            return self._graph.python_code(root_module="self")
        finally:
            self._graph._codegen = codegen

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        apart = ("_tracer_cls", "meta", *_HOOKS)
        body = {key: copy.deepcopy(value, memo) for key, value in self.__dict__.items() if key not in apart}
        fake = _CodeOnlyModule(body)
        self._deepcopy_init()(result, fake, body["_graph"])
        _keep_unused(fake, result)
        for name in (*_HOOKS, "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"):
            if name in self.__dict__:
                setattr(result, name, copy.copy(self.__dict__[name]))
        result.meta = copy.copy(getattr(self, "meta", {}))
        for name, value in result.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(result, name, value)
        for hook in getattr(self, "_deepcopy_hooks", ()):
            hook(result)
        return result

    def __copy__(self):
        result = type(self).__new__(type(self))
        Module.__init__(result)
        result.__dict__.update(self.__dict__)
        for table in ("_parameters", "_buffers", "_modules"):
            result.__dict__[table] = self.__dict__[table].copy()
        type(result).__name__ = "GraphModule"
        type(result).forward = type(self).forward
        return result

    def _replicate_for_data_parallel(self):
        new = self.__copy__()
        new._is_replica = True
        return new

    # ---- How it is shown

    def __str__(self):
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, hint])

    def __repr__(self):
        return super().__repr__()

    def print_readable(
        self, print_output=True, include_stride=False, include_device=False, colored=False, *, fast_sympy_print=False,
        expanded_def=False, additional_meta=None,
    ):  # fmt: skip
        """The code as a class, with shapes where they are known, and that of modules with graphs inside; printed, too.

        >>> import adjoint as torch
        >>> text = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU())).print_readable()
        class Sequential(torch.nn.Module):
            def forward(self, input):
                input_1 = input
        <BLANKLINE>
                # No stacktrace found for following nodes
                _0 = getattr(self, "0")(input_1);  input_1 = None
                return _0
        <BLANKLINE>
        """
        text = _readable(
            self, type(self).__name__, include_stride=include_stride, include_device=include_device, colored=colored,
            expanded_def=expanded_def, additional_meta=additional_meta,
        )  # fmt: skip
        if print_output:
            print(text)
        return text

    # ---- Hooks of passes

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f):
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f):
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f):
        self._deepcopy_hooks.remove(f)


def _readable(module, name, **options):
    source = module._graph.python_code(root_module="self", verbose=True, **options).src
    source = "\n".join(f"    {line}" if line.strip() else "" for line in source.lstrip("\n").split("\n"))
    text = f"class {name}(torch.nn.Module):\n{source.rstrip()}\n"
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            below = _readable(child, child_name, **options)
            text += "\n" + "\n".join(f"    {line}" if line.strip() else "" for line in below.split("\n"))
    return text.rstrip() + "\n"
