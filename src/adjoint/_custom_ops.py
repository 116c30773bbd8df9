"""The module in which torch.library was before, for programs that import it by that name."""

from .library import get_ctx as get_ctx
