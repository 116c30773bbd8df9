"""Building blocks of networks. So far: Parameter and the functions."""

from . import functional as functional
from .parameter import Parameter as Parameter
