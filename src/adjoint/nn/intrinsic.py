"""torch.nn.intrinsic, the old name of torch.ao.nn.intrinsic."""

from ..ao import old_names

globals().update(old_names("nn.intrinsic"))
