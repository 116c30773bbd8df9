"""The operator database: its entries by name, Adjoint's counterparts, and what cannot be compared like the rest."""

import functools
import types
import warnings

import torch

from .translate import TESTING, Translator, counterpart

PRIVATE = "private kernel"
CUDA = "CUDA only"

# Entries that make no sense here.
LEFT_OUT = {
    "jiterator_unary": CUDA,
    "jiterator_binary": CUDA,
    "jiterator_4inputs_with_extra_args": CUDA,
    "jiterator_binary_return_by_ref": CUDA,
    "jiterator_2inputs_2outputs": CUDA,
    "_softmax_backward_data": PRIVATE,
    "_native_batch_norm_legit": PRIVATE,
    "_batch_norm_with_update": PRIVATE,
    "_upsample_bilinear2d_aa": PRIVATE,
    "max_pool2d_with_indices_backward": PRIVATE,
    "native_dropout_backward": PRIVATE,
    "torch._scaled_mm": PRIVATE,
    "torch._scaled_mm_v2": PRIVATE,
    "torch.ops.aten._safe_softmax.default": PRIVATE,
    "torch.ops.aten._flash_attention_forward": PRIVATE,
    "torch.ops.aten._efficient_attention_forward": PRIVATE,
    "slice": "private kernel; slices are __getitem__",
    "_unsafe_masked_index": PRIVATE,
    "_unsafe_masked_index_put_accumulate": PRIVATE,
    "_chunk_cat": PRIVATE,
    "_segment_reduce.lengths": PRIVATE,
    "_segment_reduce.offsets": PRIVATE,
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
    return counterpart(op.name if found(op.name) else f"Tensor.{op.name}")
