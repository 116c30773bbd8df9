"""torch.nn.qat, the old name of torch.ao.nn.qat."""

from ..ao import old_names

globals().update(old_names("nn.qat"))
