"""Data loading, checkpoints, hooks, nested containers."""

from . import _contextlib as _contextlib
from . import _foreach_utils as _foreach_utils
from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks
