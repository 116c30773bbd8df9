"""Checks of arguments that composites share with the native ops: torch's words, whatever the argument is."""

from functools import wraps
from operator import index

from .. import _C


def boolean(op, **flags):
    """Refuses flags that are not bools: numbers are not taken for them."""
    for name, value in flags.items():
        if value is not True and value is not False:
            raise TypeError(f"{op}(): argument '{name}' must be bool, not {type(value).__name__}")


def boolean_or_none(op, **flags):
    """Refuses flags that are neither bools nor left out."""
    boolean(op, **{name: value for name, value in flags.items() if value is not None})


def tensor(op, **values):
    """Refuses what is not a tensor."""
    for name, value in values.items():
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(value).__name__}")


def takes_tensors(*names):
    """A decorator for functions of Python that ops do not stand before: arguments of these names are tensors."""

    def decorate(function):
        parameters = function.__code__.co_varnames
        places = [(name, parameters.index(name)) for name in names]

        @wraps(function)
        def checked(*args, **kwargs):
            for name, place in places:
                value = args[place] if place < len(args) else kwargs.get(name, _MISSING)
                if value is not _MISSING and not isinstance(value, _C.Tensor):
                    raise TypeError(
                        f"{function.__name__}(): argument '{name}' (position {place + 1}) must be Tensor, not "
                        f"{type(value).__name__}"
                    )
            return function(*args, **kwargs)

        return checked

    return decorate


_MISSING = object()


def number(op, **values):
    """Refuses what is not a number: NumPy's and tensors of no dimension that need no gradient count."""
    for name, value in values.items():
        if type(value) is float or type(value) is int:
            continue
        if isinstance(value, _C.Tensor):
            fits = value.ndim == 0 and not value.requires_grad
        else:
            fits = isinstance(value, (int, float, complex)) or getattr(value, "shape", None) == ()
        if not fits:
            raise TypeError(f"{op}(): argument '{name}' must be Number, not {type(value).__name__}")


def integer(op, name, value):
    """The int that an argument stands for: NumPy's and tensors of one integer count, bools do not."""
    if type(value) is int:
        return value
    if not isinstance(value, bool) and getattr(value, "dtype", None) is not _C.bool:
        try:
            return index(value)
        except TypeError:
            pass
    raise TypeError(f"{op}(): argument '{name}' must be int, not {type(value).__name__}")


def integers(op, name, value):
    """The tuple that a sequence of ints stands for, or one int alone."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    if not isinstance(value, bool):
        try:
            return (index(value),)
        except TypeError:
            pass
    raise TypeError(f"{op}(): argument '{name}' must be tuple of ints, not {type(value).__name__}")


def listed(op, **values):
    """Refuses what is not a sequence of ints, one int alone too."""
    for name, value in values.items():
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"{op}(): argument '{name}' must be tuple of ints, not {type(value).__name__}")


def as_dtype(dtype):
    """The type that a dtype= means: one of the library's own, or one of Python's."""
    return dtype if isinstance(dtype, _C.dtype) else _C.empty(0, dtype=dtype).dtype


def only_with_dim(op, keepdim):
    """Refuses keepdim= of a call that reduces all dimensions."""
    if keepdim is not False:
        boolean(op, keepdim=keepdim)
        raise TypeError(
            f"{op}() received an invalid combination of arguments: keepdim= needs dim=; give the dimensions to reduce"
        )


def _of_the_whole_batch(condition):
    while (batched := _C._batch_level(condition)) is not None:
        condition = batched[1]
    return condition


def holds(condition):
    """Whether all elements are True, of the whole batch under vmap; of a tensor without values nothing is known to the
    contrary."""
    condition = _of_the_whole_batch(condition)
    return condition.device.type == "meta" or bool(condition.all())


def demanded(condition, words):
    """Whether all elements are True, as far as that can be said now. A GPU, which would have to be waited for, is told
    to find it out: then the answer is True, and whoever waits for it gets an error of these words."""
    return _C._refuse_zeros_later(_of_the_whole_batch(condition), words) or holds(condition)
