"""Steps of optimizers and of loss scaling over lists of tensors, `torch._fused_adam_` and its like.

What optimizers that are written on torch call where it has one kernel for all parameters. Here each is a few of the
functions on lists (adjoint._foreach); adjoint.optim has kernels of its own, and does not use them.
"""

from . import _C, _foreach
from .amp.grad_scaler import unscale
from .autograd import no_grad
from .ops.checks import takes_tensors

Tensor = _C.Tensor


def _unscaled(grads, grad_scale, found_inf):
    """Divides gradients, in place, by the scale; False where they are not to be used."""
    if found_inf is not None and float(found_inf) == 1:
        return False
    if grad_scale is not None:
        _foreach._foreach_div_(grads, float(grad_scale))
    return True


def _adam(decoupled):
    def step(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *,
        lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale=None, found_inf=None,
    ):  # fmt: skip
        if not self:
            return
        _check(self, grads, exp_avgs, exp_avg_sqs, state_steps)
        with no_grad():
            if not _unscaled(grads, grad_scale, found_inf):
                return
            lr = float(lr)
            slopes = _foreach._foreach_neg(grads) if maximize else grads
            if weight_decay and decoupled:
                _foreach._foreach_mul_(self, 1 - lr * weight_decay)
            elif weight_decay:
                slopes = _foreach._foreach_add(slopes, self, alpha=weight_decay)
            _foreach._foreach_lerp_(exp_avgs, slopes, 1 - beta1)
            _foreach._foreach_mul_(exp_avg_sqs, beta2)
            _foreach._foreach_addcmul_(exp_avg_sqs, slopes, slopes, 1 - beta2)
            squares = exp_avg_sqs
            if amsgrad:
                _foreach._foreach_maximum_(max_exp_avg_sqs, exp_avg_sqs)
                squares = max_exp_avg_sqs
            steps = [float(step) for step in state_steps]
            sizes = _foreach._foreach_sqrt(squares)
            _foreach._foreach_div_(sizes, [(1 - beta2**step) ** 0.5 for step in steps])
            _foreach._foreach_add_(sizes, eps)
            _foreach._foreach_addcdiv_(self, exp_avgs, sizes, [-lr / (1 - beta1**step) for step in steps])

    return step


def _check(*lists):
    if len({len(tensors) for tensors in lists}) > 1:
        raise RuntimeError(f"expected lists of one length; got lengths {[len(tensors) for tensors in lists]}")


_fused_adam_ = _adam(decoupled=False)
_fused_adam_.__name__ = _fused_adam_.__qualname__ = "_fused_adam_"
_fused_adam_.__doc__ = """A step of Adam, in place; the steps are counted by the caller.

>>> import adjoint as torch
>>> p, g, m, v, step = [torch.ones(1)], [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [torch.tensor(1.0)]
>>> options = dict(weight_decay=0.0, eps=0.0, amsgrad=False, maximize=False)
>>> torch._fused_adam_(p, g, m, v, [], step, lr=0.1, beta1=0.9, beta2=0.99, **options)
>>> p
[tensor([0.9000])]
"""
_fused_adamw_ = _adam(decoupled=True)
_fused_adamw_.__name__ = _fused_adamw_.__qualname__ = "_fused_adamw_"
_fused_adamw_.__doc__ = "A step of AdamW, in place; see _fused_adam_()."


def _fused_sgd_(
    self, grads, momentum_buffer_list, *, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step,
    grad_scale=None, found_inf=None,
):  # fmt: skip
    """A step of gradient descent, in place.

    >>> import adjoint as torch
    >>> p, options = [torch.ones(1)], dict(weight_decay=0.0, momentum=0.0, dampening=0.0, nesterov=False)
    >>> torch._fused_sgd_(p, [torch.ones(1)], [], lr=0.5, maximize=False, is_first_step=True, **options)
    >>> p
    [tensor([0.5000])]
    """
    if not self:
        return
    _check(self, grads, *([momentum_buffer_list] if momentum else ()))
    with no_grad():
        if not _unscaled(grads, grad_scale, found_inf):
            return
        slopes = _foreach._foreach_neg(grads) if maximize else grads
        if weight_decay:
            slopes = _foreach._foreach_add(slopes, self, alpha=weight_decay)
        if momentum:
            if is_first_step:
                _foreach._foreach_copy_(momentum_buffer_list, slopes)
            else:
                _foreach._foreach_mul_(momentum_buffer_list, momentum)
                _foreach._foreach_add_(momentum_buffer_list, slopes, alpha=1 - dampening)
            moved = _foreach._foreach_add(slopes, momentum_buffer_list, alpha=momentum) if nesterov else None
            slopes = moved or momentum_buffer_list
        _foreach._foreach_add_(self, slopes, alpha=-float(lr))


def _fused_adagrad_(
    self, grads, state_sums, state_steps, *, lr, lr_decay, weight_decay, eps, maximize, grad_scale=None, found_inf=None
):
    """A step of Adagrad, in place; the steps are counted by the caller.

    >>> import adjoint as torch
    >>> p, g, sums, step = [torch.ones(1)], [torch.ones(1)], [torch.zeros(1)], [torch.tensor(1.0)]
    >>> torch._fused_adagrad_(p, g, sums, step, lr=0.5, lr_decay=0.0, weight_decay=0.0, eps=0.0, maximize=False)
    >>> p
    [tensor([0.5000])]
    """
    if not self:
        return
    _check(self, grads, state_sums, state_steps)
    with no_grad():
        if not _unscaled(grads, grad_scale, found_inf):
            return
        slopes = _foreach._foreach_neg(grads) if maximize else grads
        if weight_decay:
            slopes = _foreach._foreach_add(slopes, self, alpha=weight_decay)
        _foreach._foreach_addcmul_(state_sums, slopes, slopes, 1)
        sizes = _foreach._foreach_sqrt(state_sums)
        _foreach._foreach_add_(sizes, eps)
        rates = [-float(lr) / (1 + (float(step) - 1) * lr_decay) for step in state_steps]
        _foreach._foreach_addcdiv_(self, slopes, sizes, rates)


@takes_tensors("found_inf", "inv_scale")
def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale):
    """Multiplies gradients, in place, by the inverse of a loss scale, and notes in `found_inf` whether all are finite.

    >>> import adjoint as torch
    >>> grads, found = [torch.tensor([4.0, torch.inf])], torch.zeros(1)
    >>> torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(0.5))
    >>> grads, found
    ([tensor([2., inf])], tensor([1.]))
    """
    for name, value in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if value.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if value.dtype != _C.float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    if not self:
        return
    for grad in self:
        if not grad.is_floating_point():
            raise NotImplementedError(
                '"_amp_foreach_non_finite_check_and_unscale_cpu" not implemented for '
                f"'{grad.type()[6:].removesuffix('Tensor')}'"
            )
    with no_grad():
        if found_inf.is_cuda:
            unscale(list(self), inv_scale, found_inf)
            return
        if not all(bool(grad.isfinite().all()) for grad in self):
            found_inf.fill_(1.0)
        factor = float(inv_scale)
        if factor != 1:
            _foreach._foreach_mul_(self, factor)


@takes_tensors("self", "growth_tracker", "found_inf")
def _amp_update_scale_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    """Lets a loss scale shrink after gradients that were not finite, and grow after so many that were.

    >>> import adjoint as torch
    >>> tracker = torch.zeros(1, dtype=torch.int32)
    >>> torch._amp_update_scale_(torch.tensor([8.0]), tracker, torch.tensor([1.0]), 2.0, 0.5, 100)
    tensor([4.])
    """
    with no_grad():
        if float(found_inf):
            self.mul_(scale_backoff_factor)
            growth_tracker.zero_()
        elif int(growth_tracker) + 1 == growth_interval:
            grown = self * scale_growth_factor
            if bool(grown.isfinite()):
                self.copy_(grown)
            growth_tracker.zero_()
        else:
            growth_tracker.add_(1)
    return self
