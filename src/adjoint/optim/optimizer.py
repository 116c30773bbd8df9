"""Optimizer: parameter groups, the state of each parameter, saving and loading both, and hooks around steps."""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy

from .. import _C
from .._refusal import missing
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import add_hook

# What an optimizer takes, for annotations.
ParamsT = Iterable[_C.Tensor] | Iterable[dict] | Iterable[tuple[str, _C.Tensor]]

_global_optimizer_pre_hooks: OrderedDict = OrderedDict()
_global_optimizer_post_hooks: OrderedDict = OrderedDict()


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
        if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
            args, kwargs = _arguments_of_step(step, self, args, kwargs)
        span = _C._begin_span(self._step_profile_name)
        try:
            value = step(*args, **kwargs)
        except (KeyError, TypeError, AttributeError) as error:
            _explain_groups(self, error)
            raise
        finally:
            _C._end_span(span)
        if _global_optimizer_post_hooks or self._optimizer_step_post_hooks:
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
        return value

    hooked.hooked = True
    return hooked


def _arguments_of_step(step, optimizer, args, kwargs):
    """What the hooks before a step make of its arguments."""
    for hook in (*_global_optimizer_pre_hooks.values(), *optimizer._optimizer_step_pre_hooks.values()):
        result = hook(optimizer, args, kwargs)
        if result is None:
            continue
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}. That is what its "
                "step_pre_hook returned; new_args begins with the optimizer."
            )
        args, kwargs = result
    return args, kwargs


def _explain_groups(optimizer, error):
    """Raises the error anew with words, where a group is none or lacks the option that was asked for."""
    for i, group in enumerate(optimizer.param_groups):
        if not isinstance(group, dict):
            raise TypeError(
                f"expected param_groups[{i}] to be a dict; got {type(group).__name__}; add groups by add_param_group"
            ) from None
    name = error.args[0] if error.args else None
    if not isinstance(name, str) or name not in optimizer.defaults:
        return
    for i, group in enumerate(optimizer.param_groups):
        if name not in group:
            raise missing(
                name,
                f"in param_groups[{i}]; set param_groups[{i}][{name!r}], or load a state_dict of the same optimizer",
            ) from None


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

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _C._explain_init(cls)

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
        source = getattr(params, "gi_frame", self)  # of a generator, such as parameters(), before it runs
        try:
            groups = list(params)
        except TypeError as error:
            raise _not_iterable(params, error) from None
        if not groups:
            raise ValueError(f"optimizer got an empty parameter list{_why_empty(params, source)}")
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
        # What profilers call its methods.
        self._step_profile_name = f"Optimizer.step#{cls.__name__}.step"
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
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
        if "params" not in param_group:
            raise missing("params", f"in a parameter group with {_keys(param_group)}; add {{'params': [...]}}")
        params = param_group["params"]
        if isinstance(params, _C.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        elif not hasattr(params, "__iter__"):
            kind = type(params).__name__
            raise TypeError(
                f"{kind!r} object is not iterable: 'params' of a parameter group is a Tensor or a list of them"
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
            raise ValueError(f"some parameters appear in more than one parameter group{self._shared(ids)}")
        self.param_groups.append(param_group)

    def _shared(self, ids):
        """Which parameters of earlier groups come again, as the end of an error."""
        places = [
            f"parameter {i} of group {g}, of shape {list(param.shape)}"
            for g, group in enumerate(self.param_groups)
            for i, param in enumerate(group["params"])
            if id(param) in ids
        ]
        return f"; {places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''}, came again"

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or fills them with zeros."""
        span = _C._begin_span(self._zero_grad_profile_name)
        try:
            self._drop_gradients(set_to_none)
        finally:
            _C._end_span(span)

    def _drop_gradients(self, set_to_none):
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
        state = {}
        for key, value in self.state.items():
            if isinstance(key, _C.Tensor) and id(key) not in index:
                raise KeyError(
                    "state_dict: expected every tensor that has a state to be a parameter of a group; got one of size "
                    f"{list(key.shape)} that is none; delete it from optimizer.state"
                )
            state[index[id(key)] if isinstance(key, _C.Tensor) else key] = value
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = _or_else(hook(self, result), result)
        return result

    @no_grad()
    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` of an optimizer with groups of the same sizes gave."""
        _check_mapping("state_dict", state_dict)
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            state_dict = _or_else(hook(self, state_dict), state_dict)
        _check_saved(state_dict)
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


def _keys(mapping):
    return f"the keys {list(mapping)}" if mapping else "no keys"


def _check_mapping(name, value):
    if not isinstance(value, Mapping):
        raise TypeError(
            f"Expected {name} to be dict-like, got {type(value)}. Give what state_dict() of an optimizer returned."
        )


def _check_saved(state_dict):
    """Refuses what no `state_dict` of an optimizer gave, before anything is loaded."""
    _check_mapping("state_dict", state_dict)
    for name in ("param_groups", "state"):
        if name not in state_dict:
            raise missing(
                name,
                f"in the state_dict, which has {_keys(state_dict)}; give what state_dict() of an optimizer returned",
            )
    _check_mapping("state_dict['state']", state_dict["state"])
    groups = state_dict["param_groups"]
    if not isinstance(groups, list | tuple):
        raise TypeError(f"Expected state_dict['param_groups'] to be a list of dicts, got {type(groups)}.")
    for i, group in enumerate(groups):
        _check_mapping(f"state_dict['param_groups'][{i}]", group)
        if not isinstance(group.get("params"), list | tuple):
            raise missing(
                "params",
                f"in state_dict['param_groups'][{i}], or no list; give what state_dict() of an optimizer returned",
            )


def _split_names(params):
    """Tensors, and their names where they come as pairs."""
    pairs = [isinstance(param, tuple) for param in params]
    if not any(pairs):
        return params, []
    if not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    if any(len(pair) != 2 for pair in params):
        raise ValueError("expected the params of an optimizer to be Tensors, or pairs (name, Tensor); got other tuples")
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


def checked_state(state, shapes):
    """The entries of a parameter's state that `shapes` names, once each is a tensor of its shape."""
    if not isinstance(state, dict):
        raise TypeError(
            f"expected the state of a parameter to be a dict; got {type(state).__name__}; load a state_dict of this "
            "optimizer, or delete the entry to begin anew"
        )
    for name, shape in shapes.items():
        if name not in state:
            raise missing(name, "in the state of a parameter; load a state_dict of the same options")
        value = state[name]
        if not isinstance(value, _C.Tensor):
            raise TypeError(
                f"expected the state {name!r} of a parameter to be a tensor; got {type(value).__name__}; "
                "load a state_dict of this optimizer"
            )
        if value.shape != shape:
            raise RuntimeError(
                f"The size of the state {name!r}, {list(value.shape)}, must match {list(shape)}; "
                "load a state_dict of the same parameters"
            )
    return {name: state[name] for name in shapes}


def refuse_sparse(optimizer):
    """Refuses sparse gradients."""
    for group in optimizer.param_groups:
        if any(param.grad is not None and param.grad.layout is not _C.strided for param in group["params"]):
            raise RuntimeError(f"{type(optimizer).__name__} does not support sparse gradients")


def evaluate(closure):
    """The loss of a step's closure, with gradients recorded; None without closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def check_lr(lr, text="Invalid learning rate: {}"):
    """Refuses a negative learning rate, a tensor of several, and what is no number."""
    if isinstance(lr, _C.Tensor) and lr.numel() != 1:
        raise ValueError(
            f"Tensor lr must be 1-element; it has shape {list(lr.shape)}, and rates of their own are for groups: "
            "[{'params': ..., 'lr': ...}, ...]"
        )
    if isinstance(lr, str):
        raise TypeError(
            f"'<' not supported between instances of 'str' and 'float'; lr is {lr!r}: convert it with float()"
        )
    if not lr >= 0.0:
        raise ValueError(f"{text.format(lr)}; it must be a number, 0 or more (maximize=True climbs)")


def _not_iterable(params, error):
    """What to give an optimizer in the place of something that is no list of parameters."""
    kind = type(params).__name__
    if hasattr(params, "parameters"):
        return TypeError(f"{error}; give the optimizer its parameters: {kind.lower()}.parameters()")
    if callable(params):
        return TypeError(f"{error}; call it: {getattr(params, '__name__', 'parameters')}()")
    return TypeError(f"{error}; the optimizer takes a list of Tensors, or of dicts of options")


def _why_empty(params, source):
    """Why there are no parameters, as the end of an error; `source` is the frame of a generator before it ran."""
    if source is None:
        return "; the iterator was used up before; make a list of it first, list(model.parameters())"
    module = getattr(source, "f_locals", {}).get("self")
    for name, value in vars(module).items() if hasattr(module, "_modules") else ():
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        if not name.startswith("_") and any(hasattr(each, "_modules") for each in values):
            kind = "ModuleDict" if isinstance(value, dict) else "ModuleList"
            return (
                f"; {type(module).__name__} keeps modules in the plain {type(value).__name__} {name!r}, where they are "
                f"not found; use torch.nn.{kind}"
            )
    return "; nothing to train: parameters are torch.nn.Parameter attributes of a module and of its submodules"


def check_not_negative(**values):
    """Refuses negative options; the message calls eps "epsilon" as the papers do."""
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_pair(name, value, meaning):
    """Refuses an option that does not have the two numbers that it is made of."""
    if not isinstance(value, tuple | list | _C.Tensor) or len(value) < 2:
        raise ValueError(f"Invalid {name}: expected {meaning}; got {value}")


def check_betas(betas):
    """Refuses decay rates outside [0, 1)."""
    check_pair("betas", betas, "two decay rates")
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}; betas lie in [0, 1)")


def check_fused(fused, foreach, differentiable):
    """Refuses choices of torch's implementations that exclude each other; here one native pass serves them all."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
