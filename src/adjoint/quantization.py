"""torch.quantization, the old name of torch.ao.quantization."""

from .ao import old_names

globals().update(old_names("quantization"))
