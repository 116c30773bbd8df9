"""Mixed precision under its old names, for programs that choose them where there is no CUDA device: it is off."""

from ... import _C
from ...amp.autocast_mode import custom_bwd as _custom_bwd
from ...amp.autocast_mode import custom_fwd as _custom_fwd
from ...amp.old_names import old_names, warn
from .common import amp_definitely_not_available as amp_definitely_not_available

autocast, GradScaler = old_names("cuda", _C.float16)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """torch.amp.custom_fwd(device_type='cuda'), under its old name.

    >>> import adjoint as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     forward = torch.cuda.amp.custom_fwd(lambda ctx, x: x)
    """
    warn("cuda", "custom_fwd", "args..., device_type='cuda'")
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """torch.amp.custom_bwd(device_type='cuda'), under its old name.

    >>> import adjoint as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     backward = torch.cuda.amp.custom_bwd(lambda ctx, g: g)
    """
    warn("cuda", "custom_bwd", "args..., device_type='cuda'")
    return _custom_bwd(bwd, device_type="cuda")


from . import autocast_mode as autocast_mode  # noqa: E402  (they take their names from here)
from . import grad_scaler as grad_scaler  # noqa: E402
