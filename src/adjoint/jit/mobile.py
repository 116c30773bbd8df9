"""Modules for torch's interpreter on telephones: not here."""

from .._absent import refusing

_load_for_lite_interpreter = refusing(
    "jit.mobile", "_load_for_lite_interpreter", "there is no interpreter of TorchScript here; torch.load reads weights"
)
