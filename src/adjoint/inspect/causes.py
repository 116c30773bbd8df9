"""What makes an op's gradient zero, infinite or nan, in words, and what helps."""

import re

from . import nodes as describe

# Ops that put other values in the place of their input.
OVERWRITING = {"Zero", "Fill", "Copy", "CopySlices", "MaskedFill", "MaskedScatter"}
OVERWRITING |= {"IndexPut", "IndexFill", "IndexCopy"}
FLAT = {
    "Relu": "its inputs are all at or below zero, where relu is flat",
    "Threshold": "its inputs are all at or below the threshold",
    "Clamp": "its inputs all lie outside of the limits, where clamp is flat",
    "Hardtanh": "its inputs all lie outside of the limits, where hardtanh is flat",
    "Where": "its condition picks the other values everywhere",
    "Mul": "the other factor is zero everywhere",
    "Mm": "the other matrix is zero",
    "Bmm": "the other matrices are zero",
    "Addmm": "the other matrix is zero",
    "Mv": "the other factor is zero",
    "Dot": "the other vector is zero",
    "Exp": "exp of its inputs is zero: they are too far below zero",
    "Tanh": "its inputs are so far from zero that tanh is flat there",
    "Sigmoid": "its inputs are so far from zero that sigmoid is flat there",
    "Softmax": "it is saturated: one value has all the weight, or all incoming gradients are equal",
    "LogSoftmax": "it is saturated: the target already has all the weight",
    "Maximum": "the other argument is larger everywhere",
    "Minimum": "the other argument is smaller everywhere",
    **dict.fromkeys(("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "FloorDivide"), "it is flat: a step function"),
}
# Ops that send no gradient, or zero, to what they did not choose.
CHOOSING = (
    *("Where", "MaskedFill", "MaskedSelect", "Mul", "Index", "Gather", "Select", "Slice", "Take", "Clamp", "Relu"),
    *("Threshold", "Maximum", "Minimum", "Max", "Min", "Topk", "Sort", "Nansum", "NanToNum"),
)
STEEP = {
    "Sqrt": "the derivative of sqrt is infinite at zero: add a small number inside, or clamp(min=...)",
    "Rsqrt": "rsqrt and its derivative are infinite at zero: add a small number inside, or clamp(min=...)",
    "Log": "log and its derivative are infinite at zero: add a small number, clamp(min=...), or use log_softmax, "
    "logsumexp or a loss with logits",
    "Log1P": "log1p and its derivative are infinite at -1: clamp(min=...) its input",
    "Reciprocal": "division by zero: add a small number to the denominator, or clamp it away from zero",
    "Div": "division by zero, or by infinity: keep the denominator away from both",
    "Pow": "a power below one has an infinite derivative at zero, and none below: clamp(min=...) its base",
    "Asin": "the derivative of asin is infinite at -1 and 1: clamp its input inside of them",
    "Acos": "the derivative of acos is infinite at -1 and 1: clamp its input inside of them",
    "Std": "the derivative of std is infinite where all values are equal: use var, or add a small number to it",
    "LinalgVectorNorm": "this norm has no derivative at zero: add a small number inside",
    "Exp": "exp overflows above 88.7 in float32, and above 11 in float16: subtract the maximum first, or use softmax, "
    "logsumexp or softplus",
    "Expm1": "expm1 overflows above 88.7 in float32: clamp its input",
}


def stem_of(node):
    """The op of a node: Mul of MulBackward0."""
    return re.sub(r"Backwards?\d*$", "", describe.op_name(node))


def _entry(table, stem):
    return next((table[key] for key in sorted(table, key=len, reverse=True) if stem.startswith(key)), "")


def overwrites(node):
    """Whether an op puts other values in the place of its input."""
    return stem_of(node) in OVERWRITING


def flatness(node):
    """Why a gradient ends in a node."""
    if overwrites(node):
        return "the values were overwritten there"
    return _entry(FLAT, stem_of(node)) or "its derivative is zero for these inputs"


def steepness(node):
    """Why a gradient becomes infinite or nan in a node, and what helps; "" where nothing general is known."""
    return _entry(STEEP, stem_of(node))


def chooses(node):
    """Whether an op leaves out some of its input's elements, so that zero gradients arrive at them."""
    return stem_of(node).startswith(CHOOSING)


def masked_cure(node, mask):
    """What to do where a zero gradient meets an infinite derivative: words for the op and the op that chose."""
    op = stem_of(node).lower()
    chosen = f"{describe.op_name(mask)} at {describe.place_of(mask).quoted()}" if mask else "a later op"
    return (
        f"masked: {chosen} sends a gradient of zero to the elements that it leaves out, and zero times an infinite "
        "derivative is nan",
        f"cure: mask the input as well (the double where): safe = torch.where(mask, x, 1.0), then "
        f"torch.where(mask, safe.{op}(), 0.0); torch.func.where_safe(mask, torch.{op}, x) does both, and "
        "`with torch.func.safe_branches():` does it for all ops inside",
    )
