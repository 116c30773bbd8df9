"""Indexing by tensors: x[mask], x[[0, 2]], x[i, :, j], and assignment to them. (Basic indexing: views.py.)"""

from .language import index, index_backward, index_put, op

# fmt: off
op("index(input, indices)", native="index", linear="input", public=False,
   input=lambda g, input_meta, indices: index_backward(g, input_meta.shape, indices))
op("index_backward(input, size, indices)", native="index_backward", linear="input", public=False,
   input=lambda g, indices: index(g, indices))

# What was overwritten has no gradient; what was added to keeps it.
op("index_put(input, indices, values, accumulate=False)", native="index_put", linear="input + values",
   inplace=True, inplace_native="index_put_", crosses=True,
   doc="A copy with values written, or added, at the places that index tensors name.",
   input=lambda g, indices, accumulate: g if accumulate else index_put(g, indices, g.new_zeros(())),
   values=lambda g, indices: index(g, indices))
