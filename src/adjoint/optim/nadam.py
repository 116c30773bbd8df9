"""NAdam: Adam with Nesterov momentum."""

from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import addcdiv, addcmul, item, lerp, rule, sqrt, tracked_item
from .optimizer import check_betas, check_lr, check_not_negative


@rule
def nadam(
    step, mu_product, /, param, grad, exp_avg, exp_avg_sq, *,
    lr, beta1, beta2, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize,
):  # fmt: skip
    """Adam's means; the step looks ahead by a momentum mu that grows to beta1; mu_product corrects for the start."""
    step = step + 1
    t = item(step)
    mu = beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay))
    mu_next = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * momentum_decay))
    mu_product = mu_product * mu
    product = tracked_item(mu_product)
    param, grad = follow(
        param, grad, maximize=maximize, weight_decay=weight_decay, lr=lr, decoupled_weight_decay=decoupled_weight_decay
    )
    exp_avg = lerp(exp_avg, grad, 1 - beta1)
    exp_avg_sq = addcmul(exp_avg_sq * beta2, grad, grad, value=1 - beta2)
    denominator = sqrt(exp_avg_sq / (1 - beta2**t)) + eps
    param = addcdiv(param, grad, denominator, value=-lr * (1 - mu) / (1 - product))
    param = addcdiv(param, exp_avg, denominator, value=-lr * mu_next / (1 - product * mu_next))
    return step, mu_product, param, exp_avg, exp_avg_sq


class NAdam(Elementwise):
    """Adam with Nesterov momentum.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.NAdam([w]).defaults["momentum_decay"]
    0.004
    """

    _rule = nadam

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
        decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {
            "step": number_state(0, param, group),
            "mu_product": number_state(1, param, group),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }
