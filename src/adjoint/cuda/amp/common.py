"""What torch.cuda.amp asks before it scales gradients."""

from ... import _C

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available():
    """Whether there is no device for which gradients would be scaled.

    >>> import adjoint as torch
    >>> torch.cuda.amp.common.amp_definitely_not_available() == (not torch.cuda.is_available())
    True
    """
    return bool(_C._cuda_why_unavailable())
