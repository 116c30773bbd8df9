"""Random numbers under vmap: others for each element of the batch, or the same for all."""

from ..ops.batching import call, is_tensor, lined_up, repeated, same_draws, with_batch
from ..ops.language import TABLE, stack


def draw(op, size, different, batched, *arguments):
    """What op(*arguments) draws, with the batch first; batched tensors among the arguments have it there already."""
    names = TABLE[op.__name__].arguments
    tensors = [value for value in arguments if is_tensor(value)]
    if not tensors:
        return _without_tensors(op, size, names, list(arguments))
    if different:
        given = with_batch(size, batched, arguments)
        rank = max(value.dim() for value in given if is_tensor(value)) - 1
        return call(op, *(lined_up(value, rank) if is_tensor(value) else value for value in given))
    if op.__name__.endswith("_like"):
        like = arguments[0][0] if size else arguments[0].new_empty(arguments[0].shape[1:])
        return repeated(call(op, like, *arguments[1:]), size)
    raise same_draws(op.__name__)


def _without_tensors(op, size, names, arguments):
    if "size" not in names:
        return stack([call(op, *arguments) for _ in range(size or 1)])[:size]
    place = names.index("size")
    sizes = arguments[place]
    arguments[place] = (size, *(sizes if isinstance(sizes, tuple | list) else (sizes,)))
    return call(op, *arguments)
