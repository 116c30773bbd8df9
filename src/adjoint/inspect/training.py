"""Watching a training loop for what raises nothing: gradients that nobody set to zero."""

import weakref

from .._warning import warn_user
from ..optim.optimizer import register_optimizer_step_post_hook


class _Used:
    """The gradient that an optimizer's last step has used, as it was then, and the optimizer."""

    def __init__(self, gradient, optimizer):
        self.gradient, self.version = weakref.ref(gradient), gradient._version
        self.optimizer = weakref.ref(optimizer)

    def was_added_to(self, gradient):
        """Whether the tensor's first change since the step was that another gradient was added to it."""
        return self.gradient() is gradient and gradient._version == self.version + 1


class watch_training:
    """Warns of a forgotten zero_grad(): when backward() adds to gradients that an optimizer's step has used already.

    Several backwards between two steps add up their gradients, and are left alone. Nothing is watched outside of the
    block; inside, each step costs a look at every parameter.

    >>> import adjoint as torch, warnings
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> with warnings.catch_warnings(record=True) as caught, torch.inspect.watch_training():
    ...     warnings.simplefilter("always")
    ...     for _ in range(2):
    ...         (w * w).sum().backward()  # without zero_grad()
    ...         optimizer.step()
    >>> print(caught[0].message)
    Gradients accumulate over steps: backward() adds to those that SGD.step() has used. Call zero_grad() before it.
    """

    def __enter__(self):
        self._used = {}  # by the id of a parameter, which the table of hooks keeps alive
        self._hooks = {}
        self._warned = weakref.WeakSet()
        self._step_hook = register_optimizer_step_post_hook(self._after_step)
        return self

    def __exit__(self, *error):
        for hook in (self._step_hook, *(hook for _, hook in self._hooks.values())):
            hook.remove()
        self._used.clear()
        self._hooks.clear()

    def _after_step(self, optimizer, args, kwargs):
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if id(param) not in self._hooks:
                    self._hooks[id(param)] = param, param.register_post_accumulate_grad_hook(self._after_backward)
                self._used[id(param)] = _Used(param.grad, optimizer)

    def _after_backward(self, param):
        used = self._used.pop(id(param), None)
        optimizer = used and used.optimizer()
        if optimizer is None or optimizer in self._warned or not used.was_added_to(param.grad):
            return
        self._warned.add(optimizer)
        warn_user(
            "Gradients accumulate over steps: backward() adds to those that "
            f"{type(optimizer).__name__}.step() has used. Call zero_grad() before it."
        )
