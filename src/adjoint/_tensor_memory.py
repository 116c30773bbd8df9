"""More methods of Tensor: the memory that it lies in, and elements changed one by one or under old names."""

import warnings as _warnings

from . import _C
from ._tensor_methods import method
from .ops import checks as _checks

# Names of this module that are also functions of the package.
FUNCTIONS = ("get_device", "is_distributed", "is_same_size")


@method
def is_shared(self):
    """Whether the memory is shared with other processes; of tensors on a GPU always True, as in torch.

    >>> import adjoint as torch
    >>> torch.zeros(2).is_shared(), torch.zeros(2).share_memory_().is_shared()
    (False, True)
    """
    return _C._storage_of(self).is_shared()


@method
def share_memory_(self):
    """Moves the memory, with all tensors on it, to where processes that are started later, or given it, share it.

    >>> import adjoint as torch
    >>> torch.ones(2).share_memory_()
    tensor([1., 1.])
    """
    if self.layout is not _C.strided:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl; share its indices and values()")
    if self.is_meta or self.is_cuda or self.is_shared() or _C._share_memory(self):
        return self  # memory of a GPU is left where it is, as in torch
    raise RuntimeError(
        "share_memory_(): the memory is also used by an array or a buffer of another library, and cannot move; call "
        "share_memory_() before that, or clone() the tensor"
    )


@method
def untyped_storage(self):
    """The memory that the tensor lies in, as bytes: the same object for all tensors on it.

    >>> import adjoint as torch
    >>> x = torch.zeros(3)
    >>> x.untyped_storage().nbytes(), x.untyped_storage() is x[1:].untyped_storage()
    (12, True)
    """
    if self.layout is not _C.strided:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl; look at its values()")
    return _C._storage_of(self)


def _typed(self):
    from ._typed_storage import TypedStorage

    return TypedStorage(wrap_storage=_C._storage_of(self), dtype=self.dtype, _internal=True)


@method
def _typed_storage(self):
    """The memory that the tensor lies in, as elements of its type."""
    return _typed(self)


@method
def storage(self):
    """The memory that the tensor lies in, as elements of its type: deprecated, as torch.TypedStorage is.

    >>> import adjoint as torch, warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.tensor([1.0, 2.0])[1:].storage().tolist()
    [1.0, 2.0]
    """
    from ._typed_storage import _warn_typed_storage_removal

    _warn_typed_storage_removal(stacklevel=2)
    return _typed(self)


@method
def is_pinned(self, device=None):
    """Whether the memory is pinned: whether a GPU reads and writes it by itself.

    >>> import adjoint as torch
    >>> torch.zeros(2).is_pinned()
    False
    """
    return self.layout is _C.strided and _C._cuda_is_pinned(self)


@method
def pin_memory(self, device=None):
    """A copy in pinned memory, from which copies to a GPU need not be waited for; itself when it is there.

    >>> import adjoint as torch
    >>> x = torch.zeros(2)
    >>> (x.pin_memory() if torch.cuda.is_available() else x).shape
    torch.Size([2])
    """
    if _C._cuda_why_unavailable():
        raise RuntimeError("Cannot access accelerator device when none is available; leave pin_memory() out")
    if self.layout is not _C.strided:
        raise RuntimeError("only dense CPU tensors can be pinned; pin its values()")
    return self if self.is_pinned() else _C._cuda_pin(self)


@method
def record_stream(self, stream):
    """Tells that a stream uses the memory, too: it is not given to other tensors before that has come so far.

    >>> import adjoint as torch
    >>> if torch.cuda.is_available():
    ...     torch.zeros(2, device="cuda").record_stream(torch.cuda.Stream())
    """
    if _C._cuda_why_unavailable():
        raise RuntimeError("record_stream(): there is no GPU, and so there are no streams")
    _C._cuda_record_stream(self, stream.cuda_stream)


def _described(self):
    from .cuda._interop import described

    return described(self)


cuda_array_interface = property(_described, doc="The memory on a GPU, as libraries for arrays there describe it.")


@method
def is_set_to(self, tensor):
    """Whether another tensor shows the same memory in the same way.

    >>> import adjoint as torch
    >>> x = torch.zeros(2)
    >>> x.is_set_to(x.detach()), x.is_set_to(x[:1])
    (True, False)
    """
    same_place = self._storage_id() == tensor._storage_id() and self.storage_offset() == tensor.storage_offset()
    return same_place and self.shape == tensor.shape and self.stride() == tensor.stride()


@method
def get_device(input):
    """The number of the GPU that the tensor is on: -1 for none.

    >>> import adjoint as torch
    >>> torch.get_device(torch.zeros(2))
    -1
    """
    return input.device.index if input.is_cuda else -1


@method
def is_distributed(input):
    """Whether the tensor is spread over processes: no.

    >>> import adjoint as torch
    >>> torch.is_distributed(torch.zeros(2))
    False
    """
    return False


@method
def apply_(self, callable):
    """Puts callable(element) in the place of each element; slow.

    >>> import adjoint as torch
    >>> torch.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
    tensor([10., 20.])
    """
    return _map_elements(self, "apply_", callable)


@method
def map_(self, tensor, callable):
    """Puts callable(element, element of the other tensor) in the place of each element; slow.

    >>> import adjoint as torch
    >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda x, y: x * y)
    tensor([3., 8.])
    """
    return _map_elements(self, "map_", callable, tensor)


@method
def map2_(self, x, y, callable):
    """Puts callable(element, element of x, element of y) in the place of each element; slow.

    >>> import adjoint as torch
    >>> torch.tensor([1.0]).map2_(torch.tensor([3.0]), torch.tensor([5.0]), lambda a, b, c: a + b + c)
    tensor([9.])
    """
    return _map_elements(self, "map2_", callable, x, y)


def _map_elements(self, name, function, *others):
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for place, one in enumerate(others, 1):
        if not isinstance(one, _C.Tensor):
            raise TypeError(f"{name}(): argument {place} must be Tensor, not {type(one).__name__}")
    columns = [one.expand(self.shape).reshape(-1).tolist() for one in (self, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return self.copy_(_C.tensor(values, dtype=self.dtype).reshape(self.shape))


@method
def fill_diagonal_(self, fill_value, wrap=False):
    """Fills the elements whose indices are all equal; `wrap` begins again behind a gap in a tall matrix.

    >>> import adjoint as torch
    >>> torch.zeros(2, 2).fill_diagonal_(3.0)
    tensor([[3., 0.],
            [0., 3.]])
    """
    _checks.number("fill_diagonal_", fill_value=fill_value)
    _checks.boolean("fill_diagonal_", wrap=wrap)
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, height, width = sum(self.stride()), self.shape[0], self.shape[1]
    count = min(self.shape)
    self.as_strided((count,), (step,), self.storage_offset()).fill_(fill_value)
    if wrap and self.dim() == 2:
        for row in range(width + 1, height, width + 1):
            self[row : row + width].diagonal().fill_(fill_value)
    return self


@method
def resize(self, *sizes):
    """The elements in another shape; deprecated: use reshape().

    >>> import adjoint as torch
    >>> torch.arange(4).reshape(2, 2)  # the name to use
    tensor([[0, 1],
            [2, 3]])
    """
    _warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return self.reshape(*sizes)


@method
def resize_as(self, tensor):
    """The elements in the shape of another tensor; deprecated: use view_as().

    >>> import adjoint as torch
    >>> torch.arange(4).view_as(torch.zeros(2, 2))  # the name to use
    tensor([[0, 1],
            [2, 3]])
    """
    _warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return self.reshape(tensor.shape)


@method
def is_same_size(input, other):
    """Whether two tensors have the same shape.

    >>> import adjoint as torch
    >>> torch.is_same_size(torch.zeros(2), torch.ones(2))
    True
    """
    return input.shape == other.shape
