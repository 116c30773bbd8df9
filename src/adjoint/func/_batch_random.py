"""Random numbers under vmap: others for each element of the batch, or the same for all."""

from ..ops.batching import call, is_tensor, repeated
from ..ops.language import TABLE, stack


def draw(op, size, different, *arguments):
    """What op(*arguments) draws, with the batch first; batched tensors among the arguments have it there already."""
    names = TABLE[op.__name__].arguments
    arguments = list(arguments)
    tensors = [i for i, value in enumerate(arguments) if is_tensor(value)]
    if not tensors:
        if "size" not in names:
            return stack([call(op, *arguments) for _ in range(size)])
        place = names.index("size")
        sizes = arguments[place]
        arguments[place] = (size, *(sizes if isinstance(sizes, tuple | list) else (sizes,)))
        return call(op, *arguments)
    rank = max(arguments[i].dim() for i in tensors)
    if different:
        return call(op, *[_whole(value, size, rank) if is_tensor(value) else value for value in arguments])
    if op.__name__.endswith("_like"):
        arguments[tensors[0]] = arguments[tensors[0]][0]
        return repeated(call(op, *arguments), size)
    raise RuntimeError(
        f"vmap: Vmapping over {op.__name__} with randomness='same' is not possible where its probabilities differ from "
        "element to element: use randomness='different', or draw outside of vmap"
    )


def _whole(value, size, rank):
    return value if value.dim() == rank and value.shape[0] == size else repeated(value, size)
