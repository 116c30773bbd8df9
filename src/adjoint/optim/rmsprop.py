"""RMSprop: steps scaled by a running mean of the gradient's square."""

from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import add, addcdiv, addcmul, lerp, rule, sqrt
from .optimizer import check_lr, check_not_negative


@rule
def rmsprop(
    step, /, param, grad, square_avg, momentum_buffer, grad_avg, *,
    lr, alpha, eps, weight_decay, momentum, maximize, with_momentum=False, centered=False,
):  # fmt: skip
    """v: running mean of g^2, less the square of the mean of g if centered; p = p - lr g / (sqrt(v) + eps)."""
    param, grad = follow(param, grad, maximize=maximize, weight_decay=weight_decay)
    square_avg = addcmul(square_avg * alpha, grad, grad, value=1 - alpha)
    variance = square_avg
    if centered:
        grad_avg = lerp(grad_avg, grad, 1 - alpha)
        variance = addcmul(square_avg, grad_avg, grad_avg, value=-1)
    deviation = sqrt(variance) + eps
    if with_momentum:
        momentum_buffer = addcdiv(momentum_buffer * momentum, grad, deviation)
        param = add(param, momentum_buffer, alpha=-lr)
    else:
        param = addcdiv(param, grad, deviation, value=-lr)
    return step + 1, param, square_avg, momentum_buffer, grad_avg


class RMSprop(Elementwise):
    """Steps scaled by a running mean of the gradient's square, with momentum or centered if wanted.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.RMSprop([w]).defaults["alpha"]
    0.99
    """

    _rule = rmsprop

    def __init__(
        self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
        foreach=None, maximize=False, differentiable=False,
    ):  # fmt: skip
        check_lr(lr)
        check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _flags(self, group):
        return {"with_momentum": group["momentum"] > 0, "centered": bool(group["centered"])}

    def _new_state(self, param, group):
        state = {"step": number_state(0, param, group), "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state
