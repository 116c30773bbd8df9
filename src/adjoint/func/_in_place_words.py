"""What is said of in-place ops that would write what differs from element to element into a tensor that all share."""

from .._running import levels

# What torch calls these ops; others by their names in its library, aten::name_.
_ARITHMETIC = "sub mul multiply div divide true_divide copy logical_and logical_or logical_xor clamp_min clamp_max"
_ITSELF = ("fill_", "index_add_", "index_fill_", "index_put_", "scatter_add_", "scatter_reduce_")
_NAMES = {
    **{f"{name}_": "inplace arithmetic" for name in [*_ARITHMETIC.split(), "masked_fill"]},
    **{name: name for name in _ITSELF},
    "bernoulli_": "inplace bernoulli",
}
# Ops of which it says no more than that sizes do not fit.
_BITWISE = [f"bitwise_{name}_" for name in ("and", "or", "xor", "left_shift", "right_shift")]
_OF_SIZES = frozenset(["add_", "atan2_", "arctan2_", "copysign_", "gcd_", "lcm_", *_BITWISE])


def change_of_shared(name, sizes, batch, number):
    """The words, for a tensor of these sizes, a batch and the number of its level."""
    cause = (
        f"{name}() writes into a tensor that all elements of the batch share; make it of one that is batched, as "
        f"x.new_zeros() does, or use {name.rstrip('_')}()"
    )
    if name in _OF_SIZES:
        return f"output with shape {list(sizes)} doesn't match the broadcast shape {[batch, *sizes]}: {cause}"
    known, where = _NAMES.get(name), "in a vmap"
    if known is None:
        depth = next((i for i, running in enumerate(levels(), 1) if running.level == number), 1)
        known, where = f"aten::{name}", f"at level {depth}"
    return (
        f"vmap: {known}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that "
        "has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
        f"over {where}. Please try to use out-of-place operators instead of {known}: {cause}"
    )
