"""scatter and gather: a batch to several GPUs and back. Without GPUs there is nowhere to."""

from ..._absent import refusing

_ADVICE = "there are no GPUs to share a batch among; call the module with the whole batch, or use nn.DataParallel"

scatter = refusing("nn.parallel", "scatter", _ADVICE)
scatter_kwargs = refusing("nn.parallel", "scatter_kwargs", _ADVICE)
gather = refusing("nn.parallel", "gather", _ADVICE)
