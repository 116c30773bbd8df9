"""Muon: momentum whose steps are made orthogonal, for matrices."""

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops import language as _ops
from .optimizer import Optimizer, check_lr, checked_state, evaluate, refuse_sparse

MOST_STEPS = 100


class Muon(Optimizer):
    """Momentum whose step is replaced by the nearest matrix with orthogonal rows or columns, nearly.

    For the matrices of hidden layers; all else is for another optimizer.

    >>> import adjoint as torch
    >>> w = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w])
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> list(optimizer.state[w])
    ['momentum_buffer']
    """

    def __init__(
        self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-7, ns_steps=5, adjust_lr_fn=None,
    ):  # fmt: skip
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        for name, value in (("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported; use 'original' or 'match_rms_adamw'"
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                _check_matrix(param)

    @no_grad()
    def step(self, closure=None):
        """Updates all parameters that have a gradient; returns what `closure`, which computes the loss, returns.

        A step that fails, for want of memory as it may be, changes nothing.
        """
        loss = evaluate(closure)
        refuse_sparse(self)
        changes = [
            (group, param, *self._change(param, param.grad, group))
            for group in self.param_groups
            for param in group["params"]
            if param.grad is not None
        ]
        for group, param, buffer, update, length in changes:
            self.state[param].setdefault("momentum_buffer", buffer).copy_(buffer)
            param.mul_(1 - float(group["lr"]) * group["weight_decay"])
            param.add_(update, alpha=-length)
        return loss

    def _change(self, param, grad, group):
        """The new momentum of a parameter, the direction of its update and the length of that."""
        _check_matrix(param)
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state = self.state.get(param, {})
        if isinstance(state, dict) and "momentum_buffer" not in state:
            state = {"momentum_buffer": _ops.zeros_like(grad)}
        buffer = checked_state(state, {"momentum_buffer": grad.shape})["momentum_buffer"]
        buffer = _ops.lerp(buffer, grad, 1 - group["momentum"])
        update = _ops.lerp(grad, buffer, group["momentum"]) if group["nesterov"] else buffer
        update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        return buffer, update.to(param.dtype), _adjusted(float(group["lr"]), group["adjust_lr_fn"], param.shape)


def _check_matrix(param):
    if param.ndim != 2:
        raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}")


def orthogonal(matrix, coefficients, steps, eps):
    """Nearly the orthogonal factor of a matrix, by Newton-Schulz iterations in bfloat16.

    >>> import adjoint as torch
    >>> from adjoint.optim._muon import orthogonal
    >>> orthogonal(torch.eye(2), (3.4445, -4.775, 2.0315), 5, 1e-7).shape
    torch.Size([2, 2])
    """
    if steps >= MOST_STEPS:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    result = matrix.to(_C.bfloat16)
    if tall:
        result = result.T
    result = result / result.norm().clamp(min=eps)
    for _ in range(steps):
        gram = result @ result.T
        result = _ops.addmm(result, _ops.addmm(gram, gram, gram, beta=b, alpha=c), result, beta=a)
    return result.T if tall else result


def _adjusted(lr, way, shape):
    """The learning rate for a matrix of this shape: so that updates have one size, or that of AdamW's."""
    rows, columns = shape
    if way == "match_rms_adamw":
        return lr * 0.2 * max(rows, columns) ** 0.5
    if not columns:
        raise ZeroDivisionError(f"division by zero: Muon expects matrices with columns; got a size of {list(shape)}")
    return lr * max(1, rows / columns) ** 0.5
