"""GradScaler under the name of its old module."""

from ...amp.grad_scaler import OptState as OptState
from . import GradScaler as GradScaler

__all__ = ["GradScaler"]
