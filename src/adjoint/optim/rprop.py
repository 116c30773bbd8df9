"""Rprop: steps of the gradient's sign, longer while the sign holds."""

from .elementwise import Elementwise, full_like, number_state, zeros_like
from .language import addcmul, clamp_max, clamp_min, rule, sign, where
from .optimizer import check_lr, check_pair


@rule
def rprop(step, /, param, grad, prev, step_size, *, eta_minus, eta_plus, step_size_min, step_size_max, maximize):
    """The step size of each element grows while its gradient keeps its sign, and shrinks when it turns."""
    grad = where(maximize, -grad, grad)
    agreement = grad * prev
    shorter = where(agreement < 0, step_size * eta_minus, step_size)
    step_size = where(agreement > 0, step_size * eta_plus, shorter)
    step_size = clamp_max(clamp_min(step_size, step_size_min), step_size_max)
    # Where the sign turned, this step is left out, and the next one starts anew.
    grad = where(agreement < 0, 0.0, grad)
    return step + 1, addcmul(param, sign(grad), step_size, value=-1), grad, step_size


class Rprop(Elementwise):
    """Steps of the gradient's sign alone, longer while the sign holds; for whole batches.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> torch.optim.Rprop([w]).defaults["etas"]
    (0.5, 1.2)
    """

    _rule = rprop

    def __init__(
        self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *,
        capturable=False, foreach=None, maximize=False, differentiable=False,
    ):  # fmt: skip
        check_lr(lr)
        check_pair("etas", etas, "the factors that step sizes shrink and grow by")
        check_pair("step_sizes", step_sizes, "the smallest and the largest step size")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        lr = float(group["lr"])
        start = full_like(param, complex(lr, lr) if param.is_complex() else lr)
        return {"step": number_state(0, param, group), "prev": zeros_like(param), "step_size": start}
