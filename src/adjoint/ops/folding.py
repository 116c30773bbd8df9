"""Sliding windows of images as columns (unfold), and their sums back into images (fold)."""

from .batching import samples
from .language import _col2im, _im2col, _publish, composite, op

# ---- Batch rules; see batching.py


def _im2col_batch(op, size, batched, *given):
    return samples(4, op, size, batched, *given)


def _col2im_batch(op, size, batched, *given):
    return samples(3, op, size, batched, *given)


op("_im2col(input, kernel_size, dilation, padding, stride)", native="im2col", node="Im2ColBackward0", public=False,
   linear="input",
   input=lambda g, input_meta, kernel_size, dilation, padding, stride:
       _col2im(g, input_meta.shape[-2:], kernel_size, dilation, padding, stride),
   batch=_im2col_batch)  # fmt: skip
op("_col2im(input, output_size, kernel_size, dilation, padding, stride)", native="col2im", node="Col2ImBackward0",
   public=False, linear="input",
   input=lambda g, kernel_size, dilation, padding, stride:
       _im2col(g, kernel_size, dilation, padding, stride),
   batch=_col2im_batch)  # fmt: skip


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of images as columns.

    >>> import adjoint as torch
    >>> torch.nn.functional.unfold(torch.arange(4.0).view(1, 2, 2), (1, 2))
    tensor([[0., 2.],
            [1., 3.]])
    """
    return _im2col(input, kernel_size, dilation, padding, stride)


# Not a composite: torch.Tensor.unfold is another op.
_publish("unfold", unfold, "nn.functional", False, True, ())


@composite(namespace="nn.functional", method=False)
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The transpose of unfold: columns added where their windows lie in the image.

    >>> import adjoint as torch
    >>> torch.nn.functional.fold(torch.ones(2, 2), (1, 3), (1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _col2im(input, output_size, kernel_size, dilation, padding, stride)
