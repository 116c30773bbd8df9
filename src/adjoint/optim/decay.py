"""What nearly all update rules begin with: the sign of the aim, and the decay of weights."""

from .language import add, where


def follow(param, grad, *, maximize, weight_decay, lr=0, decoupled_weight_decay=False):
    """The parameter and the gradient to go against, after the sign of the aim and the decay of weights.

    A coupled decay is part of the gradient; a decoupled one shrinks the parameter by itself. No decay must not touch
    them: zero times an infinite weight is not zero.
    """
    coupled = where(decoupled_weight_decay, 0, weight_decay)
    grad = where(maximize, -grad, grad)
    grad = where(coupled != 0, add(grad, param, alpha=coupled), grad)
    return param * (1 - lr * where(decoupled_weight_decay, weight_decay, 0)), grad
