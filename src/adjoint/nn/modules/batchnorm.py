"""Batch norm in one to three dimensions, its lazy and its synchronised form, and the base of all running statistics."""

from ... import _C
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Weight and bias of each channel, and its running statistics."""

    _version = 2

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, present in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(_C.empty(num_features, device=device, dtype=dtype)) if present else None
            self.register_parameter(name, value)
        for name in ("running_mean", "running_var"):
            value = _C.empty(num_features, device=device, dtype=dtype) if track_running_stats else None
            self.register_buffer(name, value)
        count = _C.tensor(0, device=device, dtype=_C.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Statistics as if no batch had been seen: mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Forgets the statistics, and makes weights one and biases zero."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        """The number of channels and how they are normalised."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            # States of before version 2 do not count the batches.
            count = self.num_batches_tracked
            state_dict.setdefault(prefix + "num_batches_tracked", _C.tensor(0) if count is None else count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """Batch norm of any number of dimensions."""

    def forward(self, input):
        """The input shifted and scaled by the statistics of the batch, or in evaluation by the running ones."""
        self._check_input_dim(input)
        buffers, training, momentum = self._buffers, self.training, self.momentum
        mean, var = self.running_mean, self.running_var
        if training:
            if not self.track_running_stats:
                mean = var = None
            elif (count := buffers.get("num_batches_tracked")) is not None:
                count.add_(1)
                if momentum is None:
                    momentum = 1.0 / float(count)
        elif mean is None and var is None:
            training = True
        return F.batch_norm(
            input, mean, var, self.weight, self.bias, training, 0.0 if momentum is None else momentum, self.eps
        )


class _LazyNormBase(LazyModuleMixin):
    """Takes num_features from the first input."""

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = _C.tensor(0, device=device, dtype=_C.int64)

    def reset_parameters(self):
        """Statistics, weights and biases as in the beginning, once they have shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Gives parameters and buffers the size of the input's second dimension, and their first values."""
        if self.has_uninitialized_params():
            if input.dim() < 2:
                raise IndexError(f"{type(self).__name__}: expected two dimensions or more; got {input.dim()}")
            self.num_features = input.shape[1]
            for _, value in self._lazy_members():
                value.materialize((self.num_features,))
            self.reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Batch norm of [batch, channels] or [batch, channels, length].

    >>> import adjoint as torch
    >>> norm = torch.nn.BatchNorm1d(2)
    >>> norm(torch.tensor([[1.0, 2.0], [3.0, 6.0]])).detach(), norm.running_mean
    (tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]]), tensor([0.2000, 0.4000]))
    """

    def _check_input_dim(self, input):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(
                f"expected 2D or 3D input (got {input.dim()}D input); expected [batch, channels] or [batch, "
                f"channels, length], not {list(input.shape)}"
            )


class BatchNorm2d(_BatchNorm):
    """Batch norm of images: [batch, channels, height, width].

    >>> import adjoint as torch
    >>> torch.nn.BatchNorm2d(3)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(
                f"expected 4D input (got {input.dim()}D input); expected [batch, channels, height, width], not "
                f"{list(input.shape)}"
            )


class BatchNorm3d(_BatchNorm):
    """Batch norm of volumes: [batch, channels, depth, height, width].

    >>> import adjoint as torch
    >>> torch.nn.BatchNorm3d(3)(torch.rand(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    def _check_input_dim(self, input):
        if input.dim() != 5:
            raise ValueError(
                f"expected 5D input (got {input.dim()}D input); expected [batch, channels, depth, height, width], not "
                f"{list(input.shape)}"
            )


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """BatchNorm1d that takes num_features from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyBatchNorm1d()(torch.rand(4, 3)).shape
    torch.Size([4, 3])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """BatchNorm2d that takes num_features from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyBatchNorm2d()(torch.rand(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """BatchNorm3d that takes num_features from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyBatchNorm3d()(torch.rand(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    cls_to_become = BatchNorm3d


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes; in one process it is batch norm of any number of dimensions.

    >>> import adjoint as torch
    >>> torch.nn.SyncBatchNorm(3)(torch.rand(4, 3)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with every batch norm below it made a SyncBatchNorm that has its parameters and statistics."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            result.training = module.training
            for table in ("_parameters", "_buffers"):
                getattr(result, table).update(getattr(module, table))
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
