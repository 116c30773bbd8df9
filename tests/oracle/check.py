"""All comparisons of one entry: results, variants, first and second gradients, and the inputs that must raise."""

import dataclasses
import functools
import random
import unittest.mock
import warnings

import numpy as np
import torch

import adjoint
from tests.compare import FORM, SUMS, VALUES, Tensor, difference, plain, tensors_in

from .entries import LEFT_OUT, LESS_EXACT, NOTHING, UP_TO_PHASE, WITHOUT_VALUES, entries, ours, unique_part
from .translate import Translator, Untranslatable, counterpart, tensor

LEVELS = ("forward", "gradient", "second", "errors")
DIFFERENTIABLE = ("float64", "float32", "complex128")
FORWARD_ONLY = ("int64", "int32", "int16", "int8", "uint8", "bool", "float16", "bfloat16", "float8_e4m3fn")
DTYPES = DIFFERENTIABLE + FORWARD_ONLY

# torch.manual_seed notes a traceback for each device that is not there, which took most of the time.
seed_the_cpu = unittest.mock.patch.object(torch, "manual_seed", torch.default_generator.manual_seed)

# What a library may raise on purpose; anything else is an accident.
REFUSALS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)


@dataclasses.dataclass
class Plan:
    """How much is compared: samples per type (None: all), and samples for each variant of the call."""

    samples: dict
    variants: int


# What QUICK looks at is part of what FULL looks at.
FULL = Plan({"float64": None, "float32": 16, "complex128": 16} | dict.fromkeys(FORWARD_ONLY, 8), variants=3)
QUICK = Plan({"float64": 5, "float32": 2, "complex128": 2, "int64": 2, "bool": 2, "bfloat16": 1}, variants=1)


class Findings:
    """Why an entry does not agree: reasons by level; a level without reasons agrees."""

    def __init__(self, op):
        self.reasons = {"forward": []}
        if op.supports_autograd:
            self.reasons["gradient"] = []
        if op.supports_autograd and op.supports_gradgrad:
            self.reasons["second"] = []
        self.reasons["errors"] = []
        self.compared = {"errors"}

    def add(self, level, reason):
        if level in self.reasons and reason not in self.reasons[level]:
            self.reasons[level].append(reason)

    def add_everywhere(self, reason):
        for level in self.reasons:
            self.add(level, reason)


def check(name, plan=FULL, dtypes=DTYPES):
    """The findings of one entry."""
    op = entries()[name]
    findings = Findings(op)
    if name in LEFT_OUT:
        findings.add_everywhere(f"left out: {LEFT_OUT[name]}")
        return findings.reasons
    try:
        function = ours(op)
    except Untranslatable as error:
        findings.add_everywhere(str(error))
        return findings.reasons
    with warnings.catch_warnings(), seed_the_cpu:
        warnings.simplefilter("ignore")
        Entry(name, op, function, findings).check(plan, dtypes)
    if plan == FULL and tuple(dtypes) == DTYPES:
        for level in findings.reasons.keys() - findings.compared:
            if not findings.reasons[level] and level not in NOTHING.get(name, ()):
                findings.add(level, "no sample could be compared")
        for level in findings.compared & set(NOTHING.get(name, ())) - {"errors"}:
            findings.add(level, "there is something to compare after all")
    return findings.reasons


class Entry:
    """One entry while it is compared."""

    def __init__(self, name, op, function, findings):
        self.name, self.op, self.function, self.findings = name, op, function, findings

    def check(self, plan, dtypes):
        variants = plan.variants
        for dtype in dtypes:
            if dtype in plan.samples and self.op.supports_dtype(getattr(torch, dtype), "cpu"):
                self.check_dtype(dtype, plan.samples[dtype], variants)
                variants = 0
        self.check_errors()

    def check_dtype(self, dtype, count, variants):
        kind = getattr(torch, dtype)
        differentiable = dtype in DIFFERENTIABLE and kind in self.op.supported_backward_dtypes("cpu")
        levels = [level for level in LEVELS[: 3 if differentiable else 1] if level in self.findings.reasons]
        seed()
        samples = spread(list(self.op.sample_inputs("cpu", kind, requires_grad=len(levels) > 1)), count)
        for index, sample in enumerate(samples):
            if levels:
                reasons = Call(self, sample, self.op.op, self.function).compare(levels)
                # One reason is enough for a type; levels that others build on are not looked at again.
                levels = levels[: len(levels) - len(reasons)]
                self.add(f"{dtype} sample {index}", reasons)
            if index < variants:
                self.check_variants(f"{dtype} sample {index}", sample, levels)

    def add(self, where, reasons):
        for level, reason in reasons:
            self.findings.add(level, f"{where}: {reason}")

    def check_variants(self, where, sample, levels):
        """The method, operator, aliases, in-place forms and out= agree like the function."""
        op = self.op
        variants = {"method": op.method_variant, "operator": op.operator_variant}
        for kind, function in variants.items():
            self.check_variant(f"{where}: {kind}", sample, function, levels)
        for alias in op.aliases:
            path = alias.name.removeprefix("torch.")
            self.check_variant(f"{where}: alias {path}", sample, alias.op, levels, path)
        if isinstance(sample.input, torch.Tensor) and not sample.broadcasts_input:
            for function in [op.inplace_variant] + [alias.inplace_variant for alias in op.aliases]:
                self.check_variant(f"{where}: in-place", sample, function, levels[:2], change=in_place)
        if op.supports_out:
            self.check_out(f"{where}: out=", sample)

    def check_out(self, where, sample):
        """out= gives torch's result wherever torch takes it."""
        with torch.no_grad(), adjoint.no_grad():
            results = called(self.op.op, arguments(sample))
            if isinstance(results, Raised):
                return
            if isinstance(called(with_out(self.op.op, results), arguments(sample)), Raised):
                return
            mine = with_out(self.function, Translator()(bare(results)))
            self.add(where, Call(self, sample, self.op.op, mine).compare(["forward"]))

    def check_variant(self, where, sample, function, levels, path=None, change=lambda function: function):
        if function is None:
            return
        try:
            mine = counterpart(path) if path else Translator()(function)
        except Untranslatable as error:
            self.findings.add("forward", f"{where}: {error}")
            return
        # The levels that build on the one that differs are those of the function itself.
        self.add(where, Call(self, sample, change(function), change(mine)).compare(levels)[:1])

    def check_errors(self):
        """Inputs that torch refuses: Adjoint must refuse them too."""
        if self.op.error_inputs_func is None:
            return
        seed()
        for index, error in enumerate(self.op.error_inputs("cpu")):
            sample = error.sample_input
            if not isinstance(called(self.op.op, arguments(sample)), Raised):
                continue
            try:
                got = called(self.function, Translator()(arguments(sample)))
            except Untranslatable as reason:
                self.findings.add("errors", f"error input {index}: {reason}")
                continue
            except REFUSALS:  # the argument itself cannot be made, say with too many dimensions
                continue
            if not isinstance(got, Raised):
                words = str(error.error_regex)[:100]
                self.findings.add("errors", f"error input {index} does not raise ({words})")
            elif not got.on_purpose:
                self.findings.add("errors", f"error input {index} {got}")


class Raised:
    """A call that raised."""

    def __init__(self, error):
        self.error = error
        self.on_purpose = isinstance(error, REFUSALS)

    def __str__(self):
        """The error in one line; a name that Adjoint does not have is called so."""
        if isinstance(self.error, AttributeError) and self.error.name:
            owner = self.error.obj
            path = "Tensor" if isinstance(owner, Tensor) else getattr(owner, "__name__", "")
            path = path.removeprefix("adjoint").removeprefix(".")
            return f"missing name: {path}.{self.error.name}".replace(": .", ": ")
        return f"raises {type(self.error).__name__}: {' '.join(str(self.error).split())[:160]}"


class Run:
    """One call in one library: its result, then its gradients, each worked out when it is asked for."""

    def __init__(self, package, function, call, process):
        self.package, self.function, self.call, self.process = package, function, call, process
        self.inputs = [x for x in tensors_in(call) if x.requires_grad]

    @functools.cached_property
    def result(self):
        return called(self.function, self.call)

    @functools.cached_property
    def processed(self):
        """The part of the result that gradients are taken of, as the database says."""
        return attempt(self.process, self.result)

    @functools.cached_property
    def first(self):
        """Gradients of the random weighted sum of all results."""
        if isinstance(self.processed, Raised):
            return self.processed
        outputs = [x for x in tensors_in(self.processed) if x.requires_grad]
        self.weights = self.cotangents(outputs, 0)
        return self.gradients(outputs, self.inputs, self.weights)

    @functools.cached_property
    def second(self):
        """Gradients of such a sum of the first gradients; also with respect to the first weights."""
        first = [x for x in self.first if x is not None and x.requires_grad]
        inputs = self.inputs + self.weights
        return self.gradients(first, inputs, [w.detach() for w in self.cotangents(first, 100)])

    def has(self, level):
        """Whether there is anything to compare: gradients may exist for no input; second ones may all be zero."""
        return level == "forward" or any(x is not None for x in self.first)

    def gradients(self, outputs, inputs, weights):
        if not outputs:
            return (None,) * len(inputs)
        grad = self.package.autograd.grad
        return attempt(grad, outputs, inputs, weights, create_graph=True, allow_unused=True)

    def cotangents(self, outputs, seed):
        """Random weights, the same in every library and precision."""
        weights = []
        for index, output in enumerate(outputs):
            generator = torch.Generator().manual_seed(seed + index)
            rough = torch.complex64 if output.is_complex() else torch.float32
            weight = torch.randn(tuple(output.shape), dtype=rough, generator=generator)
            weight = weight.to(getattr(torch, str(output.dtype).removeprefix("torch."))).requires_grad_()
            weights.append(weight if self.package is torch else tensor(weight))
        return weights


def widened(value):
    """The same data in double precision."""
    if isinstance(value, torch.Tensor):
        narrow = value.dtype in (torch.float32, torch.float16, torch.bfloat16)
        return value.detach().double().requires_grad_(value.requires_grad) if narrow else value
    if isinstance(value, dict):
        return {key: widened(item) for key, item in value.items()}
    return type(value)(map(widened, value)) if type(value) in (tuple, list) else value


class Call:
    """One call of one sample in both libraries."""

    def __init__(self, entry, sample, theirs, mine):
        """`theirs` and `mine` are the functions."""
        self.name, self.sample, self.theirs, self.mine = entry.name, sample, theirs, mine
        self.compared = entry.findings.compared

    def compare(self, levels):
        """(level, reason) of the first level that differs, and of those that build on it."""
        translate = Translator()
        call = arguments(self.sample)
        process = self.sample.output_process_fn_grad
        # Calls may change their arguments: the copies are taken before.
        wide = widened(call)
        try:
            mine = Run(adjoint, self.mine, translate(call), translate(process))
        except Untranslatable as error:
            return [(level, str(error)) for level in levels]
        theirs = Run(torch, self.theirs, call, process)
        versions = [(x, x._version) for x in tensors_in(call)]
        truth = Run(torch, self.theirs, wide, process)
        for place, level in enumerate(levels):
            aspect = {"forward": self.forward, "gradient": gradient, "second": second}[level]
            expected = aspect(theirs)
            if isinstance(expected, Raised):
                return []
            if theirs.has(level):
                self.compared.add(level)
            reason = self.difference(expected, aspect(mine), truth, aspect)
            if level == "forward":
                # Parts that are not unique are of the right kind at least.
                reason = reason or difference(plain(mine.result, FORM), plain(theirs.result, FORM))
                for changed in [x for x, version in versions if x._version != version]:
                    after = difference(plain(translate(changed), VALUES), plain(changed, VALUES), SUMS)
                    reason = reason or prefixed("the argument after the call", after)
            if reason:
                return [(later, reason) for later in levels[place:]]
        return []

    def difference(self, expected, got, truth, aspect):
        """Why an aspect of two runs differs; rounding is judged by a third run in double precision."""
        if isinstance(got, Raised):
            return str(got)
        look = FORM if self.name in WITHOUT_VALUES else VALUES
        bound = {dtype: bound * LESS_EXACT.get(self.name, 1.0) for dtype, bound in SUMS.items()}
        got, expected = plain(got, look), plain(expected, look)
        reason = difference(got, expected, bound)
        if not reason or not reason.startswith("value"):
            return reason
        exact = attempt(aspect, truth)
        return reason if isinstance(exact, Raised) else difference(got, expected, bound, plain(exact, look))

    def forward(self, run):
        if isinstance(run.result, Raised):
            return run.result
        return run.processed if self.name in UP_TO_PHASE else unique_part(self.name, run.result, *run.call)


def gradient(run):
    return run.first


def second(run):
    """A gradient that is zero by construction may be there or not, depending on how a rule is written."""
    if isinstance(run.second, Raised):
        return run.second
    inputs = run.inputs + run.weights
    return tuple(run.package.zeros_like(x) if g is None else g for x, g in zip(inputs, run.second, strict=True))


def with_out(function, results):
    """The call with out= tensors of the right shape, which must be what it returns."""

    def call(*positional, **named):
        out = [x.detach().clone().fill_(0) for x in tensors_in(results)]
        returned = function(*positional, **named, out=out[0] if isinstance(results, Tensor) else tuple(out))
        if not all(x is y for x, y in zip(tensors_in(returned), out, strict=True)):
            raise RuntimeError("the result is not the tensor given as out")
        return returned

    return call


def in_place(function):
    """The in-place call on a copy of its first argument."""
    return lambda first, *rest, **named: function(first.clone(), *rest, **named)


def prefixed(words, reason):
    return f"{words}: {reason}" if reason else None


def arguments(sample):
    """The positional and the named arguments of a sample."""
    return ((sample.input, *sample.args), dict(sample.kwargs))


def bare(results):
    """One tensor or a list of them."""
    return results if isinstance(results, torch.Tensor) else tensors_in(results)


def attempt(function, *positional, **named):
    """The result of a call, or what it raised; random numbers start from the same seed."""
    seed()
    try:
        return function(*positional, **named)
    except Exception as error:
        return Raised(error)


def called(function, call):
    return attempt(function, *call[0], **call[1])


def seed():
    for set_seed in (random.seed, np.random.seed, torch.manual_seed, adjoint.manual_seed):
        set_seed(0)


def spread(items, count):
    """At most `count` items, evenly over the list."""
    if count is None or len(items) <= count:
        return items
    return [items[i * len(items) // count] for i in range(count)]
