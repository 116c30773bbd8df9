"""Modules that mark where a network would be quantized; before that, in torch as well, they compute in floats."""

from ..nn.modules.linear import Identity
from ..nn.modules.module import Module
from ..ops.language import add, cat, matmul, mul, relu


class QuantStub(Module):
    """Where numbers would be quantized: gives what it gets.

    >>> import adjoint as torch
    >>> torch.ao.quantization.QuantStub()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        """x itself."""
        return x


class DeQuantStub(QuantStub):
    """Where quantized numbers would become floats again: gives what it gets.

    >>> import adjoint as torch
    >>> torch.ao.quantization.DeQuantStub()(torch.ones(2))
    tensor([1., 1.])
    """


class QuantWrapper(Module):
    """A module between a QuantStub and a DeQuantStub.

    >>> import adjoint as torch
    >>> torch.ao.quantization.QuantWrapper(torch.nn.Tanh())(torch.zeros(2))
    tensor([0., 0.])
    """

    def __init__(self, module):
        super().__init__()
        self.add_module("quant", QuantStub())
        self.add_module("dequant", DeQuantStub())
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        """The module's result."""
        return self.dequant(self.module(self.quant(X)))


class FloatFunctional(Module):
    """Functions as methods of a module, so that their results could be observed; here they are computed.

    >>> import adjoint as torch
    >>> torch.nn.quantized.FloatFunctional().add(torch.ones(2), torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self):
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x):
        """Raises: call one of the functions."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x, y):
        """x + y."""
        return self.activation_post_process(add(x, y))

    def add_scalar(self, x, y):
        """x + y of a number y."""
        return add(x, y)

    def mul(self, x, y):
        """x * y."""
        return self.activation_post_process(mul(x, y))

    def mul_scalar(self, x, y):
        """x * y of a number y."""
        return mul(x, y)

    def cat(self, x, dim=0):
        """The tensors one after the other."""
        return self.activation_post_process(cat(x, dim=dim))

    def add_relu(self, x, y):
        """relu(x + y)."""
        return self.activation_post_process(relu(add(x, y)))

    def matmul(self, x, y):
        """x @ y."""
        return self.activation_post_process(matmul(x, y))


class FXFloatFunctional(FloatFunctional):
    """FloatFunctional, by the name that traced networks have for it."""
