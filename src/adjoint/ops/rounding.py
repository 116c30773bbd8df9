"""Rounding and clamping."""

from .language import ceil, elementwise, floor, maximum, minimum, round, trunc, where, zeros_like

# fmt: off

elementwise("floor(input)", lambda input: floor(input), types="integer", input=lambda g: zeros_like(g))
elementwise("ceil(input)", lambda input: ceil(input), types="integer", input=lambda g: zeros_like(g))
elementwise("trunc(input)", lambda input: trunc(input), types="integer", alias=("fix",),
            input=lambda g: zeros_like(g))
elementwise("round(input)", lambda input: round(input), types="integer", input=lambda g: zeros_like(g))
elementwise("frac(input)", lambda input: input - trunc(input), input=lambda g: g)

# The upper bound wins where the bounds are the wrong way round; nan passes through from everywhere.
# clamp() itself, which chooses among these by what it is given, is a composite in selection.py.
CLAMP_NODES = {"node": "ClampBackward0", "function": False, "method": False}
elementwise("clamp_between(input, min, max)", lambda input, min, max: minimum(maximum(input, min), max),
            types="integer", number_nodes={"min": "ClampBackward1", "max": "ClampBackward1"}, **CLAMP_NODES,
            input=lambda g, input, min, max: where((input >= min) & (input <= max), g, 0),
            min=lambda g, input, min, max: where((min < max) & (input < min), g, 0),
            max=lambda g, input, min, max: where((input > max) | (max < min), g, 0))
elementwise("clamp_below(input, max)", lambda input, max: minimum(input, max),
            types="integer bool", number_nodes={"max": "ClampBackward1"}, **CLAMP_NODES,
            input=lambda g, input, max: where(input <= max, g, 0),
            max=lambda g, input, max: where(input > max, g, 0))
elementwise("clamp_above(input, min)", lambda input, min: maximum(input, min),
            types="integer bool", number_nodes={"min": "ClampBackward1"}, **CLAMP_NODES,
            input=lambda g, input, min: where(input >= min, g, 0),
            min=lambda g, input, min: where(input < min, g, 0))
elementwise("clamp_min(input, min)", lambda input, min: maximum(input, min),
            types="integer bool", node="ClampMinBackward1", number_nodes={"min": "ClampMinBackward0"},
            input=lambda g, input, min: where(input >= min, g, 0),
            min=lambda g, input, min: where(input < min, g, 0))
elementwise("clamp_max(input, max)", lambda input, max: minimum(input, max),
            types="integer bool", node="ClampMaxBackward1", number_nodes={"max": "ClampMaxBackward0"},
            input=lambda g, input, max: where(input <= max, g, 0),
            max=lambda g, input, max: where(input > max, g, 0))
