"""vmap, where older programs import it from."""

from .func import vmap as vmap
