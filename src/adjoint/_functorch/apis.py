"""Functions of functions, where some packages import them from."""

from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import vmap as vmap
