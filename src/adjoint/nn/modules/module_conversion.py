"""Moving and casting a module: what happens to the parameters, gradients and buffers that it has."""

import warnings

from ... import _C
from ... import __future__ as _future
from ..._swapping import swap_tensors
from ...autograd.grad_mode import no_grad
from ...ops.conversion import parse_to
from ..parameter import Parameter, is_lazy


class Conversion:
    """The part of Module that puts other tensors in the place of those that it has."""

    def _apply(self, fn, recurse=True):
        """Puts fn(tensor) in the place of every parameter, gradient and buffer.

        Parameters stay the same objects, unless they leave the meta device, or torch.__future__ says otherwise.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)  # as it is overridden in programs: without `recurse`
        swap = _future.get_swap_module_params_on_conversion()
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                moved = fn(parameter)
                grad = fn(parameter.grad) if parameter.grad is not None else None
            if swap and not is_lazy(parameter):  # one without a shape has nothing to swap
                self._swap_parameter(name, parameter, moved, grad)
            else:
                self._convert_parameter(name, parameter, moved, grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert_parameter(self, name, parameter, moved, grad):
        if moved.device != parameter.device or _future.get_overwrite_module_params_on_conversion():
            self._parameters[name] = Parameter(moved, parameter.requires_grad)
            if grad is not None:
                self._parameters[name].grad = grad.requires_grad_(parameter.grad.requires_grad)
            return
        if moved is not parameter:
            parameter.data = moved
        if grad is not None and grad is not parameter.grad:
            parameter.grad.data = grad

    def _swap_parameter(self, name, parameter, moved, grad):
        old_grad, parameter.grad = parameter.grad, None
        try:
            swap_tensors(parameter, Parameter(moved, parameter.requires_grad))
        except Exception as error:
            parameter.grad = old_grad
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
        if old_grad is None:
            return
        grad.requires_grad_(old_grad.requires_grad)
        try:
            swap_tensors(old_grad, grad)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}.grad") from error
        parameter.grad = old_grad

    def to(self, *args, **kwargs):
        """Moves and casts parameters and buffers in place: to(dtype), to(device), to(device, dtype), to(tensor).

        Only floating point and complex tensors change their type.

        >>> import adjoint as torch
        >>> torch.nn.Linear(1, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        dtype, device, copy, memory_format = parse_to(args, kwargs)
        non_blocking = bool(kwargs.get("non_blocking") or any(each is True for each in args))
        if copy is not None:
            raise RuntimeError(".to() does not accept copy argument: a module is changed in place")
        if isinstance(dtype, type):
            dtype = _C.empty(0, dtype=dtype).dtype
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and some modules "
                "might not work as expected when using complex tensors as parameters or buffers.",
                stacklevel=2,
            )

        def convert(tensor):
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            layout = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
            place = tensor.device if device is None else device
            return tensor.to(place, wanted or tensor.dtype, non_blocking, **layout)

        return self._apply(convert)

    def to_empty(self, *, device, recurse=True):
        """Moves parameters and buffers to a device without their values."""
        return self._apply(lambda tensor: _C.empty_like(tensor, device=device), recurse=recurse)

    def cpu(self):
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device=None):
        """Moves parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device=None):
        """Moves parameters and buffers to an Intel GPU."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def ipu(self, device=None):
        """Refused: there are no such devices."""
        raise RuntimeError("PyTorch is not linked with support for ipu devices; use cpu()")

    def mtia(self, device=None):
        """Refused: there are no such devices."""
        raise AssertionError("Torch not compiled with MTIA enabled; use cpu()")

    def type(self, dst_type):
        """Casts all parameters and buffers to a type."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Casts floating point parameters and buffers to float32."""
        return self._cast(_C.float32)

    def double(self):
        """Casts floating point parameters and buffers to float64."""
        return self._cast(_C.float64)

    def half(self):
        """Casts floating point parameters and buffers to float16."""
        return self._cast(_C.float16)

    def bfloat16(self):
        """Casts floating point parameters and buffers to bfloat16."""
        return self._cast(_C.bfloat16)

    def share_memory(self):
        """Moves parameters and buffers to memory that other processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())
