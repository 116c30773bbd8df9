"""All modules that handle ops: each enters its functions into the tables of _calls.py."""

from . import _arithmetic as _arithmetic
from . import _compressed_ops as _compressed_ops
from . import _compressed_products as _compressed_products
from . import _creation as _creation
from . import _products as _products
from . import _sums as _sums
from . import _unary as _unary
from . import _views as _views
