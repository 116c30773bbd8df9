"""The module of torch in which Tensor stands, for programs that import it from there."""

from ._C import Tensor as Tensor
from .serialization.rebuild import _rebuild_from_type_v2 as _rebuild_from_type_v2
