"""Module: what every network is made of, a tree of parameters, buffers and other modules that can be called."""

from collections import OrderedDict

from ... import _C
from ..._tensor_methods import typename
from .. import parameter as _parameter
from . import module_hooks as _hooks
from .module_conversion import Conversion
from .module_hooks import HookRegistration
from .module_hooks import register_module_backward_hook as register_module_backward_hook
from .module_hooks import register_module_buffer_registration_hook as register_module_buffer_registration_hook
from .module_hooks import register_module_forward_hook as register_module_forward_hook
from .module_hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from .module_hooks import register_module_full_backward_hook as register_module_full_backward_hook
from .module_hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from .module_hooks import register_module_module_registration_hook as register_module_module_registration_hook
from .module_hooks import register_module_parameter_registration_hook as register_module_parameter_registration_hook
from .module_state import EXTRA_STATE_KEY as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401  # by this name programs import it
from .module_state import StateDict
from .module_state import _IncompatibleKeys as _IncompatibleKeys

# Torch's names of the hooks of all modules.
_global_backward_hooks = _hooks.GLOBAL_BACKWARD_HOOKS
_global_backward_pre_hooks = _hooks.GLOBAL_BACKWARD_PRE_HOOKS
_global_buffer_registration_hooks = _hooks.GLOBAL_BUFFER_HOOKS
_global_forward_hooks = _hooks.GLOBAL_FORWARD_HOOKS
_global_forward_hooks_always_called = _hooks.GLOBAL_FORWARD_HOOKS_ALWAYS_CALLED
_global_forward_hooks_with_kwargs = _hooks.GLOBAL_FORWARD_HOOKS_WITH_KWARGS
_global_forward_pre_hooks = _hooks.GLOBAL_FORWARD_PRE_HOOKS
_global_module_registration_hooks = _hooks.GLOBAL_MODULE_HOOKS
_global_parameter_registration_hooks = _hooks.GLOBAL_PARAMETER_HOOKS

# The dicts that every module has; a module is pickled and copied with them.
_TABLES = ("_parameters", "_buffers", "_modules")
_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _addindent(text, spaces):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


class _CallSignature:
    """What inspect.signature says of a module: anything goes in; a class is asked for its `__init__`."""

    def __get__(self, module, cls):
        if module is None or cls.__call__ is not Module.__call__:
            raise AttributeError("__signature__")
        import inspect

        kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        return inspect.Signature([inspect.Parameter(*one) for one in zip(("args", "kwargs"), kinds, strict=True)])


class Module(_C._ModuleBase, HookRegistration, Conversion, StateDict):
    """The base of all networks: assign parameters and modules as attributes in `__init__`, compute in `forward`.

    >>> import adjoint as torch
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torch.nn.Parameter(torch.ones(1))
    ...
    ...     def forward(self, x):
    ...         return self.scale * x
    >>> net = Net()
    >>> net(torch.tensor([2.0])), [name for name, _ in net.named_parameters()]
    (tensor([2.], grad_fn=<MulBackward0>), ['scale'])
    """

    __signature__ = _CallSignature()
    dump_patches = False
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            unexpected = f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else (
                f"takes 1 positional argument but {len(args) + 1} were given"
            )  # fmt: skip
            raise TypeError(f"{type(self).__name__}.__init__() {unexpected}")
        own = self.__dict__
        own["training"] = True
        for table in _TABLES:
            own[table] = {}
        for table in _HOOK_TABLES:
            own[table] = OrderedDict()
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    _compiled_call_impl = None  # there is no compiler

    def _call_impl(self, *args, **kwargs):
        """What a call does, by a name that programs use."""
        return _C._ModuleBase.__call__(self, *args, **kwargs)

    _wrapped_call_impl = _call_impl

    def forward(self, *input):
        """What the module computes: to be overridden."""
        import difflib

        text = f'Module [{type(self).__name__}] is missing the required "forward" function'
        own = [name for cls in type(self).__mro__ if not cls.__module__.startswith(__package__) for name in vars(cls)]
        if near := difflib.get_close_matches("forward", own, 1):
            raise NotImplementedError(f"{text}; is {near[0]!r} meant to be it?")
        if type(self).__module__.startswith(__package__):
            raise NotImplementedError(f"{text}; it holds modules, and is not called; call them, or use Sequential")
        raise NotImplementedError(f"{text}; define forward(self, ...)")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _C._adopt_module_type(cls)
        _C._explain_init(cls)

    # ---- Attributes

    def __setattr__(self, name, value):
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, _parameter.Parameter):
            self._need_init(parameters, "parameters")
            self._forget(name, own, own["_buffers"], own["_modules"], own["_non_persistent_buffers_set"])
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected); "
                    f"wrap it in torch.nn.Parameter(), or copy values with {name}.data.copy_()"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            modules = own.get("_modules")
            self._need_init(modules, "module")
            self._forget(name, own, parameters, own["_buffers"], own["_non_persistent_buffers_set"])
            modules[name] = _changed_by(_hooks.GLOBAL_MODULE_HOOKS, self, name, value)
        elif own.get("_modules") is not None and name in own["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            own["_modules"][name] = _changed_by(_hooks.GLOBAL_MODULE_HOOKS, self, name, None)
        elif isinstance(value, _parameter.Buffer) or (own.get("_buffers") is not None and name in own["_buffers"]):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name, value):
        own = self.__dict__
        buffers = own.get("_buffers")
        self._need_init(buffers, "buffer")
        if value is not None and not isinstance(value, _C.Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, _parameter.Buffer):
            self._forget(name, own["_parameters"], own["_modules"])
            self.register_buffer(name, value, value.persistent)
        else:
            buffers[name] = _changed_by(_hooks.GLOBAL_BUFFER_HOOKS, self, name, value)

    def _need_init(self, table, what):
        if table is None:
            raise AttributeError(
                f"cannot assign {what} before Module.__init__() call; "
                f"call super().__init__() first in {type(self).__name__}.__init__"
            )

    @staticmethod
    def _forget(name, *tables):
        for table in tables:
            if isinstance(table, set):
                table.discard(name)
            else:
                table.pop(name, None)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(state)
        for table in _TABLES:
            self.__dict__.setdefault(table, {})
        for table in _HOOK_TABLES:
            # Older files have plain dicts, which handles cannot refer to.
            if type(self.__dict__.get(table)) is not OrderedDict:
                self.__dict__[table] = OrderedDict(self.__dict__.get(table, ()))
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ---- Registering

    def _check_name(self, name, what, table):
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}' if what == "module" else
                           f'{what} name can\'t contain "."')  # fmt: skip
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in table and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is part of the module's state without being trained; not saved unless `persistent`."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _changed_by(_hooks.GLOBAL_BUFFER_HOOKS, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Adds a Parameter under a name, or keeps the place of one with None."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, _parameter.Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                "forward() method."
            )
        self._parameters[name] = _changed_by(_hooks.GLOBAL_PARAMETER_HOOKS, self, name, param)

    def add_module(self, name, module):
        """Adds a submodule under a name, or keeps the place of one with None."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(not_a_module(module))
        self._check_name(name, "module", self._modules)
        self._modules[name] = _changed_by(_hooks.GLOBAL_MODULE_HOOKS, self, name, module)

    def register_module(self, name, module):
        """Another name of add_module."""
        self.add_module(name, module)

    # ---- Finding by path

    def get_submodule(self, target):
        """The submodule at a path such as "encoder.0.linear"."""
        module = self
        for step in target.split(".") if target else ():
            if not hasattr(module, step):
                raise AttributeError(f"{type(module).__name__} has no attribute `{step}`")
            module = getattr(module, step)
            if not isinstance(module, Module):
                raise AttributeError(f"`{step}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module in the place of the one at a path; with `strict` there must be one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target, table, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in getattr(module, table):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a path such as "encoder.0.weight"."""
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer at a path such as "norm.running_mean"."""
        return self._get_member(target, "_buffers", "a buffer")

    # ---- Iterating

    def _named_members(self, get_members, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse=True):
        """The parameters, each once; of this module alone unless `recurse`."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) pairs; names are paths such as "encoder.0.weight".

        >>> import adjoint as torch
        >>> [(name, tuple(p.shape)) for name, p in torch.nn.Linear(3, 2).named_parameters()]
        [('weight', (2, 3)), ('bias', (2,))]
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers, each once; of this module alone unless `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, buffer) pairs; names are paths such as "norm.running_mean"."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """The modules directly below this one."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """(name, module) pairs of the modules directly below this one."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate=True):
        """This module and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(path, module) pairs of this module and all below it; its own path is the prefix."""
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # ---- Changing all of it

    def train(self, mode=True):
        """Puts this module and all below it in training mode, or in evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Evaluation mode: train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                    continue
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    def apply(self, fn):
        """Calls fn(module) on all modules, the innermost first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def compile(self, *args, **kwargs):
        """Does nothing: there is no compiler, and the module computes what it would compiled."""

    def _replicate_for_data_parallel(self):
        """A module on the same tensors, with tables of its own."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica

    # ---- Printing

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses of repr(): to be overridden."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            body = lines[0]
        else:
            body = "\n  ".join(lines + children)
            body = f"\n  {body}\n" if body else ""
        return f"{self._get_name()}({body})"


_C._adopt_module_type(Module)
_C._set_module_call(
    _hooks.call_with_hooks,
    (
        _hooks.GLOBAL_FORWARD_HOOKS,
        _hooks.GLOBAL_FORWARD_PRE_HOOKS,
        _hooks.GLOBAL_BACKWARD_HOOKS,
        _hooks.GLOBAL_BACKWARD_PRE_HOOKS,
    ),
)


def not_a_module(value):
    """Why something cannot be a submodule, and what can."""
    text = f"{typename(value)} is not a Module subclass"
    if isinstance(value, type) and issubclass(value, Module):
        return f"{text}; it is a class: make a module of it, {value.__name__}()"
    if isinstance(value, (list, tuple)):
        return f"{text}; unpack the list with *, or use torch.nn.ModuleList"
    if callable(value):
        return f"{text}; it is a function: the modules of functions have names like torch.nn.ReLU()"
    return text


def _changed_by(hooks, module, name, value):
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = changed if changed is not None else value
    return value
