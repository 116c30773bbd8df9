"""Elementwise: the optimizers whose update is a rule. One native pass per group; the rule itself for what is left."""

import functools
import itertools

from .. import _C
from ..autograd.grad_mode import set_grad_enabled
from ..ops import language as _ops
from .declaration import Rule
from .optimizer import Optimizer, checked_state, evaluate

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


def number_state(value, param=None, group=None):
    """A number as a 0-d state, such as `step`: on the parameter's GPU where its group asks for that."""
    dtype = _C.float64 if _C.get_default_dtype() == _C.float64 else _C.float32
    state = _C.tensor(float(value), dtype=dtype)
    return state if param is None else state.to(_place_of_numbers(param, group))


def _place_of_numbers(param, group):
    """The device of a parameter's 0-d states. There, a step can be captured in a graph; here, it costs no launch."""
    return param.device if param.is_cuda and (group.get("capturable") or group.get("fused")) else "cpu"


def _is_captured(params):
    """Whether what is done to parameters goes into a graph of a GPU."""
    return bool(params) and params[0].is_cuda and _C._cuda_capturing(params[0].get_device())


def as_number_states(states, names):
    """Turns the numbers that older versions kept as Python numbers into 0-d states."""
    for state in states.values():
        for name in names if isinstance(state, dict) else ():
            if name in state and not isinstance(state[name], _C.Tensor):
                if not hasattr(state[name], "__float__"):
                    raise TypeError(
                        f"expected the state {name!r} of a parameter to be a number or a tensor; got "
                        f"{type(state[name]).__name__}; load a state_dict of this optimizer"
                    )
                state[name] = number_state(state[name])


class Elementwise(Optimizer):
    """Base of the optimizers that have a rule; see declaration.py."""

    _rule: Rule
    _refuses_sparse = "{} does not support sparse gradients"

    def _sparse_step(self, param, group, state, first):
        """A step of a parameter that has a sparse gradient, by those optimizers that take it."""
        raise NotImplementedError

    def _check_sparse(self, group):
        """Refuses sparse gradients, where there is no step for them."""
        if type(self)._sparse_step is Elementwise._sparse_step:
            raise RuntimeError(self._refuses_sparse.format(type(self).__name__))

    def _flags(self, group):
        """The flags of the rule for a group."""
        return {}

    def _new_state(self, param, group):
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def _init_state(self, group, made, param):
        """Gives a parameter its first state, and notes what there was; a state that was tampered with is left alone."""
        state = self.state[param]
        if not state:
            made[param] = {}
            state.update(self._new_state(param, group))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in LATE_OPTIONS.items():
                if name in self.defaults:
                    group.setdefault(name, value)
        as_number_states(self.state, self._rule.kept)
        for group in self.param_groups:
            for param in group["params"] if self._rule.kept else ():
                state = self.state.get(param)
                if param.is_cuda and isinstance(state, dict):
                    kept = {name: state[name] for name in self._rule.kept if isinstance(state.get(name), _C.Tensor)}
                    state.update({name: value.to(_place_of_numbers(param, group)) for name, value in kept.items()})

    def step(self, closure=None):
        """Updates all parameters that have a gradient; returns what `closure`, which computes the loss, returns.

        A step that fails, for want of memory as it may be, changes nothing.
        """
        loss = evaluate(closure)
        made: dict = {}  # parameters that get their first state, and what they had before
        rest = _Rest(self)
        groups = []
        for group in self.param_groups:
            # A graph would repeat the step of the number that is counted here, and count no further.
            if group.get("capturable") is False and not group.get("fused") and _is_captured(group["params"]):
                raise RuntimeError(
                    f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__} but "
                    "param_groups' capturable is False; make the optimizer with capturable=True"
                )
            kernel = self._rule.kernel(self._flags(group))
            init = functools.partial(self._init_state, group, made)
            numbers = self._rule.group_numbers(group)
            groups.append((kernel, group["params"], numbers, init, bool(group["differentiable"])))
        try:
            _C._optimizer_step(groups, self.state, rest.rehearse)
        except BaseException:
            for param, before in made.items():
                del self.state[param]
                if before:
                    self.state[param] = before
            raise
        rest.write()
        return loss


class _Rest:
    """The rule itself for the parameters that the native pass leaves. What can fail for want of memory comes first."""

    def __init__(self, optimizer):
        self.rule = optimizer._rule
        self.optimizer = optimizer
        self.results = []  # of each group: whether it is recorded, and of each parameter the tensors and their values
        self.sparse = []  # (parameter, its group, whether this is its first step) of those with sparse gradients

    def rehearse(self, left):
        """Looks at the parameters that are left: a list of (param, first) for each group.

        Differentiable updates are computed here. Of others, the largest of each kind is tried out, which asks for the
        memory that any of them will need: to keep all results until they are written would take several times that of
        the parameters.
        """
        for group, params in zip(self.optimizer.param_groups, left, strict=True):
            params = [pair for pair in params if not self._is_sparse(pair, group)]
            if not params:
                continue
            recorded = bool(group["differentiable"])
            flags = self.optimizer._flags(group)
            names = _C._update_states(self.rule.kernel(flags))
            states = [self._checked_state(param, names) for param, _ in params]
            numbers = _as_arguments(self.rule, self.rule.group_numbers(group), flags, recorded)
            compute = functools.partial(self._compute, numbers)
            ready = [(param, first, state) for (param, first), state in zip(params, states, strict=True)]
            results = itertools.starmap(compute, ready)
            with set_grad_enabled(recorded):
                if recorded:
                    results = list(results)
                else:
                    for arguments in _largest(ready):
                        compute(*arguments)
            self.results.append((recorded, results))

    def _is_sparse(self, pair, group):
        """Whether a parameter has a sparse gradient; then it is kept for later, or refused."""
        if pair[0].grad.layout is _C.strided:
            return False
        self.optimizer._check_sparse(group)
        self.sparse.append((pair[0], group, pair[1]))
        return True

    def _checked_state(self, param, names):
        shapes = {name: () if name in self.rule.kept else param.shape for name in names}
        return checked_state(self.optimizer.state.get(param, {}), shapes)

    def write(self):
        """Gives the tensors their new values."""
        for recorded, results in self.results:
            with set_grad_enabled(recorded):
                for pairs in results:
                    _write(pairs)
        with set_grad_enabled(False):
            for param, group, first in self.sparse:
                self.optimizer._sparse_step(param, group, self.optimizer.state[param], first)

    def _compute(self, numbers, param, first, state):
        """The tensors of a parameter that the rule changes, each with its new value."""
        rule = self.rule
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
        triples = zip(targets, values, results, strict=True)
        return [(target, result) for target, value, result in triples if result is not value]


def _write(pairs):
    """Gives tensors their values, and drops these, so that their memory is there for the next parameter."""
    while pairs:
        target, value = pairs.pop(0)
        # A number goes by way of the type that states of numbers have, also where a loaded state has another.
        target.copy_(value if isinstance(value, _C.Tensor) else number_state(value))


def _largest(ready):
    """The largest parameter of each kind, with what belongs to it: of a kind, the rule does the same things."""
    found: dict = {}
    for arguments in ready:
        param, first, _ = arguments
        kind = param.dtype, first
        if kind not in found or found[kind][0].nbytes < param.nbytes:
            found[kind] = arguments
    return found.values()


def _as_arguments(rule, numbers, flags, differentiable):
    """Numbers and flags by name. Only a differentiable step leaves tensors, which may require grad, as they are."""
    if not differentiable:
        numbers = [value.item() if isinstance(value, _C.Tensor) else value for value in numbers]
    return dict(zip(rule.numbers, numbers, strict=True)) | flags
