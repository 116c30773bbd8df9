"""Runs a line on both libraries and says how the outcomes differ."""

import re
import warnings

import numpy as np
import torch

import adjoint
from tests.oracle.check import REFUSALS
from tests.oracle.compare import difference
from tests.oracle.entries import WITHOUT_VALUES

from .accepted import accepted

# Results with memory that nobody has written.
UNWRITTEN = re.compile(r"\.(" + "|".join([*WITHOUT_VALUES, "resize_", "resize_as_"]) + r")\(")
# Which of several equal elements is found is left open.
UP_TO_TIES = re.compile(r"\.(topk|kthvalue|mode|median|nanmedian)\(")
HALF = re.compile(r"float16")


def run(line, library):
    """("value", what the names stand for after the line) or ("error", the exception)."""
    space = {"torch": library, "np": np}
    library.manual_seed(7)
    try:
        exec(line, space)
    except Exception as error:
        return "error", error
    tensors = [space[name] for name in sorted(space) if name.startswith("x") and name[1:].isdigit()]
    result = plain(space.get("r"))
    if isinstance(result, tuple) and UP_TO_TIES.search(line):
        result = (result[0], result[1].shape)
    return "value", (result, tensors)


def plain(value):
    """A result with lists for NumPy's arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)([plain(item) for item in value]) if type(value) in (list, tuple) else value


def flat(value):
    """The tensors of a result."""
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in flat(item)]
    return [value] if isinstance(value, torch.Tensor | adjoint.Tensor) else []


def gradients(value):
    """("value", gradients of the leaves) of the sum of a result, or ("error", the exception)."""
    result, tensors = value
    tensors = [tensor for tensor in tensors if tensor.requires_grad and tensor.is_leaf]
    outputs = [output for output in flat(result) if output.requires_grad]
    if not tensors or not outputs:
        return "value", None
    total = sum((output.real if output.is_complex() else output).sum() for output in outputs)
    try:
        total.backward()
    except Exception as error:
        return "error", error
    return "value", [tensor.grad for tensor in tensors]


def compare(expected, got, values=True, slack=1.0):
    """How two outcomes differ, or None."""
    if expected[0] != got[0]:
        return f"torch: {shown(expected)}; adjoint: {shown(got)}"
    if expected[0] == "error":
        accident = not isinstance(got[1], REFUSALS) and type(got[1]) is not type(expected[1])
        return f"torch: {shown(expected)}; adjoint: {shown(got)}" if accident else None
    return difference(expected[1], got[1], values, slack=slack)


def shown(outcome):
    """An outcome in a few words."""
    kind, value = outcome
    if kind == "error":
        text = str(value).strip().splitlines()
        return f"{type(value).__name__}: {text[0][:140] if text else ''}"
    value = value[0] if isinstance(value, tuple) else value
    text = repr(value).replace("\n", " ")
    return text if len(text) < 120 else text[:120] + "..."


def crashes(line, expected):
    """Whether torch's backward would end the process: that of pdist() of no elements."""
    return ".pdist(" in line and any(tensor.numel() == 0 for tensor in expected[1][1])


def problem(line):
    """How the libraries differ on a line, or None when they agree or differ in an accepted way."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, got = run(line, torch), run(line, adjoint)
        values = not UNWRITTEN.search(line)
        # Where half types take part, wider results are no more exact than these.
        slack = 500.0 if HALF.search(line) else 1.0
        reason = compare(expected, got, values) and compare(expected, got, values, slack)
        if reason is None and expected[0] == "value":
            wanted, found = ([t.requires_grad for t in flat(outcome[1])] for outcome in (expected, got))
            if wanted != found:
                reason = f"requires_grad: {wanted} expected, got {found}"
            elif any(wanted) and values and not UP_TO_TIES.search(line) and not crashes(line, expected):
                reason = compare(gradients(expected[1]), gradients(got[1]), slack=slack)
                reason = reason and f"gradient: {reason}"
    return None if reason is None or accepted(line, reason) else reason
