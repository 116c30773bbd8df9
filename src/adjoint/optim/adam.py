"""Adam: steps scaled by running means of the gradient and of its square."""

from .. import _C
from .decay import follow
from .elementwise import Elementwise, number_state, zeros_like
from .language import addcdiv, addcmul, item, lerp, maximum, rule, sqrt
from .optimizer import check_betas, check_fused, check_lr, check_not_negative


@rule
def adam(
    step, /, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, *,
    lr, beta1, beta2, eps, weight_decay, maximize, decoupled_weight_decay, amsgrad=False,
):  # fmt: skip
    """m, v: running means of g, g^2; both are corrected for their start at zero; p = p - lr m / (sqrt(v) + eps)."""
    step = step + 1
    t = item(step)
    param, grad = follow(
        param, grad, maximize=maximize, weight_decay=weight_decay, lr=lr, decoupled_weight_decay=decoupled_weight_decay
    )
    exp_avg = lerp(exp_avg, grad, 1 - beta1)
    exp_avg_sq = addcmul(exp_avg_sq * beta2, grad, grad, value=1 - beta2)
    largest = exp_avg_sq
    if amsgrad:
        largest = max_exp_avg_sq = maximum(max_exp_avg_sq, exp_avg_sq)
    denominator = sqrt(largest) / (1 - beta2**t) ** 0.5 + eps
    param = addcdiv(param, exp_avg, denominator, value=-lr / (1 - beta1**t))
    return step, param, exp_avg, exp_avg_sq, max_exp_avg_sq


class Adam(Elementwise):
    """Steps scaled by running means of the gradient and of its square.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    _rule = adam
    _refuses_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *,
        foreach=None, maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False,
    ):  # fmt: skip
        _refuse_tensors("lr", lr, foreach, capturable)
        check_lr(lr)
        check_not_negative(eps=eps)
        check_betas(betas)
        check_not_negative(weight_decay=weight_decay)
        if isinstance(betas[0], _C.Tensor) != isinstance(betas[1], _C.Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for i in range(2):
            _refuse_tensors(f"betas[{i}]", betas[i], foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _flags(self, group):
        return {"amsgrad": bool(group["amsgrad"])}

    def _new_state(self, param, group):
        state = {"step": number_state(0, param, group), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)
        return state


def _refuse_tensors(name, value, foreach, capturable):
    if isinstance(value, _C.Tensor) and foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
