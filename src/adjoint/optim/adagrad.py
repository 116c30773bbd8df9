"""Adagrad: steps scaled by all gradients so far."""

from .. import _C
from .decay import follow
from .elementwise import Elementwise, full_like, number_state
from .language import addcdiv, addcmul, item, rule, sqrt
from .optimizer import check_fused, check_lr, check_not_negative


@rule
def adagrad(step, /, param, grad, sum, *, lr, lr_decay, weight_decay, eps, maximize):
    """s = s + g^2; p = p - lr g / (sqrt(s) + eps), with an lr that decays."""
    step = step + 1
    t = item(step)
    param, grad = follow(param, grad, maximize=maximize, weight_decay=weight_decay)
    sum = addcmul(sum, grad, grad, value=1)
    return step, addcdiv(param, grad, sqrt(sum) + eps, value=-lr / (1 + (t - 1) * lr_decay)), sum


class Adagrad(Elementwise):
    """Steps scaled by the sum of the squares of all gradients so far.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.Adagrad([w]).state[w]["sum"]
    tensor([0., 0.])
    """

    _rule = adagrad

    def __init__(
        self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
        maximize=False, differentiable=False, fused=None,
    ):  # fmt: skip
        check_lr(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self._init_state(group, {}, param)

    def _check_sparse(self, group):
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    def _sparse_step(self, param, group, state, first):
        state["step"] += 1
        lr = float(group["lr"]) / (1 + (float(state["step"]) - 1) * group["lr_decay"])
        grad = (-param.grad if group["maximize"] else param.grad).coalesce()
        state["sum"].add_(grad.pow(2))
        scale = state["sum"].sparse_mask(grad).values().sqrt().add_(group["eps"])
        param.add_(_C._sparse_pattern(grad).tensor(grad.values() / scale), alpha=-lr)

    def share_memory(self):
        """Moves the state to shared memory, for training in several processes."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _new_state(self, param, group):
        start = group["initial_accumulator_value"]
        return {
            "step": number_state(0, param, group),
            "sum": full_like(param, complex(start, start) if param.is_complex() else start),
        }
