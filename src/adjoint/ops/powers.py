"""Powers by another name."""

from .language import composite, pow


@composite
def square(input, *, out=None):
    """The square of each element.

    >>> import adjoint as torch
    >>> torch.square(torch.tensor([1.0, -3.0]))
    tensor([1., 9.])
    """
    return pow(input, 2) if out is None else pow(input, 2, out=out)


@composite(name="square_")
def square_(input):
    """In-place version of square().

    >>> import adjoint as torch
    >>> torch.tensor([3.0]).square_()
    tensor([9.])
    """
    return input.pow_(2)
