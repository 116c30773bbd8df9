"""Types of tensors by their shapes, in which a size may be unknown."""

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """A tensor whose sizes are known, or are `Dyn`.

    >>> from adjoint.fx.tensor_type import Dyn, TensorType
    >>> TensorType((1, Dyn))
    TensorType[(1, Dyn)]
    """

    def __init__(self, dim):
        self.__origin__, self.__args__ = TensorType, dim

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, type(self)) and list(self.__args__) == list(other.__args__)

    __hash__ = None  # type: ignore[assignment]  # as in torch

    @staticmethod
    def __class_getitem__(*args):
        return TensorType(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    """A type or size of which nothing is known."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return type(other) is _DynType

    def __hash__(self):
        return hash(_DynType)

    def __repr__(self):
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1, t2):
    """Whether two types can be types of one value.

    >>> from adjoint.fx.tensor_type import Dyn, TensorType, is_consistent
    >>> is_consistent(TensorType((1, Dyn)), TensorType((1, 2)))
    True
    """
    if t1 == t2 or Dyn in (t1, t2):
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(is_consistent, t1.__args__, t2.__args__))
    return False


def is_more_precise(t1, t2):
    """Whether the first type says at least as much as the second.

    >>> from adjoint.fx.tensor_type import Dyn, TensorType, is_more_precise
    >>> is_more_precise(TensorType((1, 2)), TensorType((1, Dyn)))
    True
    """
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(map(is_more_precise, t1.__args__, t2.__args__))
    return False
