"""RemovableHandle, where people look for it."""

from ..autograd.graph import RemovableHandle as RemovableHandle
