"""Parameter and Buffer: the tensors that modules keep, and their forms whose shape is not yet known."""

from .. import _C

_set_data = _C.Tensor.data.__set__  # type: ignore[attr-defined]  # the native attribute, behind a property below


class _ParameterMeta(type):
    """A parameter of a subclass of Tensor keeps its class, and is marked as one."""

    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, _C.Tensor) and getattr(instance, "_is_param", False)


class Parameter(_C.Tensor, metaclass=_ParameterMeta):
    """A tensor that requires grad and that modules count among their parameters.

    >>> import adjoint as torch
    >>> torch.nn.Parameter(torch.zeros(2)).requires_grad
    True
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C.empty(0)
        if type(data) is _C.Tensor or type(data) is Parameter or cls is not Parameter:
            return _C.Tensor._make_subclass(cls, data, requires_grad)
        return _parameter_of_subclass(data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.detach(), self.requires_grad, self.__dict__)


def _parameter_of_subclass(data, requires_grad):
    """A parameter of the subclass that `data` is of."""
    tensor = data.detach().requires_grad_(requires_grad)
    if type(tensor) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(tensor).__name__} was found instead. To use the type as "
            "a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    tensor._is_param = True
    return tensor


class _BufferMeta(type):
    """A buffer is any tensor that is marked as one: marks stay with a tensor, where a class of its own would spread."""

    def __instancecheck__(cls, instance):
        if cls is Buffer:
            return isinstance(instance, _C.Tensor) and getattr(instance, "_is_buffer", False)
        return type.__instancecheck__(cls, instance)


class Buffer(_C.Tensor, metaclass=_BufferMeta):
    """A tensor that is part of a module's state without being trained; not saved unless `persistent`.

    >>> import adjoint as torch
    >>> module = torch.nn.Module()
    >>> module.count = torch.nn.Buffer(torch.zeros(1))
    >>> list(module.state_dict())
    ['count']
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _C.empty(0)
        return _marked(data.detach().requires_grad_(data.requires_grad), persistent)


def _marked(tensor, persistent):
    """The tensor, marked as a buffer."""
    tensor.persistent = persistent
    tensor._is_buffer = True
    return tensor


# What may be asked of a tensor without a shape: an ordinary tensor of no elements answers.
_ANSWERED = frozenset(
    ("data", "device", "is_cpu", "is_meta", "size", "get_device", "is_complex", "is_floating_point"),
)
# The casts that Module.to makes.
_CASTS = ("to", "cpu", "cuda", "double", "float", "half", "long", "int", "short", "char")
_POSSIBLE_WITHOUT_SHAPE = frozenset((*_CASTS, "cls_to_become", "materialize", "share_memory_", "copy_"))


def no_shape(name):
    """The error of a function that meets a tensor without a shape."""
    return ValueError(
        f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a "
        "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When "
        "using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
        "torch functions"
    )


class UninitializedTensorMixin:
    """A tensor without a shape yet: `materialize` gives it one.

    It is kept on the meta device, to which no op has a fast way, and is refused there (`has_no_shape` in
    csrc/op/meta.h). The device and the type that it is to have are those of `_plain`, which has no elements.
    """

    is_uninitialized = True

    def __getattribute__(self, name):
        if name in _ANSWERED:
            return getattr(self._plain, name)
        value = super().__getattribute__(name)
        if callable(value) and not name.startswith("_") and name not in _POSSIBLE_WITHOUT_SHAPE:
            raise no_shape(name)
        return value

    def materialize(self, shape, device=None, dtype=None):
        """Takes memory for a shape and becomes an ordinary parameter or buffer."""
        _set_data(self, _C.empty(shape, device=device or self.device, dtype=dtype or self.dtype))
        del self._plain
        self.__class__ = self.cls_to_become

    @property
    def data(self):
        """A tensor of the type and on the device that the parameter is to have."""
        return self._plain

    @data.setter
    def data(self, value):
        _set_data(self, value.to("meta"))
        self._plain = value

    def copy_(self, source, non_blocking=False):
        """Copies nothing: possible from a tensor of no elements."""
        self._plain.copy_(source._plain if is_lazy(source) else source, non_blocking)
        return self

    @property
    def shape(self):
        """Not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        """Not possible without a shape."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype)

    def __copy__(self):
        return type(self)(self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(device=self.device, dtype=self.dtype)
        return memo[id(self)]


def _refuse_operators():
    """Arithmetic, comparisons, indexing and conversions need a shape, too."""
    both = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
    names = [prefix + name for name in both for prefix in ("", "r", "i")]
    names += ["eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem", "setitem", "contains"]
    names += ["len", "iter", "reversed", "bool", "int", "float", "complex", "index", "array"]
    for name in names:

        def refuse(self, *_, _name=f"__{name}__"):
            raise no_shape(_name)

        setattr(UninitializedTensorMixin, f"__{name}__", refuse)


def _add_casts():
    """A parameter is cast to an ordinary tensor, to which Module.to sets its data; a buffer to another buffer."""
    for name in _CASTS:

        def cast(self, *args, _name=name, **kwargs):
            plain = getattr(self._plain, _name)(*args, **kwargs)
            if plain is self._plain:
                return self
            if isinstance(self, Parameter):
                return plain
            return type(self)(self.requires_grad, plain.device, plain.dtype, self.persistent)

        cast.__name__ = cast.__qualname__ = name
        setattr(UninitializedTensorMixin, name, cast)


def _without_shape(cls, requires_grad, device, dtype):
    plain = _C.empty(0, device=device, dtype=dtype)
    tensor = _C.Tensor._make_subclass(cls, plain.to("meta"), requires_grad)
    tensor._plain = plain
    return tensor


_refuse_operators()
_add_casts()
UninitializedTensorMixin.__hash__ = _C.Tensor.__hash__  # type: ignore[assignment, method-assign]  # beside __eq__ there is none otherwise


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[override]  # the shape raises, on purpose
    """A parameter of a lazy module, before the first call tells its shape.

    >>> import adjoint as torch
    >>> type(torch.nn.LazyLinear(3).weight).__name__
    'UninitializedParameter'
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _without_shape(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, _C.Tensor):  # type: ignore[override]  # as above
    """A buffer of a lazy module, before the first call tells its shape.

    >>> import adjoint as torch
    >>> type(torch.nn.LazyBatchNorm1d().running_mean).__name__
    'UninitializedBuffer'
    """

    cls_to_become = _C.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        return _marked(_without_shape(cls, requires_grad, device, dtype), persistent)


def is_lazy(value):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(value, UninitializedTensorMixin)


def _rebuild(cls, data, requires_grad, state):
    tensor = _C.Tensor._make_subclass(cls, data, requires_grad)
    tensor.__dict__.update(state)
    return tensor
