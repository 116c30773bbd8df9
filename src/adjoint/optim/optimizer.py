"""Optimizer: parameter groups, the state of each parameter, saving and loading both, and hooks around steps."""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy

from .. import _C
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import add_hook

# What an optimizer takes, for annotations.
ParamsT = Iterable[_C.Tensor] | Iterable[dict] | Iterable[tuple[str, _C.Tensor]]

_global_optimizer_pre_hooks: dict = {}
_global_optimizer_post_hooks: dict = {}


class _RequiredParameter:
    """The default of an option that every group has to name."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook):
    """Calls hook(optimizer, args, kwargs) before every step of every optimizer; returns a handle to remove it.

    >>> from adjoint.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Calls hook(optimizer, args, kwargs) after every step of every optimizer; returns a handle to remove it.

    >>> from adjoint.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return add_hook(_global_optimizer_post_hooks, hook)


def _with_hooks(step):
    """A step method with the hooks of its optimizer and of all optimizers around it."""

    @functools.wraps(step)
    def hooked(*args, **kwargs):
        self = args[0]
        for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}. That is what its "
                    "step_pre_hook returned; new_args begins with the optimizer."
                )
            args, kwargs = result
        value = step(*args, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return value

    hooked.hooked = True
    return hooked


class Optimizer:
    """Base class of all optimizers: subclasses write `step`.

    `params` are tensors, or dicts of options with tensors under "params", or pairs (name, tensor). `defaults` are the
    options of a group that does not name them.

    >>> import adjoint as torch
    >>> class Halve(torch.optim.Optimizer):
    ...     def __init__(self, params):
    ...         super().__init__(params, {"lr": 0.5})
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.mul_(group["lr"])
    >>> w = torch.ones(2, requires_grad=True)
    >>> Halve([w]).step()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._prepare()
        if isinstance(params, _C.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}. Put it into a list."
            )
        if params is None:
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors, but got None")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare(self):
        """What is not saved with an optimizer: its hooks, and the hooked form of its class's `step`."""
        for when in ("step_pre", "step_post", "state_dict_pre", "state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{when}_hooks", OrderedDict())
        for when in ("pre", "post"):
            self.__dict__.setdefault(f"_optimizer_load_state_dict_{when}_hooks", OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._prepare()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")]
            lines.append("")
        return "\n".join([*lines[:-1], ")"])

    # ---- Groups

    def add_param_group(self, param_group):
        """Adds a group of parameters with options of its own, such as layers that are thawed during training."""
        if not isinstance(param_group, dict):
            raise TypeError(
                f"param_group must be a dict, but got {type(param_group)}. Write {{'params': [...], 'lr': ...}}."
            )
        params = param_group["params"]
        if isinstance(params, _C.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params, names = _split_names(list(params))
        for param in params:
            _check_parameter(param, self.defaults)
        if self.param_groups and ("param_names" in self.param_groups[0]) != bool(names):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        ids = set(map(id, params))
        if len(ids) != len(params):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if any(id(param) in ids for group in self.param_groups for param in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or fills them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none or param.grad is None:
                    param.grad = None
                    continue
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    def step(self, closure=None):
        """Updates the parameters. `closure` computes the loss anew and returns it."""
        raise NotImplementedError

    # ---- Saving and loading

    def state_dict(self):
        """State and options as plain dicts, with parameters numbered in the order of the groups.

        >>> import adjoint as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> torch.optim.SGD([w], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index: dict = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                index.setdefault(id(param), len(index))
            numbers = [index[id(param)] for param in group["params"]]
            groups.append({key: value for key, value in group.items() if key != "params"} | {"params": numbers})
        state = {index[id(key)] if isinstance(key, _C.Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = _or_else(hook(self, result), result)
        return result

    @no_grad()
    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` of an optimizer with groups of the same sizes gave."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            state_dict = _or_else(hook(self, state_dict), state_dict)
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(saved)}; the optimizer has {len(self.param_groups)}"
            )
        sizes, own_sizes = ([len(group["params"]) for group in groups] for groups in (saved, self.param_groups))
        if sizes != own_sizes:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: sizes "
                f"{sizes}; the optimizer has {own_sizes}"
            )
        params = {}
        for new, old in zip(saved, self.param_groups, strict=True):
            params.update(zip(new["params"], old["params"], strict=True))
            new["params"] = old["params"]
            if "param_names" in old:
                new.setdefault("param_names", old["param_names"])
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _fitted(value, params[key])
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # ---- Hooks

    def register_step_pre_hook(self, hook):
        """Calls hook(optimizer, args, kwargs) before a step; it may return new (args, kwargs)."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls hook(optimizer, args, kwargs) after a step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls hook(optimizer) before `state_dict` begins."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls hook(optimizer, state_dict) on what `state_dict` made; it may return another one."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls hook(optimizer, state_dict) before loading; it may return another one to load."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls hook(optimizer) after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _or_else(value, default):
    return default if value is None else value


def _split_names(params):
    """Tensors, and their names where they come as pairs."""
    pairs = [isinstance(param, tuple) for param in params]
    if not any(pairs):
        return params, []
    if not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [pair[1] for pair in params], [pair[0] for pair in params]


def _check_parameter(param, defaults):
    if not isinstance(param, _C.Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
    if not defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
        raise ValueError(
            "can't optimize a non-leaf Tensor: it is the result of an operation. Give the optimizer the tensors that "
            "it was computed from, or its detach().requires_grad_()."
        )


def _fitted(value, param, key=None):
    """A loaded state in the type of its parameter, container by container; what counts steps keeps its own type."""
    if isinstance(value, _C.Tensor):
        dtype = param.dtype if param.is_floating_point() and key != "step" else value.dtype
        return value.to(dtype=dtype, device=value.device if key == "step" else param.device)
    if isinstance(value, dict):
        return {name: _fitted(item, param, name) for name, item in value.items()}
    if isinstance(value, list | tuple | set):
        return type(value)(_fitted(item, param) for item in value)
    return value


def evaluate(closure):
    """The loss of a step's closure, with gradients recorded; None without closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def check_lr(lr, text="Invalid learning rate: {}"):
    """Refuses a negative learning rate, and a tensor of several."""
    if isinstance(lr, _C.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(text.format(lr))


def check_not_negative(**values):
    """Refuses negative options; the message calls eps "epsilon" as the papers do."""
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas):
    """Refuses decay rates outside [0, 1)."""
    if not isinstance(betas, tuple | list | _C.Tensor) or len(betas) < 2:
        raise ValueError(f"Invalid betas: expected two decay rates; got {betas}")
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused(fused, foreach, differentiable):
    """Refuses choices of torch's implementations that exclude each other; here one native pass serves them all."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
