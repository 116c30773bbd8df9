"""Building blocks of networks. So far: Parameter and the functions."""

from . import functional as functional
from .losses import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from .losses import PairwiseDistance as PairwiseDistance
from .parameter import Parameter as Parameter
