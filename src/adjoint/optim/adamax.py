"""Adamax: Adam with the largest recent gradient in the place of the mean square."""

from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import abs, addcdiv, item, lerp, maximum, rule
from .optimizer import check_betas, check_lr, check_not_negative


@rule
def adamax(step, /, param, grad, exp_avg, exp_inf, *, lr, beta1, beta2, eps, weight_decay, maximize):
    """m: running mean of g; u = max(beta2 u, |g| + eps); p = p - lr m / u, corrected for the start of m."""
    step = step + 1
    t = item(step)
    param, grad = follow(param, grad, maximize=maximize, weight_decay=weight_decay)
    exp_avg = lerp(exp_avg, grad, 1 - beta1)
    exp_inf = maximum(exp_inf * beta2, abs(grad) + eps)
    return step, addcdiv(param, exp_avg, exp_inf, value=-lr / (1 - beta1**t)), exp_avg, exp_inf


class Adamax(Elementwise):
    """Adam with the largest recent gradient in the place of the mean square.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.Adamax([w]).defaults["lr"]
    0.002
    """

    _rule = adamax

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *,
        maximize=False, differentiable=False, capturable=False,
    ):  # fmt: skip
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": number_state(0, param, group), "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}
