"""Ops without a batch rule under vmap: called once for each element of the batch."""

import warnings

from .. import _C
from ..ops.batching import call, of_some, sizes_differ
from ..ops.language import stack

_warned = set()


@of_some
def call_each(op, size, batched, *arguments):
    """The results of calls with each element of the batched arguments, stacked; what the op refuses is no loop."""

    def one(i):
        given = zip(arguments, batched, strict=True)
        return call(op, *(_element(value, i) if is_batched else value for value, is_batched in given))

    results = [one(0)]
    if op.__name__ not in _warned:
        _warned.add(op.__name__)
        warnings.warn(
            f"vmap: there is a performance drop because {op.__name__} has no batch rule: it is called once for each "
            f"of {size} elements",
            stacklevel=2,
        )
    results += [one(i) for i in range(1, size)]
    if not isinstance(results[0], tuple):
        return _stacked(op, results)
    return tuple(_stacked(op, one) for one in zip(*results, strict=True))


def _stacked(op, results):
    sizes = {tuple(result.shape) for result in results}
    if len(sizes) > 1:
        raise sizes_differ(op, sorted(sizes))
    return stack(results)


def _element(value, i):
    if isinstance(value, _C.Tensor):
        return value[i]
    return tuple(one[i] if isinstance(one, _C.Tensor) else one for one in value)
