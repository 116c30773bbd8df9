"""Rounding and clamping."""

from .language import (
    ceil,
    composite,
    elementwise,
    floor,
    maximum,
    minimum,
    round,
    round_decimals,
    round_decimals_,
    round_whole,
    round_whole_,
    trunc,
    where,
    zeros_like,
)
from .out_words import FOUND_DTYPE

# fmt: off

elementwise("floor(input)", lambda input: floor(input), out="exact", out_words=FOUND_DTYPE,
            types="integer", stored="unsigned", loop="floor_vml_cpu", input=lambda g: zeros_like(g))
elementwise("ceil(input)", lambda input: ceil(input), out="exact", out_words=FOUND_DTYPE,
            types="integer", stored="unsigned", loop="ceil_vml_cpu", input=lambda g: zeros_like(g))
elementwise("trunc(input)", lambda input: trunc(input), out="exact", out_words=FOUND_DTYPE,
            types="integer", stored="unsigned", loop="trunc_vml_cpu", alias=("fix",),
            input=lambda g: zeros_like(g))
elementwise("round_whole(input)", lambda input: round(input),
            out="exact", out_words=FOUND_DTYPE, types="integer", stored="unsigned",
            loop="round_vml_cpu", node="RoundBackward0", public=False,
            shown="round",
            input=lambda g: zeros_like(g))
# One of the two is 1: 10^decimals, or 10^-decimals.
elementwise("round_decimals(input, factor=1.0, divisor=1.0)",
            lambda input, factor, divisor: round(input * factor / divisor) / factor * divisor,
            out="exact", loop="round_cpu", out_words=FOUND_DTYPE, node="RoundBackward1", public=False, shown="round",
            input=lambda g: zeros_like(g))
elementwise("frac(input)", lambda input: input - trunc(input), out="exact", out_words=FOUND_DTYPE, input=lambda g: g)


def _ordered(name):
    return {"complex": NotImplementedError(f"clamp is not supported for complex types: they have no order ({name})")}


# The upper bound wins where the bounds are the wrong way round; nan passes through from everywhere.
# clamp() itself, which chooses among these by what it is given, is a composite in selection.py.
CLAMP = {"node": "ClampBackward0", "function": False, "method": False, "shown": "clamp", "refuse": _ordered("clamp")}
elementwise("clamp_between(input, min, max)", lambda input, min, max: minimum(maximum(input, min), max),
            types="integer",
            loop="clamp_scalar_cpu", number_nodes={"min": "ClampBackward1", "max": "ClampBackward1"}, **CLAMP,
            input=lambda g, input, min, max: where((input >= min) & (input <= max), g, 0),
            min=lambda g, input, min, max: where((min < max) & (input < min), g, 0),
            max=lambda g, input, min, max: where((input > max) | (max < min), g, 0))
elementwise("clamp_below(input, max)", lambda input, max: minimum(input, max),
            types="integer bool", number_nodes={"max": "ClampBackward1"}, **CLAMP,
            input=lambda g, input, max: where(input <= max, g, 0),
            max=lambda g, input, max: where(input > max, g, 0))
elementwise("clamp_above(input, min)", lambda input, min: maximum(input, min),
            types="integer bool", number_nodes={"min": "ClampBackward1"}, **CLAMP,
            input=lambda g, input, min: where(input >= min, g, 0),
            min=lambda g, input, min: where(input < min, g, 0))
elementwise("clamp_min(input, min)", lambda input, min: maximum(input, min),
            types="integer bool",
            loop="clamp_min_scalar_cpu", node="ClampMinBackward1", number_nodes={"min": "ClampMinBackward0"},
            refuse=_ordered("clamp_min"),
            input=lambda g, input, min: where(input >= min, g, 0),
            min=lambda g, input, min: where(input < min, g, 0))
elementwise("clamp_max(input, max)", lambda input, max: minimum(input, max),
            types="integer bool",
            loop="clamp_max_scalar_cpu", node="ClampMaxBackward1", number_nodes={"max": "ClampMaxBackward0"},
            refuse=_ordered("clamp_max"),
            input=lambda g, input, max: where(input <= max, g, 0),
            max=lambda g, input, max: where(input > max, g, 0))

# fmt: on


def _powers_of_ten(decimals):
    # Read, not raised: what is too great is infinite and no error.
    return float(f"1e{max(decimals, 0)}"), float(f"1e{max(-decimals, 0)}")


@composite(name="round")
def round_function(input, *, decimals=None, out=None):
    """The nearest integer, or the nearest number with so many decimals; ties go to the even one.

    >>> import adjoint as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.344])), torch.round(torch.tensor([2.344]), decimals=2)
    (tensor([0., 2., 2.]), tensor([2.3400]))
    """
    if decimals is None:
        return round_whole(input, out=out)
    return round_decimals(input, *_powers_of_ten(decimals), out=out)


@composite(name="round_")
def round_in_place(input, *, decimals=None):
    """In-place version of round()."""
    return round_whole_(input) if decimals is None else round_decimals_(input, *_powers_of_ten(decimals))
