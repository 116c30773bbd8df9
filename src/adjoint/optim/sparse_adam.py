"""SparseAdam: Adam for sparse gradients, which moves the elements that have one, and their states, alone."""

from .. import _C
from ..autograd.grad_mode import no_grad
from ..ops import language as _ops
from .optimizer import Optimizer, check_betas, check_lr, evaluate


class SparseAdam(Optimizer):
    """Adam for sparse gradients, such as those of Embedding(sparse=True): what has no entry is left alone.

    >>> import adjoint as torch
    >>> table = torch.nn.Embedding(5, 2, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters())
    >>> table(torch.tensor([1, 3])).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[table.weight]["step"]
    1
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, param in enumerate(group["params"])
            if param.layout is not _C.strided
        ]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    def step(self, closure=None):
        """Updates the parameters that have a gradient; returns what `closure`, which computes the loss, returns."""
        loss = evaluate(closure)
        moved = [(p, group) for group in self.param_groups for p in group["params"] if p.grad is not None]
        for param, _ in moved:
            if param.grad.layout is _C.strided:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        with no_grad():
            for param, group in moved:
                self._step(param, group)
        return loss

    def _step(self, param, group):
        """m, v: running means of g, g^2 of the elements that have one; p = p - lr m / (sqrt(v) + eps), corrected."""
        state = self.state[param]
        if not state:
            state.update(step=0, exp_avg=_ops.zeros_like(param), exp_avg_sq=_ops.zeros_like(param))
        state["step"] += 1
        grad = param.grad.coalesce()
        values = -grad.values() if group["maximize"] else grad.values()
        if values.numel() == 0:
            return
        beta1, beta2 = group["betas"]
        sparse, means = _C._sparse_pattern(grad).tensor, []
        for name, target, beta in (("exp_avg", values, beta1), ("exp_avg_sq", values * values, beta2)):
            before = state[name].sparse_mask(grad).values()
            change = (target - before) * (1 - beta)
            state[name].add_(sparse(change))
            means.append(before + change)
        denominator = means[1].sqrt_().add_(group["eps"])
        step = float(group["lr"]) * (1 - beta2 ** state["step"]) ** 0.5 / (1 - beta1 ** state["step"])
        param.add_(sparse(means[0] / denominator), alpha=-step)
