"""RAdam: Adam that waits until its estimate of the variance can be trusted."""

from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import add, addcmul, item, lerp, rule, sqrt, where
from .optimizer import check_betas, check_lr, check_not_negative


@rule
def radam(
    step, /, param, grad, exp_avg, exp_avg_sq, *,
    lr, beta1, beta2, eps, weight_decay, decoupled_weight_decay, maximize,
):  # fmt: skip
    """Adam's means; rho is the length of the average behind v: up to 5 the step is m alone, then it is rectified."""
    step = step + 1
    t = item(step)
    param, grad = follow(
        param, grad, maximize=maximize, weight_decay=weight_decay, lr=lr, decoupled_weight_decay=decoupled_weight_decay
    )
    exp_avg = lerp(exp_avg, grad, 1 - beta1)
    exp_avg_sq = addcmul(exp_avg_sq * beta2, grad, grad, value=1 - beta2)
    rho_limit = 2 / (1 - beta2) - 1
    rho = rho_limit - 2 * t * beta2**t / (1 - beta2**t)
    # Below 5 these are not used, and 6 stands for what may be zero or negative there.
    longer, limit = where(rho > 5, rho, 6), where(rho > 5, rho_limit, 6)
    rectification = ((longer - 4) * (longer - 2) * limit / ((limit - 4) * (limit - 2) * longer)) ** 0.5
    mean = exp_avg / (1 - beta1**t) * lr
    scaled = mean * ((1 - beta2**t) ** 0.5 / (sqrt(exp_avg_sq) + eps)) * rectification
    return step, add(param, where(rho > 5, scaled, mean), alpha=-1.0), exp_avg, exp_avg_sq


class RAdam(Elementwise):
    """Adam that waits until its estimate of the variance can be trusted.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.RAdam([w]).defaults["lr"]
    0.001
    """

    _rule = radam

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
        foreach=None, maximize=False, capturable=False, differentiable=False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {"step": number_state(0, param, group), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}
