"""vmap: a function of single examples, run once for a batch of them."""

import functools
import sys

from .. import _C, random
from .._running import Running
from ..ops.language import cat
from ..utils._pytree import tree_flatten, tree_leaves, tree_structure, tree_unflatten
from .safe import made_safe

RANDOMNESS = ("error", "different", "same")
PARTS = f"{__package__.rpartition('.')[0]}._functorch.vmap"  # where packages replace parts of vmap by their own


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function over a dimension of its arguments: each op in it runs once, for the whole batch.

    `in_dims` says along which dimension of each argument the examples lie, None for one that they share; it may be
    nested as the arguments are. `out_dims` says where the batch goes in the results. Random numbers inside are an
    "error", "different" for each example or the "same" for all. `chunk_size` bounds how many examples run at once.

    - randomness: 'error', or whether random functions draw 'different' numbers for each element, or the 'same'.

    >>> import adjoint as torch
    >>> dot = torch.vmap(torch.dot)
    >>> dot(torch.ones(3, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    tensor([ 3.,  7., 11.])
    """
    _check_options(randomness, chunk_size)

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        try:
            return _over(func, args, kwargs, in_dims, out_dims, randomness, chunk_size)
        finally:
            _C._note_mapped(func)  # for errors of tensors that have escaped from it

    return mapped


def _check_options(randomness, chunk_size):
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")


def over(func, args, kwargs=None, in_dims=0, out_dims=0, randomness="error", chunk_size=None):
    """What vmap(func, ...)(*args, **kwargs) gives."""
    _check_options(randomness, chunk_size)
    return _over(func, args, kwargs or {}, in_dims, out_dims, randomness, chunk_size)


def _over(func, args, kwargs, in_dims, out_dims, randomness, chunk_size):
    if PARTS in sys.modules and (parts := sys.modules[PARTS]).replaced():
        return _by_parts(parts, func, args, kwargs, in_dims, out_dims, randomness, chunk_size)
    if in_dims == 0 and chunk_size is None and (size := _C._common_size(args)) is not None:
        finish = functools.partial(_finished, func, out_dims)
        return _C._run_batch(made_safe(func), size, args, None, kwargs, randomness, out_dims, finish)
    leaves, dims, spec = _mapped_leaves(func, in_dims, args)
    size = _batch_size(leaves, dims)
    values = [x.movedim(d, 0) if d else x for x, d in zip(leaves, dims, strict=True)]
    if chunk_size is None or chunk_size >= size:
        return _run(func, size, values, dims, spec, kwargs, out_dims, randomness)
    parts = []
    state = random._all_states() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if state is not None:
            random._set_all_states(state)
        length = min(chunk_size, size - start)
        part = [x if dim is None else x.narrow(0, start, length) for x, dim in zip(values, dims, strict=True)]
        parts.append(_run(func, length, part, dims, spec, kwargs, out_dims, randomness))
    return _joined(func, parts, out_dims)


def _by_parts(parts, func, args, kwargs, in_dims, out_dims, randomness, chunk_size):
    """The same with the parts of a package, which knows containers of tensors that are batched as a whole."""
    size, dims, leaves, spec = parts._process_batched_inputs(in_dims, args, func)
    results = []
    state = random._all_states() if randomness == "same" else None
    for start in range(0, size, chunk_size or size) if size else (0,):
        if state is not None:
            random._set_all_states(state)
        length = min(chunk_size or size, size - start)
        values = leaves if length == size else _narrowed(leaves, dims, start, length)
        level = _C._open_batch(length, randomness)
        try:
            inputs = parts._create_batched_inputs(dims, values, level, spec)
            with Running("vmap", level):
                outputs = made_safe(func)(*inputs, **kwargs)
            results.append(parts._unwrap_batched(outputs, out_dims, level, length, func))
        finally:
            _C._close_level(level)
    return results[0] if len(results) == 1 else _joined(func, results, out_dims)


def _narrowed(leaves, dims, start, length):
    """Some of the examples of a batch; also where its leaves are containers that can be indexed as tensors can."""
    part = slice(start, start + length)
    return [x if dim is None else x[(slice(None),) * dim + (part,)] for x, dim in zip(leaves, dims, strict=True)]


def _name(func):
    return getattr(func, "__name__", repr(func))


def spread_prefix(prefix, tree):
    """The leaves of a tree that begins like another one, each for all that stands in its place; None if it does not."""
    leaves, spec = tree_flatten(prefix, is_leaf=lambda value: value is None)
    try:
        parts = spec.flatten_up_to(tree)
    except ValueError:
        return None
    return [leaf for leaf, part in zip(leaves, parts, strict=True) for _ in tree_leaves(part)]


def _mapped_leaves(func, in_dims, args):
    """(the leaves of the arguments, the dimension of each, their structure)."""
    name = _name(func)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple) or isinstance(in_dims, bool):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = spread_prefix(in_dims, args)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_structure(in_dims)} but inputs has structure {spec}."
        )
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, _C.Tensor):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} "
                f"so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        dims[i] = dim % leaf.dim()
    if all(dim is None for dim in dims):
        raise ValueError(
            f"vmap: Expected at least one Tensor to vmap over; in_dims={in_dims} of {name} has nothing but None"
        )
    return leaves, dims, spec


def _batch_size(leaves, dims):
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def _run(func, size, values, dims, spec, kwargs, out_dims, randomness):
    """One pass over values whose first dimension is the batch."""

    def run(*inputs, **kwargs):
        return made_safe(func)(*tree_unflatten(inputs, spec), **kwargs)

    finish = functools.partial(_finished, func, out_dims)
    return _C._run_batch(run, size, values, dims, kwargs, randomness, out_dims, finish)


def _finished(func, out_dims, outputs, level):
    """The results, with the batch where out_dims says."""
    if isinstance(outputs, _C.Tensor) and isinstance(out_dims, int):
        return _result(func, outputs, out_dims, level)
    leaves, spec = tree_flatten(outputs)
    places = _out_dims(func, out_dims, outputs)
    results = [_result(func, y, place, level) for y, place in zip(leaves, places, strict=True)]
    return tree_unflatten(results, spec)


def _out_dims(func, out_dims, outputs):
    if isinstance(out_dims, int):
        return [out_dims] * len(tree_leaves(outputs))
    places = spread_prefix(out_dims, outputs)
    if places is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(outputs, _C.Tensor):
        places = list(out_dims)
    if places is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure "
            f"{tree_structure(outputs)}."
        )
    if not all(place is None or isinstance(place, int) for place in places):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
            "ints representing where in the outputs the vmapped dimension should appear."
        )
    return places


def _result(func, output, place, level):
    if place is not None and isinstance(output, _C.Tensor):
        value = _C._unbatch(output, level)
        return value if place == 0 else value.movedim(0, place)
    name = _name(func)
    if place is not None:
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    held = _C._batch_level(output) if isinstance(output, _C.Tensor) else None
    if held is not None and held[0] == level:
        if held[2]:
            return held[1]
        raise ValueError(
            f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: its result differs from "
            "example to example; give the dimension of the batch in out_dims"
        )
    return output


def _joined(func, parts, out_dims):
    """The results of chunks, put together along the dimension of the batch."""
    columns = zip(*(tree_leaves(part) for part in parts), strict=True)
    places = _out_dims(func, out_dims, parts[0])
    joined = [column[0] if place is None else cat(column, place) for column, place in zip(columns, places, strict=True)]
    return tree_unflatten(joined, tree_structure(parts[0]))
