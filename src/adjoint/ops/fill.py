"""Writing one value everywhere."""

from .language import op, sum, zeros_like

# fmt: off

op("fill(input, value)", kernel="filled", inplace=True, node="FillBackward1", number_nodes={"value": "FillBackward0"},
   input=lambda g: zeros_like(g),
   value=lambda g: sum(g),
   doc="A tensor of the input's shape with the same value everywhere.")
op("zero(input)", kernel="zeroed", inplace="only", node="ZeroBackward0",
   input=lambda g: zeros_like(g),
   doc="A tensor of the input's shape with zeros everywhere.")
