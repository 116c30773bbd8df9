"""torch._foreach_* beside torch, by the samples of its own database: results, in-place forms, gradients, refusals."""

import functools
import itertools
import warnings

import torch

import adjoint
from tests.compare import SUMS, VALUES, difference, plain, tensors_in

from .check import Raised, Run, attempt, seed, seed_the_cpu, widened
from .translate import Translator, Untranslatable

DTYPES = ("float64", "float32", "complex128", "int64", "bool", "bfloat16")
FAMILIES = ("binary", "other", "pointwise", "reduce", "unary")


@functools.cache
def entries():
    """The entries of the database by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations as database
    found = itertools.chain(*(getattr(database, f"foreach_{family}_op_db") for family in FAMILIES))
    return {entry.name: entry for entry in found}


def forms(entry):
    """The functions of an entry that there are, by name: new tensors, and in place."""
    names = (entry.method_variant or entry.op, entry.inplace_variant)
    return [function for function in names if function is not None]


def check(name, dtypes=DTYPES, count=None):
    """Why an entry does not agree with torch: a list of reasons."""
    entry, reasons = entries()[name], []
    with warnings.catch_warnings(), seed_the_cpu:
        warnings.simplefilter("ignore")
        for dtype in dtypes:
            kind = getattr(torch, dtype)
            for function in forms(entry):
                seed()
                samples = entry.sample_inputs("cpu", kind, requires_grad=False, noncontiguous=False)
                for index, sample in enumerate(itertools.islice(samples, count)):
                    reason = compare(function, sample, kind.is_floating_point or kind.is_complex)
                    if reason:
                        reasons.append(f"{function.__name__} {dtype} sample {index}: {reason}")
                        break
    return reasons


def compare(function, sample, differentiable):
    """Why a call differs; gradients are compared where torch has them."""
    call = ((sample.input, *sample.args), dict(sample.kwargs))
    in_place = function.__name__.endswith("_")
    if differentiable and not in_place:
        for x in tensors_in(call):
            if x.is_floating_point() or x.is_complex():
                x.requires_grad_()
    wide = copied(widened(call))
    try:
        given = Translator()(call)
    except Untranslatable as reason:
        return str(reason)
    mine = Run(adjoint, getattr(adjoint, function.__name__), given, lambda result: result)
    theirs, truth = (Run(torch, function, one, lambda result: result) for one in (call, wide))
    if isinstance(theirs.result, Raised):
        same = isinstance(mine.result, Raised) and type(mine.result.error) is type(theirs.result.error)
        return None if same else f"{theirs.result} expected, got {str(mine.result)[:200]}"
    if isinstance(mine.result, Raised):
        return str(mine.result)
    reason = judged(mine.result, theirs.result, truth.result)
    if reason or not differentiable or in_place or isinstance(theirs.first, Raised):
        return reason
    if isinstance(mine.first, Raised):
        return f"gradient: {mine.first}"
    reason = judged(mine.first, theirs.first, attempt(lambda: truth.first))
    return reason and f"gradient: {reason}"


def copied(value):
    """The same tensors in memory of their own: what is in double precision already would be written into twice."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return type(value)(map(copied, value)) if type(value) in (tuple, list) else value


def judged(got, expected, exact):
    """Why values differ; rounding is judged by those in double precision."""
    got, expected = plain(got, VALUES), plain(expected, VALUES)
    reason = difference(got, expected, SUMS)
    if not reason or not reason.startswith("value") or isinstance(exact, Raised):
        return reason
    return difference(got, expected, SUMS, plain(exact, VALUES))
