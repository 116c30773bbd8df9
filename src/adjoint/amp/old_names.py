"""The older names of autocast and GradScaler, in torch.cpu.amp and torch.cuda.amp."""

import warnings

from .autocast_mode import autocast as _autocast
from .grad_scaler import GradScaler as _GradScaler


def warn(device, name, instead):
    """Says what to write in place of torch.<device>.amp.<name>."""
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}({instead})` instead.",
        FutureWarning,
        stacklevel=3,
    )


def old_names(device, lower_type):
    """(autocast, GradScaler) as torch.<device>.amp has them: without an argument for the device.

    >>> import adjoint as torch
    >>> issubclass(torch.cpu.amp.autocast, torch.amp.autocast)
    True
    """

    class autocast(_autocast):
        def __init__(self, enabled=True, dtype=lower_type, cache_enabled=True):
            warn(device, "autocast", f"'{device}', args...")
            super().__init__(device, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    class GradScaler(_GradScaler):
        def __init__(
            self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
        ):
            warn(device, "GradScaler", f"'{device}', args...")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    for old in (autocast, GradScaler):
        old.__module__, old.__qualname__ = f"{__package__.partition('.')[0]}.{device}.amp", old.__name__
        old.__doc__ = f"torch.amp.{old.__name__}('{device}'), under its old name."
    return autocast, GradScaler
