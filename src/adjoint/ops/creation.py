"""Tensors made from sizes, or after another tensor."""

from .language import op

# fmt: off

op("zeros(size)", varargs="size", native="create_zeros", creates=True, out="typed", gradient=False, method=False,
   doc="A tensor of zeros.")
