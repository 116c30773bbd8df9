"""The insides of torch.func, as far as packages import them."""

from . import vmap as vmap
