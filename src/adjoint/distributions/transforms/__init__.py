"""Transforms: functions with inverses and determinants, of which distributions are made from others."""

from .base import ComposeTransform as ComposeTransform
from .base import IndependentTransform as IndependentTransform
from .base import ReshapeTransform as ReshapeTransform
from .base import Transform as Transform
from .base import _InverseTransform as _InverseTransform
from .base import identity_transform as identity_transform
from .elementwise import AbsTransform as AbsTransform
from .elementwise import AffineTransform as AffineTransform
from .elementwise import CumulativeDistributionTransform as CumulativeDistributionTransform
from .elementwise import ExpTransform as ExpTransform
from .elementwise import PowerTransform as PowerTransform
from .elementwise import SigmoidTransform as SigmoidTransform
from .elementwise import SoftplusTransform as SoftplusTransform
from .elementwise import TanhTransform as TanhTransform
from .elementwise import _clipped_sigmoid as _clipped_sigmoid
from .joined import CatTransform as CatTransform
from .joined import StackTransform as StackTransform
from .vectors import CorrCholeskyTransform as CorrCholeskyTransform
from .vectors import LowerCholeskyTransform as LowerCholeskyTransform
from .vectors import PositiveDefiniteTransform as PositiveDefiniteTransform
from .vectors import SoftmaxTransform as SoftmaxTransform
from .vectors import StickBreakingTransform as StickBreakingTransform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

for _class in (*(globals()[_name] for _name in __all__), _InverseTransform):
    if isinstance(_class, type):
        _class.__module__ = __name__  # torch's name of them, by which they are pickled
