"""Function transforms of the operator database: tangents beside torch's, vmap beside a loop, and both with gradients.

    python -m tests.oracle.transforms                     # how many entries hold, and which do not
    python -m tests.oracle.transforms --only 'linalg.*'

For each sample of an entry:

- `jvp`: the tangent of the results along random tangents of all inputs is torch's; where torch has none, its product
  with random weights is that of the tangents with the gradient, which torch has;
- `vmap`: over each tensor of the call, and over all, at the first dimension and at the last, the results are those of
  calls one by one;
- `gradient`: so are the gradients, of vmap(f) and in vmap(gradient of f);
- `empty`: over a batch of no elements, results and gradients have the sizes and types that they have of one; and single
  numbers in the place of tensors, where the op takes them, run under vmap and have a Jacobian.
"""

import argparse
import collections
import copy
import fnmatch
import sys
import time
import warnings

import torch

import adjoint
from tests.compare import SUMS, VALUES, difference, plain, tensors_in

from .check import REFUSALS, Raised, arguments, attempt, seed, seed_the_cpu, spread
from .entries import LEFT_OUT, LESS_EXACT, WITHOUT_VALUES, entries, ours
from .translate import Translator, Untranslatable, tensor

LEVELS = ("jvp", "vmap", "gradient", "empty")
BATCH = 3
RUNNING = "running_mean or running_var, which will be updated in place, were not batched"
# Entries that vmap refuses, by the words in which it does, as torch's does.
REFUSED = {
    "narrow": "calling .item()",  # the start is a number
    "tensor_split": "doesn't have storage",  # so are the places
    "nn.functional.one_hot": "explicit positive num_classes",  # as many columns as the values say
    "masked_select": "Attempted to vmap over `mask`",
    "__getitem__": "indexing with a boolean mask",
    "index_put": "indexing with a boolean mask",
    "resize_as_": "aten::resize_as_(self, *extra_args) is not possible",  # a tensor that all elements share
    "nonzero": "dynamic shape",
    "argwhere": "dynamic shape",
    "unique": "dynamic shape",
    "unique_consecutive": "dynamic shape",
    "normal": "same randomness with a batched tensor input",
    "multinomial": "same randomness with a batched tensor input",
    "normal.number_mean": "same randomness with a batched tensor input",
    "bernoulli": "same randomness with a batched tensor input",
    "nn.functional.batch_norm": RUNNING,
    "nn.functional.instance_norm": RUNNING,
    "native_batch_norm": RUNNING,
    "_native_batch_norm_legit": RUNNING,
    "_batch_norm_with_update": RUNNING,
}

# Of sparse tensors, which torch's transforms do not know; tests/sparse has what ours do.
SPARSE = ("sparse.mm.reduce", "sparse.sampled_addmm", "to_sparse")

# Whose tangents torch finds wrong, or not exactly: they are compared with its gradients.
GRADIENTS_ARE_RIGHT = (
    "scatter_reduce.prod",
    "logcumsumexp",
    "cholesky_inverse",
    "triangular_solve",
    "nn.functional.linear_cross_entropy.chunked",
    "nn.functional.linear_cross_entropy.chunked_none",
)


def replaced(tree, values):
    """A nested call with other tensors in the place of its own, in order."""
    if isinstance(tree, torch.Tensor | adjoint.Tensor):
        return next(values)
    if isinstance(tree, dict):
        return {key: replaced(item, values) for key, item in tree.items()}
    return type(tree)(replaced(item, values) for item in tree) if type(tree) in (tuple, list) else tree


def noise(like, number):
    """Random numbers of a tensor's shape, the same in both libraries."""
    generator = torch.Generator().manual_seed(number)
    kind = getattr(torch, str(like.dtype).removeprefix("torch."))
    numbers = torch.randn(tuple(like.shape), dtype=kind, generator=generator)
    return numbers if isinstance(like, torch.Tensor) else tensor(numbers)


class Function:
    """A call as a function of its tensors that have gradients, with a tuple of tensors as its result."""

    def __init__(self, package, function, call, process):
        self.package, self.function, self.call, self.process = package, function, call, process
        self.tensors = tensors_in(call)
        self.moving = [i for i, x in enumerate(self.tensors) if x.requires_grad]
        self.tensors = [x.detach() for x in self.tensors]

    @property
    def inputs(self):
        return tuple(self.tensors[i] for i in self.moving)

    def of_all(self, *tensors):
        """The results as the function of all tensors."""
        positional, named = replaced(self.call, iter(tensors))
        return tuple(tensors_in(self.process(self.function(*positional, **named))))

    def __call__(self, *inputs):
        """The results that may have derivatives."""
        tensors = list(self.tensors)
        for i, x in zip(self.moving, inputs, strict=True):
            tensors[i] = x
        return tuple(y for y in self.of_all(*tensors) if y.is_floating_point() or y.is_complex())

    def tangents(self):
        return tuple(noise(x, 10 + i) for i, x in enumerate(self.inputs))

    def jvp(self):
        return self.package.func.jvp(self, self.inputs, self.tangents())


def check_jvp(mine, theirs, bound, by_gradient):
    found = attempt(mine.jvp)
    if isinstance(found, Raised):
        return str(found)
    expected = None if by_gradient else attempt(theirs.jvp)
    if expected is not None and not isinstance(expected, Raised):
        return difference(plain(found, VALUES), plain(expected, VALUES), bound)
    # <w, J t> = <J^T w, t>
    leaves = [x.clone().requires_grad_() for x in theirs.inputs]
    outputs = [y for y in theirs(*leaves) if y.requires_grad]
    weights = [noise(y, 50 + i) for i, y in enumerate(outputs)]
    gradients = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
    pairs = zip(gradients, theirs.tangents(), strict=True)
    right = sum(inner_product(t, g) for g, t in pairs if g is not None)
    left = sum(inner_product(y, noise(y, 50 + i)) for i, y in enumerate(found[1]))
    return difference(plain(left, VALUES), plain(right, VALUES), bound)


def batches(x, dim):
    """BATCH tensors like x, alike enough for x's constraints, along a dimension."""
    others = [x] + [x if not (x.is_floating_point() or x.is_complex()) else x * (1 - i / 16) for i in range(1, BATCH)]
    return adjoint.stack(others, dim)


def is_refused(reason, words):
    return reason is not None and words is not None and words in reason


def check_vmap(function, bound, refused):
    """Over each tensor alone, and all of them; at the first place and the last."""
    for chosen in choices(function):
        for last in (False, True):
            reason = compare_vmap(function, chosen, last, bound)
            if reason and not is_refused(reason, refused):
                return f"over {list(chosen)}{', last' if last else ''}: {reason}"
    return None


def compare_vmap(function, chosen, last, bound):
    dims = [None if i not in chosen else x.dim() if last else 0 for i, x in enumerate(function.tensors)]
    given = [x if d is None else batches(x, d) for x, d in zip(function.tensors, dims, strict=True)]

    def one(k):
        return function.of_all(*(x if d is None else x.select(d, k).clone() for x, d in zip(given, dims, strict=True)))

    expected = attempt(lambda: [one(k) for k in range(BATCH)])
    if isinstance(expected, Raised) or not expected[0]:
        return None
    if len({tuple(y.shape for y in each) for each in expected}) > 1:
        return None
    found = attempt(lambda: adjoint.func.vmap(function.of_all, tuple(dims), randomness="same")(*given))
    if isinstance(found, Raised):
        return str(found)
    stacked = tuple(adjoint.stack(column) for column in zip(*expected, strict=True))
    return difference(plain(found, VALUES), plain(stacked, VALUES), bound)


def inner_product(x, y):
    return (x * y.conj()).sum().real if x.is_complex() else (x * y).sum()


def check_gradient(function, bound):
    """Gradients through vmap, and vmap of gradients."""
    stacks = [batches(x, 0) for x in function.inputs]

    def weighted(*inputs):
        return sum(inner_product(y, noise(y, i)) for i, y in enumerate(function(*inputs)))

    def gradient(*inputs):
        leaves = [x.detach().requires_grad_() for x in inputs]
        total = weighted(*leaves)
        found = adjoint.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else [None] * len(leaves)
        return tuple(adjoint.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True))

    rows = attempt(lambda: [gradient(*(x[k].clone() for x in stacks)) for k in range(BATCH)])
    if isinstance(rows, Raised):
        return None
    expected = plain(tuple(adjoint.stack(column) for column in zip(*rows, strict=True)), VALUES)
    mapped = adjoint.func.vmap(weighted, randomness="same")
    outer = attempt(lambda: adjoint.func.grad(lambda inputs: mapped(*inputs).sum())(tuple(stacks)))
    if isinstance(outer, Raised):
        return f"gradient of vmap: {outer}"
    if reason := difference(plain(outer, VALUES), expected, bound):
        return f"gradient of vmap: {reason}"
    numbers = tuple(range(len(stacks)))
    inner = attempt(lambda: adjoint.func.vmap(adjoint.func.grad(weighted, numbers), randomness="same")(*stacks))
    if isinstance(inner, Raised):
        return f"vmap of gradient: {inner}"
    if reason := difference(plain(inner, VALUES), expected, bound):
        return f"vmap of gradient: {reason}"
    return None


def none_of(x):
    return x.new_empty(0, *x.shape)


def other_sizes(found, expected, refused):
    """Why results have not the sizes and types of others; None where they have, or where vmap refuses the op."""
    if isinstance(found, Raised):
        return None if is_refused(str(found), refused) else str(found)
    got, expected = [[(tuple(y.shape), y.dtype) for y in each] for each in (found, expected)]
    return None if got == expected else f"{got} instead of {expected}"


def check_empty(function, refused):
    """Over a batch of no elements."""
    one = attempt(lambda: function.of_all(*(x.clone() for x in function.tensors)))
    if isinstance(one, Raised) or not one:
        return None
    expected = [none_of(y) for y in one]
    for chosen in choices(function):
        dims = tuple(0 if i in chosen else None for i in range(len(function.tensors)))
        given = [x if d is None else none_of(x) for x, d in zip(function.tensors, dims, strict=True)]
        found = attempt(lambda d=dims, g=given: adjoint.func.vmap(function.of_all, d, randomness="same")(*g))
        if reason := other_sizes(found, expected, refused):
            return f"over {list(chosen)}: {reason}"
    return check_empty_gradient(function, refused) if function.moving else None


def check_empty_gradient(function, refused):
    stacks, numbers = tuple(none_of(x) for x in function.inputs), tuple(range(len(function.moving)))

    def total(*inputs):
        return sum(inner_product(y, adjoint.ones_like(y)) for y in function(*inputs))

    if isinstance(attempt(lambda: adjoint.func.grad(total, numbers)(*function.inputs)), Raised):
        return None
    mapped = adjoint.func.vmap(total, randomness="same")
    outer = attempt(lambda: adjoint.func.grad(lambda inputs: mapped(*inputs).sum())(stacks))
    if reason := other_sizes(outer, stacks, refused):
        return f"gradient of vmap: {reason}"
    inner = attempt(lambda: adjoint.func.vmap(adjoint.func.grad(total, numbers), randomness="same")(*stacks))
    reason = other_sizes(inner, stacks, refused)
    return f"vmap of gradient: {reason}" if reason else None


def check_numbers(function, bound, refused):
    """Of tensors without dimensions, where the op takes such ones."""
    single = copy.copy(function)
    single.tensors = [x.flatten()[0].clone() if x.numel() else x.new_ones(()) for x in function.tensors]
    found = attempt(lambda: single.of_all(*single.tensors))
    if isinstance(found, Raised):
        return None
    reason = compare_vmap(single, tuple(range(len(single.tensors))), False, bound)
    if reason and not is_refused(reason, refused):
        return reason
    if reason := check_empty(single, refused):
        return reason
    if not single.moving or any(x.is_complex() for x in (*single.tensors, *found)):
        return None
    jacobian = attempt(lambda: adjoint.func.jacrev(single, tuple(range(len(single.moving))))(*single.inputs))
    refusing = isinstance(attempt(lambda: adjoint.func.vjp(single, *single.inputs)), Raised)
    return str(jacobian) if isinstance(jacobian, Raised) and not refusing else None


def check(name, samples=4, levels=LEVELS):
    """Reasons by level; None where there was nothing to compare."""
    op = entries()[name]
    if name in LEFT_OUT or name in WITHOUT_VALUES or name in SPARSE:
        return {}
    try:
        function = ours(op)
    except Untranslatable as error:
        return dict.fromkeys(levels, str(error))
    kind = torch.float64
    if not op.supports_dtype(kind, "cpu"):
        kind = next((k for k in (torch.complex128, torch.int64, torch.bool) if op.supports_dtype(k, "cpu")), None)
    if kind is None:
        return {}
    bound = {dtype: bound * 10 * LESS_EXACT.get(name, 1.0) for dtype, bound in SUMS.items()}
    reasons = {}
    differentiable = op.supports_autograd and kind in op.supported_backward_dtypes("cpu")
    with warnings.catch_warnings(), seed_the_cpu:
        warnings.simplefilter("ignore")
        seed()
        chosen = spread(list(op.sample_inputs("cpu", kind, requires_grad=differentiable)), samples)
        for index, sample in enumerate(chosen):
            translate = Translator()
            call, process = arguments(sample), sample.output_process_fn_grad
            try:
                mine = Function(adjoint, function, translate(call), translate(process))
            except Untranslatable as error:
                return dict.fromkeys(levels, str(error))
            theirs = Function(torch, op.op, call, process)
            for level in levels:
                if level in reasons or not (mine.tensors if level in ("vmap", "empty") else mine.moving):
                    continue
                if level == "jvp":
                    reason = check_jvp(mine, theirs, bound, name in GRADIENTS_ARE_RIGHT)
                elif level == "vmap":
                    reason = check_vmap(mine, bound, REFUSED.get(name))
                elif level == "empty":
                    reason = check_empty(mine, REFUSED.get(name)) or check_numbers(mine, bound, REFUSED.get(name))
                    reason = reason and f"a batch of none, or numbers: {reason}"
                else:
                    reason = check_gradient(mine, bound)
                    reason = None if is_refused(reason, REFUSED.get(name)) else reason
                if reason:
                    reasons[level] = f"sample {index}: {reason}"
    return reasons


def let_pass(name):
    """Of the inputs that must raise, the numbers of those that do, but not under vmap over all tensors, or over one."""
    op = entries()[name]
    if op.error_inputs_func is None or name in LEFT_OUT or name in WITHOUT_VALUES:
        return []
    found = []
    with warnings.catch_warnings(), seed_the_cpu:
        warnings.simplefilter("ignore")
        seed()
        for index, error in enumerate(op.error_inputs("cpu")):
            try:
                call = Translator()(arguments(error.sample_input))
                function = Function(adjoint, ours(op), call, lambda result: result)
            except (Untranslatable, *REFUSALS):  # or the argument itself cannot be made
                continue
            if "out" not in call[1] and isinstance(attempt(lambda f=function: f.of_all(*f.tensors)), Raised):
                found += [(index, chosen) for chosen in choices(function) if not refuses(function, chosen)]
    return found


def choices(function):
    """All tensors of a call, and each of several."""
    every = range(len(function.tensors))
    return [tuple(every)] * bool(every) + [(i,) for i in every if len(every) > 1]


def refuses(function, chosen):
    dims = tuple(0 if i in chosen else None for i in range(len(function.tensors)))
    given = [x if d is None else adjoint.stack([x, x]) for x, d in zip(function.tensors, dims, strict=True)]
    got = attempt(lambda: adjoint.func.vmap(function.of_all, dims, randomness="different")(*given))
    return isinstance(got, Raised) and got.on_purpose


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.transforms", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="entries by name, e.g. 'linalg.*'")
    parser.add_argument("--level", nargs="+", default=LEVELS, choices=LEVELS, help="only these comparisons")
    parser.add_argument("--samples", type=int, default=4, help="samples of each entry (4)")
    options = parser.parse_args()
    names = [name for name in entries() if any(fnmatch.fnmatch(name, pattern) for pattern in options.only)]
    failed, start = collections.Counter(), time.monotonic()
    for i, name in enumerate(names):
        for level, reason in check(name, options.samples, options.level).items():
            failed[level] += 1
            print(f"{name}: {level}: {reason[:300]}", flush=True)
        if i % 50 == 49:
            print(f"{i + 1}/{len(names)} {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    print(", ".join(f"{level}: {len(names) - failed[level]} of {len(names)}" for level in options.level))


if __name__ == "__main__":
    main()
