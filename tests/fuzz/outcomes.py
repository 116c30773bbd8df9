"""Runs a line on both libraries and says how the outcomes differ."""

import re

import numpy as np
import torch

import adjoint
from tests.compare import FORM, SUMS, VALUES, difference, errors_agree, outcome, plain, tensors_in
from tests.oracle.check import REFUSALS
from tests.oracle.entries import WITHOUT_VALUES

from .accepted import accepted

# Results with memory that nobody has written.
UNWRITTEN = re.compile(r"\.(" + "|".join([*WITHOUT_VALUES, "resize_", "resize_as_"]) + r")\(")
# Which of several equal elements is found is left open.
UP_TO_TIES = re.compile(r"\.(topk|kthvalue|mode|median|nanmedian)\(")
HALF = re.compile(r"float16")


def run(line, library):
    """The outcome of a line: the result, and the tensors that it is made of."""

    def call(library):
        space = {"torch": library, "np": np}
        library.manual_seed(7)
        exec(line, space)
        tensors = [space[name] for name in sorted(space) if name.startswith("x") and name[1:].isdigit()]
        result = listed(space.get("r"))
        if isinstance(result, tuple) and UP_TO_TIES.search(line):
            result = (result[0], result[1].shape)
        return result, tensors

    return outcome(call, library, look=None)


def listed(value):
    """A result with lists for NumPy's arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)([listed(item) for item in value]) if type(value) in (list, tuple) else value


def gradients(came, library):
    """The outcome of a backward from the sum of a result: the gradients of its leaves."""
    result, tensors = came.value
    tensors = [tensor for tensor in tensors if tensor.requires_grad and tensor.is_leaf]
    outputs = [output for output in tensors_in(result) if output.requires_grad]

    def call(_):
        if not tensors or not outputs:
            return None
        sum((output.real if output.is_complex() else output).sum() for output in outputs).backward()
        return [tensor.grad for tensor in tensors]

    return outcome(call, library, look=None)


def on_purpose(ours, theirs):
    """Any words of a refusal will do, but not an accident, unless it is torch's too."""
    return isinstance(ours, REFUSALS) or type(ours) is type(theirs)


def compare(ours, theirs, look, slack=1.0):
    """How two outcomes differ, or None."""
    if not errors_agree(ours, theirs, on_purpose):
        return f"torch: {shown(theirs)}; adjoint: {shown(ours)}"
    bound = {kind: bound * slack for kind, bound in SUMS.items()}
    return difference(plain(ours.value, look), plain(theirs.value, look), bound)


def shown(came):
    """An outcome in a few words."""
    if came.error is not None:
        text = came.message.strip().splitlines()
        return f"{came.kind}: {text[0][:140] if text else ''}"
    value = came.value[0] if isinstance(came.value, tuple) else came.value
    text = repr(value).replace("\n", " ")
    return text if len(text) < 120 else text[:120] + "..."


def crashes(line, theirs):
    """Whether torch's backward would end the process: that of pdist() of no elements."""
    return ".pdist(" in line and any(tensor.numel() == 0 for tensor in theirs.value[1])


def problem(line):
    """How the libraries differ on a line, or None when they agree or differ in an accepted way."""
    theirs, ours = run(line, torch), run(line, adjoint)
    look = FORM if UNWRITTEN.search(line) else VALUES
    # Where half types take part, wider results are no more exact than these.
    slack = 500.0 if HALF.search(line) else 1.0
    reason = compare(ours, theirs, look) and compare(ours, theirs, look, slack)
    if reason is None and theirs.error is None:
        wanted, found = ([t.requires_grad for t in tensors_in(each.value)] for each in (theirs, ours))
        if wanted != found:
            reason = f"requires_grad: {wanted} expected, got {found}"
        elif any(wanted) and look is VALUES and not UP_TO_TIES.search(line) and not crashes(line, theirs):
            reason = compare(gradients(ours, adjoint), gradients(theirs, torch), VALUES, slack)
            reason = reason and f"gradient: {reason}"
    return None if reason is None or accepted(line, reason) else reason
