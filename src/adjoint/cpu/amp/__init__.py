"""Mixed precision under its old names: torch.amp.autocast("cpu") and torch.amp.GradScaler("cpu") are the new ones."""

from ... import _C
from ...amp.old_names import old_names

autocast, GradScaler = old_names("cpu", _C.bfloat16)
