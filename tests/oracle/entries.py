"""The operator database: its entries by name, Adjoint's counterparts, and what cannot be compared like the rest."""

import functools
import types
import warnings

import torch

from .translate import TESTING, Translator, counterpart

CUDA = "on CUDA alone"

# Entries that make no sense here.
LEFT_OUT = {
    "jiterator_unary": CUDA,
    "jiterator_binary": CUDA,
    "jiterator_4inputs_with_extra_args": CUDA,
    "jiterator_binary_return_by_ref": CUDA,
    "jiterator_2inputs_2outputs": CUDA,
    "torch.ops.aten._flash_attention_forward": CUDA,
    "torch.ops.aten._efficient_attention_forward": CUDA,
}

# Levels at which torch has nothing to compare with on a CPU; they count nowhere.
NOTHING = {name: ("forward", "gradient", "second", "errors") for name, why in LEFT_OUT.items() if why == CUDA} | {
    "nn.functional.batch_norm.without_cudnn": ("forward", "gradient", "second", "errors"),  # of no type
    "nn.functional.one_hot": ("gradient", "second"),  # of integers
    "nn.functional.ctc_loss": ("second",),  # its backward has none
    "sparse.sampled_addmm": ("second",),  # nor has this one
}

# Where the two differ and this library is right, and why; docs/differences.md has them, too.
EXPLAINED = {
    "as_strided.partial_views": "it looks at memory beside the tensor's, where a tangent has none",
    "as_strided_scatter": "torch's gradient of the input is that of the elements that were replaced, not of the others",
    "istft": "torch gives the window no gradient where it is shorter than n_fft",
    "masked.logaddexp": "torch's second gradient is nan where an exponential overflows",
    "matrix_exp": "torch's result of half types is garbage: of the identity matrix it is -20896",
    "nn.functional.linear_cross_entropy.chunked": "torch's second gradient is 0",
}

# Results without values: only structure, shape and dtype are compared.
WITHOUT_VALUES = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}

# Where torch itself is less exact than its type, by this factor: both Bessel functions are off by 3e-7 near 5.5.
LESS_EXACT = {
    "special.bessel_j0": 10.0,
    "special.bessel_y1": 10.0,
    # Second gradients of nearly equal singular values: torch's own move by 2e-8 when the input moves by one rounding.
    "svd_lowrank": 10.0,
    "pca_lowrank": 10.0,
}

# Factors that are unique up to signs or phases: compared after the database's own reduction to what is unique.
UP_TO_PHASE = {
    "svd",
    "linalg.svd",
    "linalg.eig",
    "linalg.eigh",
    "svd_lowrank",
    "pca_lowrank",
}

# Places of equal elements, which may come in any order unless the sort is stable: compared by what lies there.
# The number is the place of `dim` among the arguments.
UP_TO_TIES = {"sort": 1, "argsort": 1, "topk": 2, "kthvalue": 2, "mode": 1}


def unique_part(name, result, positional, named):
    """What of an entry's result is the same in every correct implementation."""
    if name not in UP_TO_TIES or named.get("stable"):
        return result
    place = UP_TO_TIES[name]
    dim = positional[place] if len(positional) > place else named.get("dim", -1)
    if name == "argsort":
        return positional[0].gather(dim, result)
    reduced = result[1].ndim < positional[0].ndim
    places = result[1].unsqueeze(dim) if reduced else result[1]
    found = positional[0].gather(dim, places)
    return type(result)((result[0], found.squeeze(dim) if reduced else found))


def full_name(op):
    """The entry's name, with its variant behind a dot."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


@functools.cache
def entries():
    """All entries of the database by full name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {full_name(op): op for op in op_db}


def found(path):
    """torch's callable of this dotted name, or None."""
    result = torch
    for part in path.split("."):
        result = getattr(result, part, None)
    return result if callable(result) else None


def ours(op):
    """What to call in Adjoint for an entry; raises Untranslatable where there is nothing."""
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith(TESTING):
        return Translator()(op.op)
    if isinstance(op.op, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return counterpart(f"ops.{op.op}")
    if op.name == "_segment_reduce":  # an alias, which torch has no name of
        return counterpart("segment_reduce")
    return counterpart(op.name.removeprefix("torch.") if found(op.name) else f"Tensor.{op.name}")
