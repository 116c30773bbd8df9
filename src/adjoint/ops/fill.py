"""Writing one value everywhere."""

from .language import composite, op, overwrite_, sum, zeros_like

# fmt: off

op("fill(input, value)", native="filled", node="FillBackward1", number_nodes={"value": "FillBackward0"},
   linear="input + value",
   input=lambda g: zeros_like(g),
   value=lambda g: sum(g),
   doc="A tensor of the input's shape with the same value everywhere.")
# fill_() under the names of torch's nodes.
op("overwrite(input, value)", inplace="only", inplace_native="fill_", uniform=True, public=False, shown="fill",
   node="FillBackward3", number_nodes={"value": "FillBackward2"}, linear="input + value", crosses=True,
   input=lambda g: zeros_like(g),
   value=lambda g: sum(g))
composite(overwrite_, name="fill_")
op("zero(input)", inplace="only", inplace_native="zero_", uniform=True, node="ZeroBackward0", linear="input",
   input=lambda g: zeros_like(g),
   doc="A tensor of the input's shape with zeros everywhere.")
