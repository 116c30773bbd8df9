"""Batch rules: how an op runs once for a whole batch, under vmap.

A rule is a function of (op, size, batched, *arguments): the op, the size of the batch, for each argument whether it is
batched, and the arguments of the op in their order, all of them. Batched tensors come with the batch as their first
dimension, in lists, too; a rule returns results that have it there, or NotImplemented, and then the op is called once
for each element. In a declaration, words stand for what most rules do:

    batch="..."       the op takes any number of dimensions before its own; all tensors are given the batch
    batch="dim"       the argument dim counts dimensions of the first tensor, of which there is one more now; all
                      tensors are given the batch. Several arguments may: batch="dim0 dim1"
    batch="dim?"      the same of a reduction, where None, or no dimension, means all of them
    batch="+size"     the argument size lists sizes, and begins with that of the batch
    batch="+size dim@size"   here dim counts dimensions of what has these sizes
"""

from .. import _C
from . import language
from .language import Tensor, _call_slots, cat, contiguous_format, is_grad_enabled, preserve_format, stack


def call(op, *arguments):
    """Calls an op with its arguments in order, those that are keywords to a user among them."""
    return _call_slots(op, arguments)


def is_tensor(value):
    return isinstance(value, Tensor)


def repeated(tensor, size):
    """A tensor that is not batched, once for each element, on the same memory."""
    return tensor.expand(size, *tensor.shape)


def with_batch(size, batched, arguments):
    """The arguments, each tensor with the batch as its first dimension."""
    return [
        repeated(value, size) if is_tensor(value) and not is_batched else value
        for value, is_batched in zip(arguments, batched, strict=True)
    ]


def lined_up(tensor, rank):
    """A tensor with the batch first, given dimensions of size 1 behind it: `rank` of them with its own."""
    missing = rank + 1 - tensor.dim()
    return tensor if missing <= 0 else tensor.reshape(tensor.shape[0], *(1,) * missing, *tensor.shape[1:])


def behind(dim, rank):
    """A dimension, or several, of a tensor of this rank, as those of a value that has the batch before them."""
    if isinstance(dim, tuple | list):
        return tuple(behind(one, rank) for one in dim)
    low, high = -max(rank, 1), max(rank, 1) - 1
    if not low <= dim <= high:
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim % max(rank, 1) + 1


def rows(input):
    """The elements of each member of the batch in a row."""
    return input.flatten(1) if input.dim() > 1 else input.unsqueeze(1)


def along_rows(name):
    """The rule of a reduction of all elements, by the op of this name, of (input, dim, keepdim, what else it takes).

    The level of vmap does as much without calling the rule.
    """

    def rule(op, size, batched, input, *rest):
        return call(getattr(language, name), rows(input), 1, False, *rest)

    rule.along = name
    return rule


def each(function, result):
    """The function of a result, or of each of several."""
    return tuple(map(function, result)) if isinstance(result, tuple) else function(result)


def folded(op, size, batched, *given):
    """For ops whose tensors all begin with a dimension of samples: of these there are more."""
    given = with_batch(size, batched, given)
    sizes = given[0].shape[:2]
    result = call(op, *(value.flatten(0, 1) if is_tensor(value) else value for value in given))
    return each(lambda one: one.unflatten(0, sizes), result)


def one_by_one(op, size, batched, *given):
    """For ops of which an element of the batch computes something else where it is not the first of a call."""

    def one(i):
        return call(op, *(value[i] if has else value for value, has in zip(given, batched, strict=True)))

    results = [one(i) for i in range(size)]
    return tuple(map(stack, zip(*results, strict=True))) if isinstance(results[0], tuple) else stack(results)


def samples(rank, op, size, batched, *given):
    """For ops whose tensors have this rank, with a dimension of samples first, or show one sample, without it."""
    if given[0].dim() - batched[0] == rank:
        return folded(op, size, batched, *given)
    return call(op, *with_batch(size, batched, given))


def of_some(rule):
    """The rule of an op that cannot do without elements, such as those that become groups of channels.

    It is called for one element of zeros in the place of none, whose results are left out.
    """

    def of_any(op, size, batched, *given):
        if size:
            return rule(op, size, batched, *given)
        pairs = zip(given, batched, strict=True)
        result = rule(op, 1, batched, *(each(_with_zeros, value) if has else value for value, has in pairs))
        return result if result is NotImplemented else each(lambda value: value.narrow(0, 0, 0), result)

    return of_any


def _with_zeros(value):
    return cat((value, value.new_zeros(1, *value.shape[1:]))) if is_tensor(value) else value


def to_channels(value):
    """[batch, sample, channel, ...] -> [sample, batch channel, ...]; [batch, channel] -> [batch channel]"""
    return value.transpose(0, 1).flatten(1, 2) if value.dim() > 2 else value.flatten()


def from_channels(value, size):
    """Back, for a batch of this size."""
    if value.dim() == 1:
        return value.unflatten(0, (size, value.shape[0] // size))
    return value.unflatten(1, (size, value.shape[1] // size)).transpose(0, 1)


def known_format(memory_format):
    """The format where it means the same with one dimension more, else None."""
    return memory_format if memory_format in (contiguous_format, preserve_format) else None


def rule_of(words, arguments):
    """The rule that these words of a declaration mean.

    Its attribute `places` says where the arguments are that count dimensions, and those that list sizes: for a tensor
    alone, the level of vmap does without calling the rule.
    """
    if words == "...":
        return _leading
    words = words.split()
    dims = [arguments.index(word.rstrip("?").partition("@")[0]) for word in words if not word.startswith("+")]
    of_sizes = any("@" in word for word in words)
    sizes = [arguments.index(word[1:]) for word in words if word.startswith("+")]
    reduces = any(word.endswith("?") for word in words)
    keepdim = arguments.index("keepdim") if "keepdim" in arguments else None

    def rule(op, size, batched, *given):
        given = with_batch(size, batched, given)
        first = next(iter(given[0]), None) if isinstance(given[0], tuple | list) else given[0]
        if not is_tensor(first):
            return NotImplemented  # which the op refuses
        rank = len(given[sizes[0]]) if of_sizes else first.dim() - 1
        if reduces and (given[dims[0]] is None or given[dims[0]] == ()):
            return _of_all(op, given, dims[0], keepdim, rank)
        for place in sizes:
            given[place] = (size, *given[place]) if isinstance(given[place], tuple | list) else (size, given[place])
        for place in dims:
            if given[place] is not None:
                given[place] = behind(given[place], rank)
        if rank or not dims:
            return call(op, *given)
        if of_sizes:
            given[sizes[0]] = (*given[sizes[0]], 1)
        return _of_numbers(op, given)

    rule.places = (tuple(dims), tuple(sizes), of_sizes)
    return rule


def _of_all(op, given, dim, keepdim, rank):
    """A reduction of all elements."""
    given = [rows(value) if is_tensor(value) else value for value in given]
    kept = keepdim is not None and given[keepdim]
    given[dim] = 1
    if kept:
        given[keepdim] = False
    result = call(op, *given)
    return each(lambda one: one.reshape(-1, *(1,) * rank), result) if kept else result


def _of_numbers(op, given):
    """Ops along a dimension take tensors without any, as if they had one of size 1."""
    result = call(op, *(value.unsqueeze(1) if is_tensor(value) else value for value in given))
    return each(lambda one: one.squeeze(1) if one.dim() > 1 else one, result)


def _leading(op, size, batched, *given):
    given = with_batch(size, batched, given)
    rank = max(value.dim() for value in given if is_tensor(value)) - 1
    return call(op, *(lined_up(value, rank) if is_tensor(value) else value for value in given))


_leading.__dict__["places"] = ((), (), False)


def formatted(op, size, batched, *given):
    """For ops whose second argument is a memory format, or a keyword of that name is last but for those of creation."""
    return call(op, *(known_format(value) if type(value) is type(contiguous_format) else value for value in given))


# ---- Matrices


def rows_of(place):
    """Marks the rule of an op whose argument in this place is a matrix of independent rows, those of the result.

    Where nothing else is batched, the batch is folded into the rows, without calling the rule.
    """

    def mark(rule):
        rule.rows = place
        return rule

    return mark


def matrices(op, size, batched, *given):
    """For ops of one tensor of matrices, with any number of dimensions before the last two."""
    if given[0].dim() < 3:
        return NotImplemented  # not even matrices, which the op will say
    return each(lambda one: or_empty(one, size), call(op, *given))


def or_empty(result, size):
    """A result; one that the op left out, empty, is so for each element of the batch."""
    return result if result.shape[:1] == (size,) else result.new_empty(size, 0)


def aligned(batched, tensors, ranks):
    """Tensors of vectors or matrices, whose own dimensions are the last (`ranks` of them) and whose others broadcast.

    Behind the batch, those that have it get as many others as any of the tensors; the rest broadcast as they are.
    """
    others = max(x.dim() - has - rank for x, has, rank in zip(tensors, batched, ranks, strict=True))
    return [lined_up(x, others + rank) if has else x for x, has, rank in zip(tensors, batched, ranks, strict=True)]


def once(tensor):
    """A tensor with the batch first, which broadcasts to that if it is the same for all elements."""
    return tensor.narrow(0, 0, 1) if tensor.shape[0] > 1 and tensor.stride(0) == 0 else tensor


# ---- What is behind a batched tensor, for rules of derivatives and composites that look at values


def levels_of(tensor):
    """A tensor; if it is batched, what it is an element of, and so on, out of all levels of vmap."""
    yield tensor
    while (held := _C._batch_level(tensor)) is not None:
        tensor = held[1]
        yield tensor


def all_values(tensor):
    """The values of a tensor, for all elements if it is batched."""
    *_, values = levels_of(tensor)
    return values


def one_size(op, sizes, least=0):
    """The size that all of these are, if they are not smaller than the least."""
    lengths = sorted(set(sizes.flatten().clamp(min=least).tolist()))
    if len(lengths) > 1:
        raise sizes_differ(op, [(length,) for length in lengths])
    return lengths[0] if lengths else least


def sizes_differ(op, sizes):
    """The error of an op whose results have these sizes."""
    return RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape: the sizes of the result of "
        f"{op.__name__} differ from element to element, {sizes}"
    )


def draws_differ():
    """Whether random numbers may differ from element to element of a vmap: tensors that they fill must be new ones."""
    return any(randomness == "different" for _, _, randomness in _C._open_levels())


def refuse_same_draws(tensor, name):
    """Refuses to draw the same numbers for all elements where the parameters differ."""
    levels = {level: randomness for level, _, randomness in _C._open_levels()}
    for one in levels_of(tensor):
        held = _C._batch_level(one)
        if held is not None and levels.get(held[0]) == "same":
            raise same_draws(name)


def same_draws(name):
    """The error of one who asks for the same numbers for all elements where the parameters differ."""
    return RuntimeError(
        "Vmap does not currently support same randomness with a batched tensor input: the parameters of "
        f"{name}() differ from element to element. Use randomness='different', or draw outside of vmap"
    )


def is_recorded(tensor):
    """Whether gradients may be asked for, here or outside of a vmap."""
    return is_grad_enabled() and any(one.requires_grad for one in levels_of(tensor))
