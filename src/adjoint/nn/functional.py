"""Activations, losses and layers as functions: what the op table has for this namespace."""

from ..ops import language as _language

# Here, not with the other namespaces when the package is complete: the layers name these functions.
globals().update({name: function for where, name, function in _language.PUBLIC if where == "nn.functional"})
