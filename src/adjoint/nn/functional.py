"""Activations, losses and layers as functions: what the op table has for this namespace."""

from .._install import publish as _publish

_publish("nn.functional")  # not with the other namespaces, when the package is imported: nn is when it is first used
