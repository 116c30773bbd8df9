"""SGD: gradient descent, with momentum."""

from .. import _C
from .decay import follow
from .elementwise import Elementwise, zeros_like
from .language import add, rule, where
from .optimizer import check_fused, check_lr, check_not_negative, evaluate


@rule
def sgd(
    param, grad, momentum_buffer, *,
    first, lr, momentum, dampening, weight_decay, nesterov, maximize, with_momentum=False,
):  # fmt: skip
    """v = momentum v + (1 - dampening) g; p = p - lr v, or with Nesterov p - lr (g + momentum v)."""
    param, grad = follow(param, grad, maximize=maximize, weight_decay=weight_decay)
    if with_momentum:
        momentum_buffer = where(first, grad, add(momentum_buffer * momentum, grad, alpha=1 - dampening))
        grad = where(nesterov, add(grad, momentum_buffer, alpha=momentum), momentum_buffer)
    return add(param, grad, alpha=-lr), momentum_buffer


class SGD(Elementwise):
    """Gradient descent, with momentum, Nesterov momentum and weight decay if wanted.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    _rule = sgd

    def __init__(
        self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
        maximize=False, foreach=None, differentiable=False, fused=None,
    ):  # fmt: skip
        check_lr(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _flags(self, group):
        return {"with_momentum": group["momentum"] != 0}

    def _sparse_step(self, param, group, state, first):
        grad = -param.grad if group["maximize"] else param.grad
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])  # which refuses: the result would be dense
        if group["momentum"] != 0:
            buffer = state["momentum_buffer"]
            if first or buffer.layout is _C.strided:
                buffer = state["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        param.add_(grad, alpha=-float(group["lr"]))

    def _init_state(self, group, made, param):
        made[param] = dict(self.state[param])
        self.state[param]["momentum_buffer"] = zeros_like(param)  # torch's state files may hold None

    def step(self, closure=None):
        """As that of any optimizer. Parameters of a class with an `add_` of its own, such as poses, are moved by it."""
        from ..autograd.grad_mode import no_grad  # here: the generator reads this file without the extension
        from ..nn.parameter import Parameter

        plain = {_C.Tensor, Parameter}  # moved by sums of their numbers
        moving = [
            (param, group)
            for group in self.param_groups
            if not plain.issuperset(map(type, group["params"])) and not group["differentiable"]
            for param in group["params"]
            if type(param).add_ is not _C.Tensor.add_
        ]
        if not moving:
            return super().step(closure)
        loss = evaluate(closure)
        gradients = [param.grad for param, _ in moving]
        for param, _ in moving:
            param.grad = None  # so that the others alone take the common step
        try:
            super().step()
        finally:
            for (param, _), grad in zip(moving, gradients, strict=True):
                param.grad = grad
        with no_grad():
            for (param, group), grad in zip(moving, gradients, strict=True):
                if grad is not None:
                    param.add_(self._direction(param, grad, group), alpha=-float(group["lr"]))
        return loss

    def _direction(self, param, grad, group):
        """What the parameter is moved along: the rule above, but for its last line."""
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if not momentum:
            return grad
        buffer = self.state[param].get("momentum_buffer")
        if buffer is None:
            buffer = self.state[param]["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        return grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
