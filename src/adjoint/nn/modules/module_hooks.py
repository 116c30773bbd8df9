"""Hooks of modules: registering them, the hooks of all modules, and a call with its hooks run."""

import functools
import warnings
from collections import OrderedDict

from ... import _C
from ...autograd.function import Function
from ...autograd.graph import add_hook

# Hooks of every module, by id. A module with no hook of its own and none here calls `forward` directly.
GLOBAL_FORWARD_PRE_HOOKS: OrderedDict = OrderedDict()
GLOBAL_FORWARD_HOOKS: OrderedDict = OrderedDict()
GLOBAL_FORWARD_HOOKS_WITH_KWARGS: OrderedDict = OrderedDict()
GLOBAL_FORWARD_HOOKS_ALWAYS_CALLED: OrderedDict = OrderedDict()
GLOBAL_BACKWARD_PRE_HOOKS: OrderedDict = OrderedDict()
GLOBAL_BACKWARD_HOOKS: OrderedDict = OrderedDict()
GLOBAL_BUFFER_HOOKS: OrderedDict = OrderedDict()
GLOBAL_MODULE_HOOKS: OrderedDict = OrderedDict()
GLOBAL_PARAMETER_HOOKS: OrderedDict = OrderedDict()

_full_global_backward_hooks = None  # whether the global backward hooks are full ones: None while there are none


def register_module_buffer_registration_hook(hook):
    """Calls hook(module, name, buffer) whenever a module registers a buffer; what it returns takes its place."""
    return add_hook(GLOBAL_BUFFER_HOOKS, hook)


def register_module_module_registration_hook(hook):
    """Calls hook(module, name, submodule) whenever a module registers a submodule; what it returns takes its place."""
    return add_hook(GLOBAL_MODULE_HOOKS, hook)


def register_module_parameter_registration_hook(hook):
    """Calls hook(module, name, parameter) whenever a module registers a parameter; what it returns takes its place."""
    return add_hook(GLOBAL_PARAMETER_HOOKS, hook)


def register_module_forward_pre_hook(hook):
    """Calls hook(module, args) before the forward of every module."""
    return add_hook(GLOBAL_FORWARD_PRE_HOOKS, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Calls hook(module, args, output) after the forward of every module."""
    extra = [(GLOBAL_FORWARD_HOOKS_WITH_KWARGS, with_kwargs), (GLOBAL_FORWARD_HOOKS_ALWAYS_CALLED, always_call)]
    return add_hook(GLOBAL_FORWARD_HOOKS, hook, extra=extra)


def _choose_global_backward_hooks(full):
    global _full_global_backward_hooks
    if GLOBAL_BACKWARD_HOOKS and _full_global_backward_hooks is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook; "
            "remove the handles of the other kind first"
        )
    _full_global_backward_hooks = full


def register_module_backward_hook(hook):
    """Deprecated: use register_module_full_backward_hook."""
    _choose_global_backward_hooks(False)
    return add_hook(GLOBAL_BACKWARD_HOOKS, hook)


def register_module_full_backward_pre_hook(hook):
    """Calls hook(module, grad_output) before the backward of every module."""
    return add_hook(GLOBAL_BACKWARD_PRE_HOOKS, hook)


def register_module_full_backward_hook(hook):
    """Calls hook(module, grad_input, grad_output) after the backward of every module."""
    _choose_global_backward_hooks(True)
    return add_hook(GLOBAL_BACKWARD_HOOKS, hook)


class BackwardHookFunction(Function):
    """The identity on several tensors: one node through which all their gradients pass together."""

    @staticmethod
    def forward(*tensors):
        """The tensors."""
        return tensors

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Those that need no gradient are marked so."""
        ctx.mark_non_differentiable(*[y for x, y in zip(inputs, output, strict=True) if not x.requires_grad])

    @staticmethod
    def backward(ctx, *grads):
        """The gradients as they came."""
        return grads

    @staticmethod
    def jvp(ctx, *tangents):
        """The tangents as they came."""
        return tangents


class BackwardHook:
    """Runs a module's full backward hooks in one call: a node before its inputs and one after its outputs.

    >>> import adjoint as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> _ = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output[0]))
    >>> layer(torch.ones(2, requires_grad=True)).backward()
    tensor([1.])
    """

    __module__ = "adjoint.utils.hooks"  # where programs look for it

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs = None
        self.input_count = self.output_count = -1
        self.input_places = self.output_places = ()

    @staticmethod
    def _spread(places, values, count):
        full = [None] * count
        for place, value in zip(places, values, strict=True):
            full[place] = value
        return tuple(full)

    def _attach(self, given):
        """(values with their tensors passed through one node, the node or None, the places of the tensors)."""
        places = [i for i, value in enumerate(given) if isinstance(value, _C.Tensor)]
        tensors = [given[i] for i in places]
        if not (_C.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
            return given, None, places
        passed = BackwardHookFunction.apply(*tensors)
        node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
        values = list(given)
        for i, tensor in zip(places, passed, strict=True):
            values[i] = tensor
        return _tuple_like(given, values), node, places

    def _replace(self, hook, result, given, kind, which):
        if result is None:
            return given
        result = result if isinstance(result, tuple) else (result,)
        if len(result) != len(given):
            raise RuntimeError(
                f"{kind} returned an invalid number of {which}, got {len(result)}, but expected {len(given)}; "
                f"the hook is {getattr(hook, '__qualname__', hook)!s} of {type(self.module).__name__}"
            )
        return result

    def _run_hooks(self, grad_inputs):
        for hook in self.hooks:
            changed = hook(self.module, grad_inputs, self.grad_outputs)
            grad_inputs = self._replace(hook, changed, grad_inputs, "Backward hook", "grad_input")
        return grad_inputs

    def setup_input_hook(self, args):
        """The arguments to call the module with."""
        args, node, self.input_places = self._attach(args)
        self.input_count = len(args)
        if node is not None and self.hooks:

            def after_inputs(grads, _):
                if self.grad_outputs is None:  # the outputs took no part in this backward
                    return None
                grads = self._run_hooks(self._spread(self.input_places, grads, self.input_count))
                self.grad_outputs = None
                return tuple(grads[i] for i in self.input_places)

            node.register_hook(after_inputs)
        self.watches_inputs = node is not None
        return args

    def setup_output_hook(self, result):
        """The result of the module, its gradients watched."""
        if not isinstance(result, (_C.Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=3,
            )
            return result
        values = result if isinstance(result, tuple) else (result,)
        values, node, self.output_places = self._attach(values)
        self.output_count = len(values)
        if node is not None:

            def before_outputs(grads):
                given = self._spread(self.output_places, grads, self.output_count)
                for hook in self.pre_hooks:
                    changed = hook(self.module, given)
                    given = self._replace(hook, changed, given, "Backward pre hook", "grad_output")
                self.grad_outputs = given
                if not self.watches_inputs and self.hooks:
                    warnings.warn(
                        "Full backward hook is firing when gradients are computed with respect to module outputs since "
                        "no inputs require gradients.",
                        stacklevel=2,
                    )
                    changed = self._run_hooks((None,) * self.input_count)
                    if any(grad is not None for grad in changed):
                        raise RuntimeError(
                            "Backward hook for Modules where no input requires gradient should always return None "
                            "or None for all gradients."
                        )
                    self.grad_outputs = None
                return tuple(given[i] for i in self.output_places)

            node.register_prehook(before_outputs)
        return values if isinstance(result, tuple) else values[0]


def _tuple_like(given, values):
    """The values as a tuple of the same kind: a namedtuple stays one."""
    make = getattr(type(given), "_make", tuple)
    return make(values)


def _first_tensor(value):
    while not isinstance(value, _C.Tensor):
        if isinstance(value, dict):
            value = next((item for item in value.values() if isinstance(item, _C.Tensor)), None)
        elif isinstance(value, (list, tuple)) and value:
            value = value[0]
        else:
            return None
        if value is None:
            return None
    return value


def _as_tensors(values):
    """A tensor, or a tuple of nothing else, as a tuple; None for whatever else."""
    values = values if isinstance(values, tuple) else (values,)
    return values if all(isinstance(value, _C.Tensor) for value in values) else None


def _what_old_hooks_miss(args, result, node):
    """What backward hooks of the deprecated kind, which see one node only, do not see of a call; None: nothing."""
    inputs, outputs = _as_tensors(args), _as_tensors(result)
    if outputs is None:
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors",
            "some of the grad_output",
        )
    if inputs is None:
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            "Tensors",
            "some of the grad_input",
        )
    if {output.grad_fn for output in outputs if output.grad_fn is not None} != {node}:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes",
            "some grad_output",
        )
    before = {input.grad_fn for input in inputs if input.grad_fn is not None}
    if before != {following for following, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes",
            "some grad_input",
        )
    return None


def _old_backward_hooks(module, hooks, args, result):
    """Backward hooks of the deprecated kind: they see the gradients of the last node only."""
    tensor = _first_tensor(result)
    if tensor is None or tensor.grad_fn is None:
        return
    for hook in hooks:
        tensor.grad_fn.register_hook(functools.wraps(hook)(functools.partial(hook, module)))
    missed = _what_old_hooks_miss(args, result, tensor.grad_fn)
    if missed is not None:
        warnings.warn(
            f"{missed[0]} is deprecated and will be removed in future versions. This hook will be missing "
            f"{missed[1]}. Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=3,
        )


def call_with_hooks(module, args, kwargs):
    """What calling a module does when it, or all modules, have hooks."""
    full, old = HookRegistration._get_backward_hooks(module)
    pre = HookRegistration._get_backward_pre_hooks(module)
    called = set()
    result = None

    def after(items, with_kwargs):
        nonlocal result
        for key, hook in items:
            called.add(key)
            changed = hook(module, args, kwargs, result) if key in with_kwargs else hook(module, args, result)
            if changed is not None:
                result = changed

    try:
        for key, hook in [*GLOBAL_FORWARD_PRE_HOOKS.items(), *module._forward_pre_hooks.items()]:
            if key in module._forward_pre_hooks_with_kwargs:
                changed = hook(module, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(module, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        backward_hooks = BackwardHook(module, full, pre) if full or pre else None
        if backward_hooks is not None:
            args = backward_hooks.setup_input_hook(args)
        result = module.forward(*args, **kwargs)
        after(list(GLOBAL_FORWARD_HOOKS.items()), GLOBAL_FORWARD_HOOKS_WITH_KWARGS)
        after(list(module._forward_hooks.items()), module._forward_hooks_with_kwargs)
        if backward_hooks is not None:
            result = backward_hooks.setup_output_hook(result)
        if old:
            _old_backward_hooks(module, old, args, result)
        return result
    except Exception:
        _call_always(module, args, kwargs, result, called)
        raise


def _call_always(module, args, kwargs, result, called):
    """After an exception: the hooks that asked to be called whatever happens; theirs do not replace the first."""
    tables = (
        (GLOBAL_FORWARD_HOOKS, GLOBAL_FORWARD_HOOKS_ALWAYS_CALLED, GLOBAL_FORWARD_HOOKS_WITH_KWARGS),
        (module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs),
    )
    for hooks, always, with_kwargs in tables:
        for key, hook in list(hooks.items()):
            if key in always and key not in called:
                try:
                    changed = hook(module, args, kwargs, result) if key in with_kwargs else hook(module, args, result)
                    result = changed if changed is not None else result
                except Exception as error:
                    warnings.warn(
                        f"module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=3,
                    )


class HookRegistration:
    """The part of Module that takes hooks."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, args) before forward; what it returns, if not None, takes the arguments' place."""
        extra = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return add_hook(self._forward_pre_hooks, hook, prepend, extra)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls hook(module, args, output) after forward; what it returns, if not None, takes the output's place.

        >>> import adjoint as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> layer(torch.zeros(2))
        tensor([1., 1.])
        """
        extra = [(self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)]
        return add_hook(self._forward_hooks, hook, prepend, extra)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls hook(module, grad_output) before the module's backward; what it returns takes grad_output's place."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls hook(module, grad_input, grad_output) when the gradients of the module's inputs are known."""
        self._choose_backward_hooks(True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """Deprecated: use register_full_backward_hook, whose gradients are those of the whole module."""
        self._choose_backward_hooks(False)
        return add_hook(self._backward_hooks, hook)

    def _get_backward_hooks(self):
        """(full ones, those of the deprecated kind) of all modules and of this one, in the order of their calls."""
        full, old = [], []
        if GLOBAL_BACKWARD_HOOKS:
            (full if _full_global_backward_hooks else old).extend(GLOBAL_BACKWARD_HOOKS.values())
        if self._backward_hooks:
            (full if self._is_full_backward_hook else old).extend(self._backward_hooks.values())
        return full, old

    def _get_backward_pre_hooks(self):
        return [*GLOBAL_BACKWARD_PRE_HOOKS.values(), *self._backward_pre_hooks.values()]

    def _choose_backward_hooks(self, full):
        if self._is_full_backward_hook is not None and self._is_full_backward_hook is not full:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full
