"""ASGD: gradient descent with the average of its parameters."""

from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import add, item, rule, where
from .optimizer import check_lr, check_not_negative


@rule
def asgd(step, eta, mu, /, param, grad, ax, *, lr, lambd, alpha, t0, weight_decay, maximize):
    """p = (1 - lambd eta) p - eta g with a decaying eta; from step t0 on, ax is the mean of the parameters."""
    step = step + 1
    t = item(step)
    rate, weight = item(eta), item(mu)
    param, grad = follow(param, grad, maximize=maximize, weight_decay=weight_decay)
    param = add(param * (1 - lambd * rate), grad, alpha=-rate)
    ax = where(weight != 1, ax + (param - ax) * weight, param)
    return step, lr / (1 + lambd * lr * t) ** alpha, 1 / where(t - t0 > 1, t - t0, 1), param, ax


class ASGD(Elementwise):
    """Gradient descent that also keeps the average of its parameters, in `state[p]["ax"]`.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.ASGD([w]).defaults["t0"]
    1000000.0
    """

    _rule = asgd

    def __init__(
        self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
        differentiable=False, capturable=False,
    ):  # fmt: skip
        check_lr(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {
            "step": number_state(0, param, group),
            "eta": number_state(group["lr"], param, group),
            "mu": number_state(1, param, group),
            "ax": zeros_like(param),
        }
