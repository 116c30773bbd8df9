"""Elementwise: the optimizers whose update is a rule. One native pass per group; the rule itself for what is left."""

import functools

from .. import _C
from ..autograd.grad_mode import set_grad_enabled
from ..ops import language as _ops
from .declaration import Rule
from .optimizer import Optimizer, evaluate

zeros_like, full_like = _ops.zeros_like, _ops.full_like

# Options that state files of torch's older versions lack, and what they mean there.
LATE_OPTIONS = {
    "amsgrad": False,
    "nesterov": False,
    "centered": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "decoupled_weight_decay": False,
    "fused": None,
}


def number_state(value):
    """A number as a 0-d state, such as `step`."""
    dtype = _C.float64 if _C.get_default_dtype() == _C.float64 else _C.float32
    return _C.tensor(float(value), dtype=dtype)


def as_number_states(states, names):
    """Turns the numbers that older versions kept as Python numbers into 0-d states."""
    for state in states.values():
        for name in names if isinstance(state, dict) else ():
            if name in state and not isinstance(state[name], _C.Tensor):
                state[name] = number_state(state[name])


class Elementwise(Optimizer):
    """Base of the optimizers that have a rule; see declaration.py."""

    _rule: Rule

    def _flags(self, group):
        """The flags of the rule for a group."""
        return {}

    def _new_state(self, param, group):
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def _init_state(self, group, param):
        """Gives a parameter its first state; one that has been tampered with is left as it is."""
        state = self.state[param]
        if not state:
            state.update(self._new_state(param, group))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in LATE_OPTIONS.items():
                if name in self.defaults:
                    group.setdefault(name, value)
        as_number_states(self.state, self._rule.kept)

    def step(self, closure=None):
        """Updates all parameters that have a gradient; returns what `closure`, which computes the loss, returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            flags = self._flags(group)
            numbers = self._rule.group_numbers(group)
            kernel = self._rule.kernel(flags)
            differentiable = bool(group["differentiable"])
            init = functools.partial(self._init_state, group)
            left = _C._optimizer_step(kernel, group["params"], self.state, numbers, init, differentiable)
            if left:
                numbers = _as_arguments(self._rule, numbers, flags, differentiable)
                with set_grad_enabled(differentiable):
                    for param, first in left:
                        self._apply_rule(param, first, _C._update_states(kernel), numbers)
        return loss

    def _apply_rule(self, param, first, names, numbers):
        """The rule on the tensors of one parameter; `names` are the states that it uses."""
        rule = self._rule
        state = _checked_state(self.state[param], names, rule, param)
        targets = [state.get(name) for name in rule.kept]
        arrays = [param, *(state.get(name) for name in rule.arrays[2:])]
        grad = param.grad
        if param.is_complex():
            arrays = [array if array is None else _ops.view_as_real(array) for array in arrays]
            grad = _ops.view_as_real(grad)
        targets += arrays
        # What a differentiable step records must not be what it changes.
        values = [value.clone() if value is not None and _C.is_grad_enabled() else value for value in targets]
        if rule.wants_first:
            numbers = {**numbers, "first": first}
        split = len(rule.kept) + 1
        results = rule.function(*values[:split], grad, *values[split:], **numbers)
        for target, value, result in zip(targets, values, results, strict=True):
            if result is not value:
                target.copy_(result)


def _as_arguments(rule, numbers, flags, differentiable):
    """Numbers and flags by name. Only a differentiable step leaves tensors, which may require grad, as they are."""
    if not differentiable:
        numbers = [value.item() if isinstance(value, _C.Tensor) else value for value in numbers]
    return dict(zip(rule.numbers, numbers, strict=True)) | flags


def _checked_state(state, names, rule, param):
    """The named entries of a parameter's state, once each is a tensor of the right shape."""
    for name in names:
        if name not in state:
            raise KeyError(f"{name}: missing in the state of a parameter; load a state_dict of the same options")
        value = state[name]
        if not isinstance(value, _C.Tensor):
            raise TypeError(
                f"expected the state {name!r} of a parameter to be a tensor; got {type(value).__name__}; "
                "load a state_dict of this optimizer"
            )
        shape = () if name in rule.kept else param.shape
        if value.shape != shape:
            raise RuntimeError(
                f"The size of the state {name!r}, {list(value.shape)}, must match {list(shape)}; "
                "load a state_dict of the same parameters"
            )
    return {name: state[name] for name in names}
