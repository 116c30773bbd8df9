"""The insides of torch.func, as far as packages import them."""

from . import apis as apis
from . import vmap as vmap
