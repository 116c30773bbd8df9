"""One tensor to several GPUs, and several to one. torch.cuda.comm has the same functions."""

import warnings

from ... import _C
from ..._utils import _get_device_index
from ...ops import language as _ops

_BUFFER = 10485760  # accepted for torch's sake: tensors go one by one here

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _device(device):
    return _C.device("cuda", _get_device_index(device, optional=True))


def _copied(tensor, device):
    return tensor if tensor.device == device else tensor.to(device, non_blocking=True)


def _one_of(name, first, first_name, out):
    if (first is None) == (out is None):
        both = "both" if out is not None else "neither"
        raise RuntimeError(
            f"Exactly one of '{first_name}' and 'out' must be provided; {name}() got {both} of them, give one"
        )


def broadcast(tensor, devices=None, *, out=None):
    """Copies of a tensor on several GPUs, or into tensors there, `out`.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     (copy,) = torch.cuda.comm.broadcast(torch.ones(2), devices=[0])
    ...     assert copy.is_cuda
    """
    _one_of("broadcast", devices, "devices", out)
    if out is None:
        return tuple(_copied(tensor, _device(device)) for device in devices)
    for each in out:
        each.copy_(tensor, non_blocking=True)
    return tuple(out)


def broadcast_coalesced(tensors, devices, buffer_size=_BUFFER):
    """Copies of several tensors on several GPUs: a list for each.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     [[a, b]] = torch.cuda.comm.broadcast_coalesced([torch.ones(2).cuda(), torch.ones(1).cuda()], [0])
    """
    places = [_device(device) for device in devices]
    return [[_copied(tensor, place) for tensor in tensors] for place in places]


def _common(inputs, name):
    if not inputs:
        raise RuntimeError(f"{name}(): expected a tensor or more; got none; give one for each GPU")
    if not all(each.is_cuda for each in inputs):
        raise AssertionError(f"{name} expects all inputs to be on GPUs; move them by .cuda()")
    if any(each.shape != inputs[0].shape for each in inputs):
        shapes = ", ".join(str(tuple(each.shape)) for each in inputs)
        raise ValueError(f"{name}(): expected inputs of one shape; got {shapes}; give one shape to all")


def reduce_add(inputs, destination=None):
    """The sum of tensors of several GPUs, on one of them: the current one by default.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.comm.reduce_add([torch.ones(2, device="cuda")], 0).tolist() == [1.0, 1.0]
    """
    _common(inputs, "reduce_add")
    place = _device(destination)
    if len(inputs) == 1:
        return _copied(inputs[0], place)
    first, second, *others = (_copied(each, place) for each in inputs)
    total = first + second
    for each in others:
        total = total.add_(each)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=_BUFFER):
    """The sums of several tensors of several GPUs; `inputs` has a list for each GPU.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     (total,) = torch.cuda.comm.reduce_add_coalesced([[torch.ones(2, device="cuda")]], 0)
    """
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def _parts(tensor, count, chunk_sizes, dim):
    if chunk_sizes is None:
        return tensor.chunk(count, dim)
    if sum(chunk_sizes) != tensor.size(dim) or len(chunk_sizes) != count:
        raise RuntimeError(
            f"scatter(): expected chunk_sizes for {count} GPUs that add up to {tensor.size(dim)}, the size of "
            f"dimension {dim}; got {list(chunk_sizes)}"
        )
    return tensor.split(tuple(chunk_sizes), dim)


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """The parts of a tensor on several GPUs, or in tensors there, `out`; of chunk_sizes, or as chunk() cuts.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     (part,) = torch.cuda.comm.scatter(torch.ones(4), devices=[0])
    ...     assert part.is_cuda
    """
    if out is None:
        places = [_device(device) for device in devices]
        parts = _parts(tensor, len(places), chunk_sizes, dim)
        return tuple(_copied(part, place) for part, place in zip(parts, places, strict=False))
    if devices is not None or chunk_sizes is not None:
        raise RuntimeError("'devices' and 'chunk_sizes' must not be specified when 'out' is specified: leave them out")
    for each, part in zip(out, tensor.split([each.size(dim) for each in out], dim), strict=True):
        each.copy_(part, non_blocking=True)
    return tuple(out)


def gather(tensors, dim=0, destination=None, *, out=None):
    """Tensors of several GPUs side by side on one device, the current GPU by default, or in `out`.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     assert torch.cuda.comm.gather([torch.ones(2, device="cuda")], destination="cpu").tolist() == [1.0, 1.0]
    """
    if not tensors:
        raise RuntimeError("gather(): expected a tensor or more; got none; give one for each GPU")
    if out is not None:
        if destination is not None:
            raise RuntimeError("'destination' must not be specified when 'out' is specified: leave it out")
        return _ops.cat([_copied(each, out.device) for each in tensors], dim, out=out)
    if destination == -1:
        warnings.warn(
            "Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, e.g., "
            '"cpu".',
            FutureWarning,
            stacklevel=2,
        )
    to_cpu = destination == -1 or (destination is not None and _C.device(destination).type == "cpu")
    place = _C.device("cpu") if to_cpu else _device(destination)
    return _ops.cat([each.to(place) for each in tensors], dim)
