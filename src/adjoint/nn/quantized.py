"""torch.nn.quantized, the old name of torch.ao.nn.quantized."""

from ..ao import old_names

globals().update(old_names("nn.quantized"))
