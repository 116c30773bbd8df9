"""Instance norm in one to three dimensions and its lazy form."""

import warnings

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Instance norm; `_spatial_dims` of a subclass says in how many dimensions."""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self):
        """How many dimensions a single sample has."""
        return self._spatial_dims + 1

    def _check_input_dim(self, input):
        alone = self._get_no_batch_dim()
        if input.ndim != alone and input.ndim != alone + 1:
            raise ValueError(f"expected {alone}D or {alone + 1}D input (got {input.ndim}D input)")

    def forward(self, input):
        """Each channel of each sample shifted and scaled by its statistics, or in evaluation by the running ones."""
        self._check_input_dim(input)
        alone = input.ndim == self._get_no_batch_dim()
        dim = 0 if alone else 1
        if input.shape[dim] != self.num_features:
            self._refuse_or_warn(input.shape[dim], dim)
        result = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if alone else result

    def _refuse_or_warn(self, channels, dim):
        """The input has not num_features channels, which matters if there is a weight for each."""
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {channels}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
            "num_features, which is not used because affine=False",
            stacklevel=4,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                name, keys = type(self).__name__, " and ".join(f'"{key}"' for key in found)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {keys} for {name} with "
                    f"track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be "
                    f"expected because {name} does not track running stats by default since 0.4.0. Please remove "
                    f"these keys from state_dict. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {name} to enable them. See the documentation of {name} for details."
                )
                for key in found:
                    state_dict.pop(prefix + key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of sequences: [batch, channels, length], the batch optional.

    >>> import adjoint as torch
    >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _spatial_dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of images: [batch, channels, height, width], the batch optional.

    >>> import adjoint as torch
    >>> torch.nn.InstanceNorm2d(3)(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _spatial_dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of volumes: [batch, channels, depth, height, width], the batch optional.

    >>> import adjoint as torch
    >>> torch.nn.InstanceNorm3d(3)(torch.rand(3, 4, 4, 4)).shape
    torch.Size([3, 4, 4, 4])
    """

    _spatial_dims = 3


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """InstanceNorm1d that takes num_features from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyInstanceNorm1d()(torch.rand(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """InstanceNorm2d that takes num_features from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyInstanceNorm2d()(torch.rand(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """InstanceNorm3d that takes num_features from its first input.

    >>> import adjoint as torch
    >>> torch.nn.LazyInstanceNorm3d()(torch.rand(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
