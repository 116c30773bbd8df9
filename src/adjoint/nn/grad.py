"""The gradients of convolutions as functions: with respect to the input, and to the weight."""

from ..ops import language
from .modules.utils import _ntuple


def _options(dims, stride, padding, dilation):
    each = _ntuple(dims)
    return each(stride), each(padding), each(dilation)


def _check_output(name, grad_output, size, weight_size, stride, padding, dilation):
    """Refuses gradients that cannot be those of a convolution of these sizes."""
    expected = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size[2:], weight_size[2:], stride, padding, dilation, strict=True)
    ]
    expected = [size[0], weight_size[0], *expected]
    if list(grad_output.shape) != expected:
        raise RuntimeError(
            f"{name}: Expected a tensor of size {expected} for grad_output; got {list(grad_output.shape)}: that is "
            "what a convolution with these sizes and options returns"
        )


def _input(name, dims, input_size, weight, grad_output, stride, padding, dilation, groups):
    size = tuple(input_size)
    if len(size) != weight.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight {list(weight.shape)}, "
            f"but got {len(size)}-dimensional input of size {list(size)} instead"
        )
    options = _options(dims, stride, padding, dilation)
    _check_output(name, grad_output, size, weight.shape, *options)
    strides, paddings, dilations = options
    places = zip(size[2:], grad_output.shape[2:], weight.shape[2:], strides, paddings, dilations, strict=True)
    # What the windows did not reach, at the end of each dimension.
    left_over = tuple(n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, k, s, p, d in places)
    return language.convolution(
        grad_output, language.conj(weight), None, strides, paddings, dilations, True, left_over, groups
    )


def _weight(name, dims, input, weight_size, grad_output, stride, padding, dilation, groups):
    size = tuple(weight_size)
    options = _options(dims, stride, padding, dilation)
    _check_output(name, grad_output, input.shape, size, *options)
    return language._convolution_weight(grad_output, language.conj(input), size[2:], *options, groups)


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d with respect to its input, of this size.

    >>> import adjoint as torch
    >>> torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _input("conv1d_input", 1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv1d with respect to its weight, of this size.

    >>> import adjoint as torch
    >>> torch.nn.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """
    return _weight("conv1d_weight", 1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d with respect to its input, of this size.

    >>> import adjoint as torch
    >>> torch.nn.grad.conv2d_input((1, 1, 2, 2), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return _input("conv2d_input", 2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv2d with respect to its weight, of this size.

    >>> import adjoint as torch
    >>> torch.nn.grad.conv2d_weight(torch.ones(1, 1, 2, 2), (1, 1, 2, 2), torch.ones(1, 1, 1, 1)).shape
    torch.Size([1, 1, 2, 2])
    """
    return _weight("conv2d_weight", 2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d with respect to its input, of this size.

    >>> import adjoint as torch
    >>> torch.nn.grad.conv3d_input((1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 1)).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _input("conv3d_input", 3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of conv3d with respect to its weight, of this size.

    >>> import adjoint as torch
    >>> torch.nn.grad.conv3d_weight(torch.ones(1, 1, 2, 2, 2), (1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 1)).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _weight("conv3d_weight", 3, input, weight_size, grad_output, stride, padding, dilation, groups)
