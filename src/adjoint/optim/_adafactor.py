"""Adafactor: Adam's scaling in little memory: of a matrix, only means of rows and columns are kept."""

from .._type_info import finfo
from ..autograd.grad_mode import no_grad
from .elementwise import as_number_states, number_state
from .optimizer import Optimizer, check_lr, check_pair, checked_state, evaluate, refuse_sparse

_STATES = ("step", "row_var", "col_var", "variance")


class Adafactor(Optimizer):
    """Steps scaled by an estimate of the mean square of the gradient that has rank one.

    >>> import adjoint as torch
    >>> w = torch.ones(2, 3, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w])
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> list(optimizer.state[w])
    ['step', 'row_var', 'col_var']
    """

    def __init__(
        self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *,
        foreach=None, maximize=False,
    ):  # fmt: skip
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check_pair("eps", eps, "two numbers, the first of which may be None")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
        as_number_states(self.state, ["step"])

    @no_grad()
    def step(self, closure=None):
        """Updates all parameters that have a gradient; returns what `closure`, which computes the loss, returns.

        A step that fails, for want of memory as it may be, changes nothing.
        """
        loss = evaluate(closure)
        refuse_sparse(self)
        changes = [
            (group, param, *self._change(param, -param.grad if group["maximize"] else param.grad, group))
            for group in self.param_groups
            for param in group["params"]
            if param.grad is not None
        ]
        for group, param, state, update, length in changes:
            own = self.state[param]
            for name in filter(state.__contains__, _STATES):
                own.setdefault(name, state[name]).copy_(state[name])
            if group["weight_decay"] != 0:
                param.mul_(1 - float(group["lr"]) * group["weight_decay"])
            param.add_(update, alpha=-length)
        return loss

    def _change(self, param, grad, group):
        """The new state of a parameter, the direction of its update and the length of that."""
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        new = _new_state(grad)
        state = checked_state(self.state.get(param) or new, {name: value.shape for name, value in new.items()})
        state["step"] = state["step"] + 1
        t = state["step"].item()
        tiny = finfo(param.dtype).eps if group["eps"][0] is None else group["eps"][0]
        # In relation to the size of the weights, and ever smaller.
        length = max(group["eps"][1], _mean_size(param).item()) * min(float(group["lr"]), 1 / t**0.5)
        update = _variance(grad, state, t ** group["beta2_decay"], tiny).clamp(min=tiny * tiny).rsqrt() * grad
        return state, update, length / max(1.0, _mean_size(update).item() / group["d"])


def _new_state(grad):
    """The state of a parameter before its first step."""
    step = number_state(0)
    if grad.dim() < 2:
        return {"step": step, "variance": grad.new_zeros(grad.shape)}
    rows, columns = (*grad.shape[:-1], 1), (*grad.shape[:-2], 1, grad.shape[-1])
    return {"step": step, "row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(columns)}


def _mean_size(tensor):
    """The root of the mean of squares."""
    return tensor.norm(2) / tensor.numel() ** 0.5


def _variance(grad, state, weight, tiny):
    """Estimates of the mean square of each element: those in `state`, moved by `weight` towards the gradient's."""
    if grad.dim() < 2:
        state["variance"] = state["variance"].lerp(grad * grad, weight)
        return state["variance"]
    for name, dim in (("row_var", -1), ("col_var", -2)):
        state[name] = state[name].lerp(grad.norm(dim=dim, keepdim=True).square() / grad.size(dim), weight)
    rows, columns = state["row_var"], state["col_var"]
    return rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=tiny)
