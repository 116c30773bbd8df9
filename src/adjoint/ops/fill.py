"""Writing one value everywhere."""

from .batching import lined_up, repeated
from .language import composite, fill, op, overwrite_, sum, zeros_like

# ---- Batch rules; see batching.py


def _fill_batch(op, size, batched, input, value):
    input = input if batched[0] else repeated(input, size)
    if not batched[1]:
        return fill(input, value)
    return lined_up(value, input.dim() - 1).to(input.dtype).expand(input.shape).clone()


# fmt: off

op("fill(input, value)", stored="all", native="filled", node="FillBackward1", number_nodes={"value": "FillBackward0"},
   linear="input + value",
   input=lambda g: zeros_like(g),
   value=lambda g: sum(g),
   batch=_fill_batch,
   doc="A tensor of the input's shape with the same value everywhere.")
# fill_() under the names of torch's nodes.
op("overwrite(input, value)", stored="all",
   inplace="only", inplace_native="fill_", uniform=True, public=False, shown="fill",
   forward=lambda input, value: fill(input, value),
   node="FillBackward3", number_nodes={"value": "FillBackward2"}, linear="input + value", crosses=True,
   input=lambda g: zeros_like(g),
   value=lambda g: sum(g),
   batch=_fill_batch)
composite(overwrite_, name="fill_")
op("zero(input)", stored="all",
   inplace="only", inplace_native="zero_", uniform=True, node="ZeroBackward0", linear="input",
   input=lambda g: zeros_like(g),
   batch=lambda op, size, batched, input: zeros_like(input),
   doc="A tensor of the input's shape with zeros everywhere.")
