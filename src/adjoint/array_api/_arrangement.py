"""Arrays in other shapes and orders, and joined."""

from ._types import Tensor, array, of_one_type, torch


def broadcast_arrays(*arrays):
    """The arrays, each in the shape that they broadcast to.

    >>> from adjoint import array_api as xp
    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    return tuple(torch.broadcast_tensors(*(array("broadcast_arrays", x) for x in arrays))) if arrays else ()


def broadcast_to(x, /, shape):
    """x in a shape that it broadcasts to.

    >>> from adjoint import array_api as xp
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return torch.broadcast_to(array("broadcast_to", x), tuple(shape))


def concat(arrays, /, *, axis=0):
    """Arrays joined along an axis, or, with None, flat ones.

    >>> from adjoint import array_api as xp
    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3.0])])
    tensor([1., 2., 3.])
    """
    parts = of_one_type("concat", arrays)
    if axis is None:
        parts, axis = [x.reshape(-1) for x in parts], 0
    for x in parts:
        if x.ndim != parts[0].ndim or x.ndim == 0:
            shapes = ", ".join(str(tuple(one.shape)) for one in parts)
            raise ValueError(f"concat: expected arrays of one number of dimensions, at least one; got {shapes}")
    return torch.cat(parts, axis)


def stack(arrays, /, *, axis=0):
    """Arrays of one shape joined along a new axis.

    >>> from adjoint import array_api as xp
    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])
    """
    return torch.stack(of_one_type("stack", arrays), axis)


def unstack(x, /, *, axis=0):
    """The parts of x along an axis, as a tuple.

    >>> from adjoint import array_api as xp
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(torch.unbind(array("unstack", x), axis))


def expand_dims(x, /, axis):
    """x with an axis of size 1 more.

    >>> from adjoint import array_api as xp
    >>> xp.expand_dims(xp.ones(3), 0).shape
    torch.Size([1, 3])
    """
    return torch.unsqueeze(array("expand_dims", x), axis)


def squeeze(x, /, axis):
    """x without axes of size 1.

    >>> from adjoint import array_api as xp
    >>> xp.squeeze(xp.ones((1, 3)), 0).shape
    torch.Size([3])
    """
    array("squeeze", x)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for dim in axes:
        if x.shape[dim] != 1:
            raise ValueError(f"squeeze: expected axes of size 1; got axis {dim} of shape {tuple(x.shape)}")
    return torch.squeeze(x, axes) if axes else x


def flip(x, /, *, axis=None):
    """x with the order of elements reversed along axes, or along all.

    >>> from adjoint import array_api as xp
    >>> xp.flip(xp.asarray([1, 2, 3]))
    tensor([3, 2, 1])
    """
    array("flip", x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return torch.flip(x, axes)


def moveaxis(x, source, destination, /):
    """x with axes moved to other places.

    >>> from adjoint import array_api as xp
    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return torch.moveaxis(array("moveaxis", x), source, destination)


def permute_dims(x, /, axes):
    """x with its axes in another order.

    >>> from adjoint import array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
    torch.Size([3, 2])
    """
    return torch.permute(array("permute_dims", x), tuple(axes))


def matrix_transpose(x, /):
    """Matrices with rows and columns exchanged.

    >>> from adjoint import array_api as xp
    >>> xp.matrix_transpose(xp.ones((4, 2, 3))).shape
    torch.Size([4, 3, 2])
    """
    if array("matrix_transpose", x).ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 dimensions; got shape {tuple(x.shape)}")
    return x.mT


def reshape(x, /, shape, *, copy=None):
    """The elements of x in another shape; copy=False demands x's own memory.

    >>> from adjoint import array_api as xp
    >>> xp.reshape(xp.asarray([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    array("reshape", x)
    if copy:
        return x.clone().reshape(shape)
    if copy is None:
        return x.reshape(shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise ValueError(f"reshape: expected a shape that needs no copy, for copy=False; {error}") from None


def roll(x, /, shift, *, axis=None):
    """x with elements moved along axes; those that leave come in at the other end.

    >>> from adjoint import array_api as xp
    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    array("roll", x)
    if axis is None:
        return torch.roll(x, shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return torch.roll(x, shifts, axes)


def repeat(x, repeats, /, *, axis=None):
    """Each element, or each part along an axis, so many times.

    >>> from adjoint import array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), xp.asarray([1, 2]))
    tensor([1, 2, 2])
    """
    array("repeat", x)
    if isinstance(repeats, Tensor):
        repeats = repeats.to(torch.int64)
    elif not isinstance(repeats, int):
        raise TypeError(f"repeat: expected repeats as a number or an array; got {type(repeats).__name__}")
    return torch.repeat_interleave(x, repeats, axis)


def tile(x, repetitions, /):
    """x, so many times along each axis.

    >>> from adjoint import array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return torch.tile(array("tile", x), tuple(repetitions))
