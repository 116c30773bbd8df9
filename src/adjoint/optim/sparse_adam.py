"""SparseAdam: Adam for sparse gradients, which this library does not have yet."""

from .optimizer import Optimizer, check_betas, check_lr, evaluate


class SparseAdam(Optimizer):
    """Adam for sparse gradients. There are none here: `step` raises, and says to use Adam.

    >>> import adjoint as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> torch.optim.SparseAdam([w]).defaults["eps"]
    1e-08
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def step(self, closure=None):
        """Refuses gradients, since none of them is sparse; returns what `closure` returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            if any(param.grad is not None for param in group["params"]):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
