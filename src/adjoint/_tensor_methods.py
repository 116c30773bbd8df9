"""Methods of Tensor that are easier said in Python, and the functions that go with them."""

import copy as _copy
import warnings

from . import _C
from ._running import own_hook
from .autograd import backward as _backward
from .autograd.graph import add_hook
from .ops import checks as _checks

# Names of this module that are also functions of the package.
FUNCTIONS = (
    "is_tensor",
    "is_floating_point",
    "is_complex",
    "is_inference",
    "is_nonzero",
    "is_signed",
    "is_storage",
    "numel",
    "typename",
)


def method(function):
    """Marks a function as a method of Tensor."""
    function._tensor_method = True
    return function


@method
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulates the gradient of this tensor in the .grad of the leaves it was computed from.

    >>> import adjoint as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x ** 2).backward()
    >>> x.grad
    tensor(6.)
    """
    _backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@method
def __array_wrap__(self, array, context=None, return_scalar=False):
    """What NumPy's functions of a tensor return: a tensor, of truth values one of bytes, as in torch.

    >>> import adjoint as torch, numpy as np
    >>> np.sqrt(torch.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """
    return _C.from_numpy(array.astype("uint8") if array.dtype.kind == "b" else array)


@method
def __array_function__(self, function, types, args, kwargs):
    """What NumPy's functions of tensors do: those of tensors that require grad keep the gradient.

    >>> import adjoint as torch, numpy as np
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> np.concatenate([x, np.ones(1, np.float32)])
    tensor([1., 2., 1.], grad_fn=<CatBackward0>)
    """
    from ._numpy_functions import dispatch

    return dispatch(function, types, args, kwargs)


@method
def __array_namespace__(self, *, api_version=None):
    """The functions of the array API standard, for tensors: the module `adjoint.array_api`.

    >>> import adjoint as torch
    >>> xp = torch.ones(2).__array_namespace__()
    >>> xp.concat([xp.zeros(1), xp.ones(2)])
    tensor([0., 1., 1.])
    """
    from . import array_api

    if api_version is not None and api_version not in array_api.API_VERSIONS:
        known = ", ".join(map(repr, array_api.API_VERSIONS))
        raise ValueError(f"__array_namespace__: expected api_version as None or one of {known}; got {api_version!r}")
    return array_api


@method
def to_device(self, device, /, *, stream=None):
    """The tensor on a device, in the words of the array API standard; there are no streams to wait for.

    >>> import adjoint as torch
    >>> torch.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError(f"to_device: expected stream=None, for no device here has streams; got {stream!r}")
    return self.to(device)


@method
def register_hook(self, hook):
    """Calls hook(grad) whenever this tensor's gradient is computed; what it returns, if anything, takes its place.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> _ = x.register_hook(lambda g: g * 10)
    >>> (2 * x).backward()
    >>> x.grad
    tensor(20.)
    """
    return add_hook(self._hook_dict, own_hook(self, hook))


@method
def register_post_accumulate_grad_hook(self, hook):
    """Calls hook(tensor) after the gradient of this leaf was added to its .grad.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> _ = x.register_post_accumulate_grad_hook(lambda p: print(p.grad))
    >>> (2 * x).backward()
    tensor(2.)
    """
    return add_hook(self._post_hook_dict, hook)


@method
def __reversed__(self):
    """The tensor with its first dimension reversed.

    >>> import adjoint as torch
    >>> reversed(torch.tensor([1, 2]))
    tensor([2, 1])
    """
    return self.flip(0) if self.dim() else self


@method
def __contains__(self, element):
    """Whether some element equals this one.

    >>> import adjoint as torch
    >>> 2 in torch.tensor([1, 2])
    True
    """
    if _C._has_torch_function_variadic(self):  # what is looked for takes nothing over
        from .overrides import handle_torch_function

        return handle_torch_function(_C.Tensor.__contains__, (self,), self, element)
    if isinstance(element, _C.Tensor | int | float | complex):
        return bool((self == element).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


@method
def __complex__(self):
    """The only element as a Python complex number."""
    return complex(self.item())


@method
def __copy__(self):
    """A tensor on the same memory."""
    plain = type(self) is _C.Tensor or _C._is_wrapped(self)
    result = self.detach() if plain else type(self)._make_subclass(type(self), self)
    result.__dict__.update(self.__dict__)
    if self.is_leaf and self.requires_grad:
        _C._requiring_grad(result, True)
    return result


@method
def __deepcopy__(self, memo):
    """A tensor of the same values on a copy of its memory, which copies of its views share; leaves only."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a tensor in it that was computed: "
            "detach() it first."
        )
    if _C._is_wrapped(self):
        from ._wrapped import deepcopied

        return deepcopied(self, memo)
    if self.layout is not _C.strided:
        result = self.detach().clone()
    else:
        result = _C._deepcopy(self) if self.is_meta else _on_copied_storage(self, memo)
    if type(self) is not _C.Tensor:
        result = type(self)._make_subclass(type(self), result)
    memo[id(self)] = result
    result.requires_grad = self.requires_grad
    if self.grad is not None:
        result.grad = _copy.deepcopy(self.grad, memo)
    result.__dict__.update(_copy.deepcopy(self.__dict__, memo))
    return result


def _on_copied_storage(tensor, memo):
    """A tensor on a copy of another one's storage: one copy, for all that deepcopy finds on it."""
    elements = _C._storage_of(tensor).__deepcopy__(memo)._elements(tensor.dtype)
    return elements.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset()).data


@method
def __setstate__(self, state):
    """Restores what pickling kept beside the values."""
    self.__dict__.update(state)


@method
def module_load(self, other, assign=False):
    """What a parameter or buffer becomes when load_state_dict() loads `other`, where parameters are swapped.

    Called while torch.__future__.get_swap_module_params_on_conversion() is True; to be overridden in subclasses. The
    result must be a new tensor.

    >>> import adjoint as torch
    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()


@method
def dim_order(self):
    """The dimensions from the outermost in memory to the innermost.

    >>> import adjoint as torch
    >>> torch.zeros(2, 3).t().dim_order()
    (1, 0)
    """
    return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))


def is_tensor(obj):
    """Whether an object is a tensor.

    >>> import adjoint as torch
    >>> torch.is_tensor(3.0)
    False
    """
    return isinstance(obj, _C.Tensor)


def is_storage(obj):
    """Whether an object is a storage.

    >>> import adjoint as torch
    >>> torch.is_storage(torch.zeros(2)), torch.is_storage(torch.zeros(2).untyped_storage())
    (False, True)
    """
    return _C._is_storage(obj)


def typename(obj):
    """The full name of an object's type, or of the type or function that it is.

    >>> import adjoint as torch
    >>> torch.typename(torch.zeros(2)), torch.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if is_tensor(obj):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    if not hasattr(obj, "__module__") or named.__module__ in (None, "", "builtins"):
        return named.__qualname__
    return f"{named.__module__}.{named.__qualname__}"


def is_floating_point(input):
    """Whether the elements are real floating point numbers.

    >>> import adjoint as torch
    >>> torch.is_floating_point(torch.zeros(2))
    True
    """
    _checks.tensor("is_floating_point", input=input)
    return input.is_floating_point()


def is_complex(input):
    """Whether the elements are complex numbers.

    >>> import adjoint as torch
    >>> torch.is_complex(torch.zeros(2))
    False
    """
    _checks.tensor("is_complex", input=input)
    return input.is_complex()


def is_inference(input):
    """Whether the tensor was made in inference mode.

    >>> import adjoint as torch
    >>> torch.is_inference(torch.zeros(2))
    False
    """
    _checks.tensor("is_inference", input=input)
    return input.is_inference()


@method
def is_nonzero(input):
    """Whether the only element is not zero.

    >>> import adjoint as torch
    >>> torch.is_nonzero(torch.tensor(1.0))
    True
    """
    _checks.tensor("is_nonzero", input=input)
    return bool(input)


def is_signed(input):
    """Whether the elements have a sign.

    >>> import adjoint as torch
    >>> torch.is_signed(torch.tensor([1, 2], dtype=torch.uint8))
    False
    """
    _checks.tensor("is_signed", input=input)
    return input.dtype.is_signed


def numel(input):
    """The number of elements.

    >>> import adjoint as torch
    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    _checks.tensor("numel", input=input)
    return input.numel()


def _volatile(self):
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=3)
    return False


def _set_volatile(self, value):
    warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=3)


volatile = property(_volatile, _set_volatile, doc="Removed: always False, with a warning.")
grad_dtype = property(
    _C._grad_dtype,
    _C._set_grad_dtype,
    doc="The type that gradients of this leaf are cast to: its own, unless set; None lets them be as they come.",
)
