"""An op that a program has defined: its schema, its kernels, and how it is differentiated, batched and cast."""

import threading

from . import _C, _ops
from .autograd.function import Function
from .autograd.grad_mode import no_grad

# Where a kernel may be registered: devices, and torch's names of dispatch keys.
DEVICE_KEYS = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "MPS": "mps", "XPU": "xpu"}
ANYWHERE = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "default")
COMPOSITE = "CompositeImplicitAutograd"
AUTOGRAD = ("Autograd", "AutogradCPU")


class _Below(threading.local):
    """Whether calls of this thread are below autograd: nothing is recorded for them."""

    autograd = False


_below = _Below()


class BelowAutograd:
    """A context in which defined ops call their kernels, and no formula of gradients; torch has it in torch._C."""

    def __enter__(self):
        self._before, _below.autograd = _below.autograd, True

    def __exit__(self, *_):
        _below.autograd = self._before


class DefinedPacket(_ops.OpOverloadPacket):
    """All ops of one name that a program has defined, by their overloads."""

    def __init__(self, space, name):
        self.defined = {}  # overload -> DefinedOp
        super().__init__(space, name, None, DefinedPacket._overload, self.defined)

    def _overload(self, name):
        op = self.defined.get(name)
        return None if op is None else _ops.OpOverload(self, name, op, op.schema)

    def add(self, overload, op):
        self.defined[overload] = op
        self._function = next(iter(self.defined.values()))

    def __call__(self, /, *args, **kwargs):
        *others, last = self.defined.values()
        for op in others:
            try:
                op.schema.bind(args, kwargs)
            except (RuntimeError, TypeError):
                continue
            return op(*args, **kwargs)
        return last(*args, **kwargs)


def find(space, name):
    """The op of this name, such as "f" or "f.out", that a program has defined; or None."""
    name, _, overload = name.partition(".")
    packet = _ops.find(space, name)
    return None if packet is None else packet.defined.get(overload or "default")


class DefinedOp:
    """What `torch.ops.mylib.f.default` calls."""

    def __init__(self, schema, checks_aliases=False):
        self.schema = schema
        self.kernels = {}  # device, or None for any -> function
        self.composite = None  # a function of other ops, which are recorded
        self.autograd_kernel = None
        self.backward = self.setup_context = self.vmap_rule = None
        self.casts = {}  # device -> dtype
        self.disabled = set()  # devices whose kernels are off
        self.checks_aliases = checks_aliases
        self.default_kernel = None
        self.dispatch_rules = {}
        space, name = schema.name.split("::")
        self.overload_name = schema.overload_name or "default"
        self.packet = _ops.find(space, name) or DefinedPacket(space, name)
        self.packet.add(self.overload_name, self)
        self._function = None

    @property
    def overload(self):
        return getattr(self.packet, self.overload_name)

    # ---- Calls

    def __call__(self, /, *args, **kwargs):
        values = self.schema.bind(args, kwargs)
        if _C._has_torch_function_variadic(*values):
            from .overrides import handle_torch_function

            return handle_torch_function(self.overload, _leaves(values), *args, **kwargs)
        from .utils import _python_dispatch

        mode = _python_dispatch._get_current_dispatch_mode()
        if mode is not None:
            with _python_dispatch._pop_mode_temporarily():
                rule = self.dispatch_rules.get(type(mode))
                if rule is not None:
                    return rule(mode, self.overload, (), args, kwargs)
                return mode.__torch_dispatch__(self.overload, (), args, kwargs)
        return self._call_cast(values)

    def _call_cast(self, values):
        dtype = self.casts.get("cpu") if _C._mode_flags() & 4 else None
        if dtype is None:
            return self._call_recorded(values)
        from .amp import autocast

        with autocast("cpu", enabled=False):
            return self._call_recorded(_mapped(values, lambda x: x.to(dtype) if x.is_floating_point() else x))

    def _call_recorded(self, values):
        if self.composite is not None:
            return self.composite(*self._arguments(values)[0], **self._arguments(values)[1])
        tensors = _leaves(values)
        wanted = _C.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        if self.autograd_kernel is not None and not _below.autograd and wanted:
            positional, keywords = self._arguments(values)
            return self.autograd_kernel(*positional, **keywords)
        if _below.autograd or not (wanted or _C._open_levels()):
            with no_grad():
                return self.run(values)
        if self._function is None:
            self._function = _function_of(self)
        call = _Call(self, values)
        results = self._function.apply(call, *tensors)
        return call.rebuilt(results)

    def _arguments(self, values):
        """Positional ones, and those by keyword."""
        pairs = list(zip(self.schema.arguments, values, strict=True))
        return (
            [value for argument, value in pairs if not argument.kwarg_only],
            {argument.name: value for argument, value in pairs if argument.kwarg_only},
        )

    def given(self, positional):
        """How many positional arguments there are without the last ones that are defaults."""
        count = len(positional)
        while count:
            argument, value = self.schema.arguments[count - 1], positional[count - 1]
            if _leaves([value]) or not argument.has_default_value() or value != argument.default_value:
                break
            count -= 1
        return count

    def run(self, values):
        """Calls the kernel of the device that the arguments are on."""
        tensors = _leaves(values)
        device = next((tensor.device.type for tensor in tensors if tensor.device.type != "cpu"), "cpu")
        kernel = self._kernel(device)
        positional, keywords = self._arguments(values)
        result = kernel(*positional, **keywords)
        for argument, value in zip(self.schema.arguments, values, strict=True):
            if argument.is_write:
                for tensor in _leaves([value]):
                    _C._increment_version(tensor)
        if self.checks_aliases:
            self._check_aliases(result, tensors)
        returns = self.schema.returns
        if len(returns) == 1 and str(returns[0]) == "Tensor" and not isinstance(result, _C.Tensor):
            raise RuntimeError(f"Unable to cast {result!r} to Tensor: {self.schema} returns one")
        return result

    def _kernel(self, device):
        if device in self.disabled and self.default_kernel is not None:
            return self.default_kernel
        kernel = self.kernels.get(device)
        if kernel is None and (device != "meta" or not self.checks_aliases):
            kernel = self.kernels.get(None)
        if kernel is not None:
            return kernel
        if device == "meta" and self.schema.is_mutable and not self.schema.returns:
            return lambda *args, **kwargs: None  # it has nothing to give
        if device == "meta":
            name = self.schema.name.partition("::")[2]
            raise RuntimeError(
                f"There was no fake impl registered for <CustomOpDef({self.schema.name})>. This is necessary for "
                f"torch.compile/export/fx tracing to work. Please use `{name}.register_fake` to add an fake impl."
            )
        key = next((key for key, value in DEVICE_KEYS.items() if value == device), device)
        raise NotImplementedError(
            f"Could not run '{self.schema.name}' with arguments from the '{key}' backend. It has kernels for "
            f"{sorted(str(kernel or 'any device') for kernel in self.kernels) or 'no device'}; register one with "
            "torch.library.impl()"
        )

    def _check_aliases(self, result, tensors):
        places = {tensor._storage_id() for tensor in tensors}
        for tensor in _leaves([result]):
            if tensor._storage_id() in places:
                name = self.schema.name.partition("::")[2]
                raise RuntimeError(
                    f"{name}: The output of this custom operator (1) must not also be an input to this custom operator "
                    "and (2) may not alias any inputs to this custom operator or other returns. The most common "
                    "way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please "
                    "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or "
                    "refactor the custom operator to not return y."
                )
            places.add(tensor._storage_id())


class _Call:
    """One call that is recorded: its arguments, of which the tensors go through the Function one by one."""

    def __init__(self, op, values):
        self.op, self.values = op, values
        self.form = None

    def with_tensors(self, tensors):
        """The arguments with other tensors in the places of its own."""
        left = iter(tensors)
        return _mapped(self.values, lambda _: next(left))

    def kept(self, result):
        """The tensors of a result, whose form is kept."""
        self.form = result
        return tuple(_leaves([result]))

    def rebuilt(self, tensors):
        """A result of the kept form."""
        if self.form is None:
            return None
        left = iter(tensors if isinstance(tensors, tuple) else (tensors,))
        return _mapped([self.form], lambda _: next(left))[0]


def _function_of(op):
    """The autograd.Function through which an op is recorded."""

    def forward(call, *tensors):
        outputs = call.kept(op.run(call.with_tensors(tensors)))
        return outputs[0] if len(outputs) == 1 else outputs

    def setup_context(ctx, inputs, output):
        call, *tensors = inputs
        ctx.call = call
        if op.setup_context is None:
            return
        positional, keywords = op._arguments(call.with_tensors(tensors))
        options = (keywords,) if keywords else ()
        op.setup_context(ctx, tuple(positional), *options, call.rebuilt(output))

    def backward(ctx, *gradients):
        if op.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op.overload} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        form = ctx.call.form
        given = gradients if not isinstance(form, list) else (list(gradients),)
        answer = op.backward(ctx, *given)
        positional, _ = op._arguments(ctx.call.values)
        answers = list(answer) if isinstance(answer, tuple) else [answer]
        wanted = op.given(positional)
        if not wanted <= len(answers) <= len(positional):
            raise RuntimeError(
                f"function {name}Backward returned an incorrect number of gradients (expected {wanted + 1}, got "
                f"{len(answers) + 1}): return one for each argument, None for those that are no tensors"
            )
        return (None, *_gradient_leaves(positional, answers), *_gradient_leaves(_keyword_tensors(op, ctx.call), []))

    def vmap(info, in_dims, call, *tensors):
        if op.vmap_rule is None:
            return _one_by_one(op, info.batch_size, in_dims[1:], call, tensors)
        dims = iter(in_dims[1:])
        values = call.with_tensors(tensors)
        value_dims = [
            [next(dims) for _ in _leaves([value])] if isinstance(value, list | tuple) else
            next(dims) if isinstance(value, _C.Tensor) else None
            for value in values
        ]  # fmt: skip
        result, out_dims = op.vmap_rule(info, tuple(value_dims), *values)
        outputs = call.kept(result)
        return (outputs[0], out_dims) if len(outputs) == 1 else (outputs, out_dims)

    name = f"GeneratedBackwardFor_{str(op.overload).replace('.', '_')}"
    members = {"forward": forward, "setup_context": setup_context, "backward": backward, "vmap": vmap}
    return type(name, (Function,), {key: staticmethod(value) for key, value in members.items()})


def _one_by_one(op, size, in_dims, call, tensors):
    """What vmap computes without a rule: each of a batch, and all of them together."""
    results = []
    for i in range(size):
        picked = [x if dim is None else x.select(dim, i) for x, dim in zip(tensors, in_dims, strict=True)]
        positional, keywords = op._arguments(call.with_tensors(picked))
        results.append(call.kept(op(*positional, **keywords)))
    stack = _C.op_object("stack")
    outputs = tuple(stack(list(each)) for each in zip(*results, strict=True))
    return (outputs[0], 0) if len(outputs) == 1 else (outputs, (0,) * len(outputs))


def _keyword_tensors(op, call):
    return list(op._arguments(call.values)[1].values())


def _gradient_leaves(values, answers):
    """The gradient of each tensor among the arguments, in the order of _leaves."""
    found = []
    for place, value in enumerate(values):
        answer = answers[place] if place < len(answers) else None
        if isinstance(value, _C.Tensor):
            found.append(answer)
        elif isinstance(value, list | tuple):
            items = answer if isinstance(answer, list | tuple) else [None] * len(value)
            found += [item for item, tensor in zip(items, value, strict=True) if isinstance(tensor, _C.Tensor)]
    return found


def _leaves(values):
    """The tensors among some values, those in lists too."""
    found = []
    for value in values:
        if isinstance(value, _C.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _leaves(value)
    return found


def _mapped(values, change):
    """Values with change(tensor) in the place of each tensor."""
    return [
        change(value) if isinstance(value, _C.Tensor) else
        type(value)(_mapped(value, change)) if isinstance(value, list | tuple) else value
        for value in values
    ]  # fmt: skip
