"""Adadelta: steps in the units of the parameter, without a learning rate to tune."""

from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import add, addcmul, rule, sqrt
from .optimizer import check_lr, check_not_negative


@rule
def adadelta(step, /, param, grad, square_avg, acc_delta, *, lr, rho, eps, weight_decay, maximize):
    """v: running mean of g^2; d = g sqrt(u + eps) / sqrt(v + eps); u: running mean of d^2; p = p - lr d."""
    param, grad = follow(param, grad, maximize=maximize, weight_decay=weight_decay)
    square_avg = addcmul(square_avg * rho, grad, grad, value=1 - rho)
    delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * grad
    acc_delta = addcmul(acc_delta * rho, delta, delta, value=1 - rho)
    return step + 1, add(param, delta, alpha=-lr), square_avg, acc_delta


class Adadelta(Elementwise):
    """Steps in the units of the parameter, from running means of the squares of gradients and of steps.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.Adadelta([w]).defaults["rho"]
    0.9
    """

    _rule = adadelta

    def __init__(
        self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
        capturable=False, maximize=False, differentiable=False,
    ):  # fmt: skip
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": number_state(0, param, group), "square_avg": zeros_like(param), "acc_delta": zeros_like(param)}
